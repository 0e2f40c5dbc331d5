"""The contexts of `mysql.ssl`, and what they cost."""

import contextlib
import ssl
from pathlib import Path

import pytest
from pymysql.err import OperationalError

from syncmgr.console.login.tls import CERTIFICATE
from syncmgr.job.tls import SslMode, Tls
from syncmgr.sources.mysql.driver import BoundedConnection
from syncmgr.sources.mysql.tls import context
from tests.support.connections import QuickConnection
from tests.support.servers.certificates import Authority
from tests.support.until import HANG_SECOND
from tests.unit.console.running import PASSWORD, running

ANY_SERVER: tuple[SslMode, ...] = ("preferred", "required")


def connection_of(tls: Tls, port: int = 3306) -> BoundedConnection:
    return BoundedConnection(
        f"127.0.0.1:{port}",
        host="127.0.0.1",
        port=port,
        user="root",
        password=PASSWORD,
        read_timeout=HANG_SECOND,
        ssl_disabled=tls.mode == "disabled",
        ssl=context(tls),
    )


@pytest.fixture
def no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads those of the machine fails."""

    def read(*_: object) -> None:
        raise AssertionError("authorities are read")

    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", read)
    monkeypatch.setattr(ssl.SSLContext, "set_default_verify_paths", read)


@pytest.mark.usefixtures("no_authorities")
@pytest.mark.parametrize("mode", ANY_SERVER)
def test_a_connection_that_verifies_nothing_reads_no_authorities(mode: SslMode, tmp_path: Path) -> None:
    """Their reading took most of the CPU time of a connection, which has TLS with any server that has it."""
    with running(tmp_path, password=PASSWORD) as server:
        connection = connection_of(Tls(mode=mode), server.port)
        connection.connect()
        with contextlib.closing(connection):
            assert isinstance(connection._sock, ssl.SSLSocket)
            assert connection._ssl_required == (mode == "required")  # type: ignore[attr-defined] # else it is an offer


@pytest.mark.usefixtures("no_authorities")
def test_a_connection_of_the_tests_reads_none_either(tmp_path: Path) -> None:
    """Of a frontend, which has TLS, as all clients have that say nothing of it."""
    with running(tmp_path, password=PASSWORD) as server:
        options = {"host": "127.0.0.1", "port": server.port, "user": "root", "password": PASSWORD}
        for settings, encrypted in (({}, True), ({"ssl_disabled": True}, False)):
            with contextlib.closing(QuickConnection(**options, **settings)) as connection:
                assert isinstance(connection._sock, ssl.SSLSocket) is encrypted


def test_nothing_is_encrypted_where_that_is_disabled(tmp_path: Path) -> None:
    with running(tmp_path, password=PASSWORD) as server:
        connection = connection_of(Tls(mode="disabled"), server.port)
        connection.connect()
        with contextlib.closing(connection):
            assert not isinstance(connection._sock, ssl.SSLSocket)


def test_a_server_that_has_to_prove_itself_does(tmp_path: Path) -> None:
    """By the authority of the property alone: one that another has certified gets no password."""
    other = Authority(tmp_path, "other").own.certificate
    with running(tmp_path, password=PASSWORD) as server:
        with contextlib.closing(
            connection_of(Tls(mode="verify_ca", ca=str(tmp_path / CERTIFICATE)), server.port)
        ) as known:
            known.connect()
            assert isinstance(known._sock, ssl.SSLSocket)
        with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
            connection_of(Tls(mode="verify_ca", ca=str(other)), server.port).connect()
