"""Who gets the password of a source, and who is believed to be it."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.tls import SslMode, Tls
from syncmgr.sources.mysql.address import MysqlAddress, connect, query
from syncmgr.sources.mysql.description import MysqlDescription
from tests.support.chunk_reads import one_number
from tests.support.servers.certificates import Authority, Pair
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.servers.rogue import RogueServer
from tests.support.until import HANG_SECOND

pytestmark = pytest.mark.mysql

SECRET: Final = "SRCPW-secret-1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "authority")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[MysqlServer]:
    """A server whose certificate is for localhost; `card` may log in with a certificate alone."""
    own = authority.issue("server", "DNS:localhost")
    files = {"ssl-ca": authority.own.certificate, "ssl-cert": own.certificate, "ssl-key": own.key}
    server = MysqlServer(tmp_path_factory.mktemp("sealed"), "mysql", {name: str(file) for name, file in files.items()})
    server.start()
    server.run(f"CREATE USER card IDENTIFIED BY '{PASSWORD}' REQUIRE X509", "GRANT SELECT ON *.* TO card")
    yield server
    server.stop()


@contextlib.contextmanager
def rogue(plugin: str, own: Pair | None) -> Iterator[RogueServer]:
    server = RogueServer(plugin, own)
    yield server
    server.close()


def refused(address: MysqlAddress) -> SyncError:
    with pytest.raises(SyncError) as caught:
        connect(address)
    return caught.value


def described(address: MysqlAddress) -> MysqlDescription:
    """The same server, as the snapshot is told of it."""
    tls = address.tls
    return MysqlDescription(
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password,
        server_id=0,
        start="snapshot",
        ssl=tls.mode,
        ssl_ca=tls.ca,
        ssl_cert=tls.cert,
        ssl_key=tls.key,
    )


def selected(address: MysqlAddress) -> list[int]:
    """As the rows of a snapshot are."""
    rows = one_number(address)
    return [value for read in rows() for value in read.rows["a"].to_pylist()]


@pytest.mark.parametrize("plugin", ["mysql_clear_password", "dialog", "mysql_old_password"])
@pytest.mark.parametrize(
    ("mode", "tls"), [("disabled", False), ("preferred", False), ("preferred", True), ("required", True)]
)
def test_a_server_that_has_proved_nothing_is_told_no_password(
    stranger: Authority, plugin: str, mode: SslMode, *, tls: bool
) -> None:
    """Whoever answers at the address and asks for the password itself gets none, over TLS of his own neither; the
    error says what asks so, and what to do.
    """
    with rogue(plugin, stranger.own if tls else None) as server:
        address = MysqlAddress(
            host="127.0.0.1",
            port=server.port,
            user="repl",
            password=SECRET,
            tls=Tls(mode=mode),
            connect_timeout=HANG_SECOND,
        )
        error = refused(address)
        assert error.code is Code.SOURCE_CLEAR_PASSWORD
        assert f"({plugin})" in str(error)
        assert '"mysql.ssl" = "verify_identity"' in str(error)
        assert server.over_tls is tls
        assert SECRET not in str(error)
        assert not any(SECRET.encode() in packet for packet in server.heard)


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_a_server_of_another_authority_is_told_nothing(
    authority: Authority, stranger: Authority, mode: SslMode
) -> None:
    """Not even the name of the user: the connection ends with its certificate, or where it has none."""
    tls = Tls(mode=mode, ca=str(authority.own.certificate))
    for own, said in ((stranger.issue("rogue", "IP:127.0.0.1"), "mysql.ssl_ca"), (None, "takes no TLS")):
        with rogue("mysql_clear_password", own) as server:
            error = refused(MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password=SECRET, tls=tls))
            assert error.code is Code.SOURCE_TLS
            assert said in str(error)
            assert not any(b"repl" in packet for packet in server.heard)


def test_a_server_that_proves_who_it_is_may_ask_for_the_password(authority: Authority) -> None:
    """Over verified TLS a login by LDAP or PAM works, which needs the password itself."""
    own = authority.issue("directory", "IP:127.0.0.1")
    with rogue("mysql_clear_password", own) as server:
        tls = Tls(mode="verify_identity", ca=str(authority.own.certificate))
        error = refused(MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password=SECRET, tls=tls))
        assert error.code is Code.SOURCE_ACCESS_DENIED
        assert server.heard[-1] == SECRET.encode() + b"\0"


def places(server: MysqlServer, authority: Authority) -> MysqlAddress:
    tls = Tls(mode="verify_identity", ca=str(authority.own.certificate))
    return MysqlAddress(host="localhost", port=server.port, user="repl", password=PASSWORD, tls=tls)


def test_a_server_proves_who_it_is(sealed: MysqlServer, authority: Authority, stranger: Authority) -> None:
    """By the CA alone, or by its name as well; another name, another CA and no certificate of ours are refused with
    what to do.
    """
    there = places(sealed, authority)
    by_number = replace(there, host="127.0.0.1")
    for address in (there, replace(by_number, tls=replace(there.tls, mode="verify_ca"))):
        with contextlib.closing(connect(address)) as connection:
            assert query(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0]["Value"] != ""
    error = refused(by_number)
    assert error.code is Code.SOURCE_TLS
    assert "IP address mismatch" in str(error)
    assert "write a name that its certificate has into mysql.host" in str(error)
    error = refused(replace(there, tls=replace(there.tls, ca=str(stranger.own.certificate))))
    assert error.code is Code.SOURCE_TLS
    assert 'name the file of the CA that has signed its certificate in "mysql.ssl_ca"' in str(error)


def test_the_frontend_proves_who_it_is(sealed: MysqlServer, authority: Authority) -> None:
    """A user that needs a certificate is let in with one, and not without."""
    own, there = authority.issue("frontend"), replace(places(sealed, authority), user="card")
    shows = replace(there.tls, cert=str(own.certificate), key=str(own.key))
    for tls in (shows, replace(shows, mode="required", ca="")):
        connect(replace(there, tls=tls)).close()
    assert refused(there).code is Code.SOURCE_ACCESS_DENIED


def test_a_file_that_cannot_be_used_is_told_without_why(
    sealed: MysqlServer, authority: Authority, tmp_path: Path
) -> None:
    """Whoever may make jobs does not learn by it which files the machine has: one that is missing, a folder, a device
    without end, text, and a key that is not that of the certificate are told alike.
    """
    there = places(sealed, authority)
    (tmp_path / "text").write_text("root:x:0:0")
    for path in ("/nowhere/ca.pem", str(tmp_path), "/dev/zero", str(tmp_path / "text")):
        error = refused(replace(there, tls=replace(there.tls, ca=path)))
        assert error.code is Code.PEM_FILE
        assert str(error) == Code.PEM_FILE.template.format(name="mysql.ssl_ca", wanted="certificates", path=path)
    own, other = authority.issue("own"), authority.issue("other")
    mixed = replace(there.tls, cert=str(own.certificate), key=str(other.key))
    assert "mysql.ssl_key" in str(refused(replace(there, tls=mixed)))


def test_the_snapshot_verifies_as_the_stream_does(
    sealed: MysqlServer, authority: Authority, stranger: Authority
) -> None:
    """The CA, the name, and a certificate of its own; the wrong ones are refused."""
    own, there = authority.issue("spark"), places(sealed, authority)
    by_number = replace(there, host="127.0.0.1")
    shows = replace(there.tls, cert=str(own.certificate), key=str(own.key))
    for address in (
        there,
        replace(by_number, tls=replace(there.tls, mode="verify_ca")),
        replace(there, user="card", tls=shows),
    ):
        assert selected(address) == [1]
    other = replace(there, tls=replace(there.tls, ca=str(stranger.own.certificate)))
    for address in (by_number, other):
        with pytest.raises(SyncError, match="did not prove its identity by TLS"):
            selected(address)


@pytest.mark.parametrize("mode", ["preferred", "required", "verify_ca"])
def test_the_snapshot_tells_no_password(authority: Authority, stranger: Authority, mode: SslMode) -> None:
    """To a server that asks for it over TLS of its own."""
    with rogue("mysql_clear_password", stranger.own) as server:
        ca = str(authority.own.certificate) if mode == "verify_ca" else ""
        tls = Tls(mode=mode, ca=ca)
        with pytest.raises(SyncError, match=r"in clear text|did not prove its identity by TLS"):
            selected(MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password=SECRET, tls=tls))
        assert server.heard
        assert not any(SECRET.encode() in packet for packet in server.heard)
