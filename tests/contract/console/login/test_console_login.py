"""Who gets into the console, and how: real clients and bare bytes against a listening console."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from syncmgr.console.limits import Limits
from syncmgr.console.server import Console
from syncmgr.console.wire.protocol import NATIVE
from syncmgr.errors import Code, SyncError
from tests.support.until import HANG_SECOND, until
from tests.unit.console.frontend import FakeFrontend
from tests.unit.console.running import PASSWORD, Running, hidden, running

NO_TLS = {"ssl_disabled": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def console(folder: Path) -> Iterator[Running]:
    with running(folder, password=PASSWORD) as it:
        yield it


def client(program: str, it: Running, *arguments: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
    command = [program, "--no-defaults", "-h127.0.0.1", f"-P{it.port}", "-uroot", f"-p{password}", "-N", *arguments]
    return subprocess.run(
        [*command, "-e", "SELECT 42"], capture_output=True, text=True, timeout=HANG_SECOND, check=False
    )


@pytest.mark.parametrize("options", [NO_TLS, {"ssl_disabled": False}, {"ssl": {"check_hostname": False}}])
def test_pymysql_logs_in_with_and_without_tls(console: Running, options: dict[str, Any]) -> None:
    """The right password opens the console, over TLS or not."""
    assert console.ask("SELECT 42", **options) == ((42,),)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("mysql", ["--ssl-mode=DISABLED"]),
        ("mysql", ["--ssl-mode=REQUIRED"]),
        ("mysql", ["--ssl-mode=REQUIRED", "--tls-version=TLSv1.2"]),
        ("mariadb", ["--skip-ssl"]),
        ("mariadb", ["--ssl"]),
        ("mariadb", ["--skip-ssl", "--default-auth=mysql_native_password"]),
    ],
)
def test_the_command_lines_log_in(console: Running, program: str, arguments: list[str]) -> None:
    """Both command lines get in, with either plugin, with TLS and without."""
    done = client(program, console, *arguments)
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr


def test_the_certificate_can_be_verified(console: Running, folder: Path) -> None:
    """The generated certificate serves as its own authority, and names the local host."""
    authority = f"--ssl-ca={folder / 'console.crt'}"
    assert client("mysql", console, "--ssl-mode=VERIFY_IDENTITY", authority).stdout == "42\n"


def test_the_certificate_stays(folder: Path, console: Running) -> None:
    """A restarted console has the key and certificate that it had, readable by nobody else."""
    before = (folder / "console.crt").read_bytes()
    with running(folder, password=PASSWORD) as again:
        again.ask("SELECT 1", ssl_disabled=False)
    assert (folder / "console.crt").read_bytes() == before
    assert (folder / "console.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("user", "password"), [("root", "wrong"), ("root", ""), ("nobody", "x"), ("nobody", "")])
@pytest.mark.parametrize("tls", [True, False])
def test_a_wrong_login_is_denied(folder: Path, user: str, password: str, tls: bool) -> None:  # noqa: FBT001
    """A wrong password and an unknown user get MySQL's 1045, worded as MySQL does."""
    using = "YES" if password else "NO"
    with running(folder, password=PASSWORD) as it:
        with pytest.raises(pymysql.err.OperationalError) as caught:
            it.connect(user=user, password=password, ssl_disabled=not tls)
        assert caught.value.args == (
            1045,
            f"Access denied for user '{user}'@'127.0.0.1' (using password: {using})",
        )


def test_the_command_line_is_denied(folder: Path) -> None:
    """The mysql command line shows a wrong password as MySQL's server would have it."""
    with running(folder, password=PASSWORD) as it:
        done = client("mysql", it, password="wrong")
    assert "ERROR 1045 (28000): Access denied for user 'root'@'127.0.0.1' (using password: YES)" in done.stderr


def test_nothing_is_answered_after_a_denial(folder: Path) -> None:
    """A client whose login failed gets no command through: the connection ends."""
    with running(folder, password=PASSWORD) as it, it.raw() as raw:
        raw.greet()
        raw.write(raw.hello(b"", plugin=NATIVE))
        raw.switched()
        raw.write(b"x" * 20)
        assert raw.read()[:1] == b"\xff"
        raw.sequence = -1
        raw.write(b"\x03SELECT 1")
        assert raw.read() == b""


def test_full_authentication_by_rsa(console: Running) -> None:
    """A client without TLS may fetch the public key and send the password under it."""
    with console.raw() as raw:
        nonce = raw.greet()
        raw.write(raw.hello(b"\x01" * 32))
        assert raw.read() == b"\x01\x04"
        raw.write(b"\x02")
        key = serialization.load_pem_public_key(raw.read()[1:])
        assert isinstance(key, rsa.RSAPublicKey)
        oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        raw.write(key.encrypt(hidden(PASSWORD, nonce), oaep))
        assert raw.read()[:1] == b"\0"
        assert raw.command(b"\x0e")[:1] == b"\0"


def test_full_authentication_in_clear_is_refused_without_tls(console: Running) -> None:
    """A password that comes neither under TLS nor under RSA opens nothing."""
    with console.raw() as raw:
        raw.greet()
        raw.write(raw.hello(b"\x01" * 32))
        assert raw.read() == b"\x01\x04"
        raw.write(PASSWORD.encode() + b"\0")
        assert raw.read()[:3] == b"\xff\x15\x04"


def test_full_authentication_over_tls(console: Running) -> None:
    """Over TLS the password itself is taken; the ClientHello may come right behind the request for TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with console.raw() as raw:
        raw.greet()
        request = bytearray(raw.hello(b"")[:32])
        request[1] |= 0x08
        raw.write(bytes(request))
        raw.socket = context.wrap_socket(raw.socket)
        raw.sequence = 1
        raw.write(raw.hello(b"\x01" * 32))
        assert raw.read() == b"\x01\x04"
        raw.write(PASSWORD.encode() + b"\0")
        assert raw.read()[:1] == b"\0"


def test_another_plugin_is_switched(console: Running) -> None:
    """A client that starts with a plugin that we have not is asked to change to caching_sha2_password."""
    with console.raw() as raw:
        raw.greet()
        raw.write(raw.hello(b"x", plugin="client_ed25519"))
        answer = raw.read()
        assert answer.startswith(b"\xfecaching_sha2_password\0")
        assert len(answer) == len(b"\xfecaching_sha2_password\0") + 21


def test_change_user(folder: Path) -> None:
    """COM_CHANGE_USER asks for the password again; a wrong one ends the connection."""
    with running(folder) as it, it.raw() as raw:
        raw.log_in()
        for response, answer in ((b"", b"\0"), (b"x" * 20, b"\xff")):
            assert raw.command(b"\x11root\0\0demo\0\x2d\0" + NATIVE.encode() + b"\0")[:1] == b"\xfe"
            raw.write(response)
            assert raw.read()[:1] == answer
        assert raw.read() == b""


CHANGE_USER = b"\x11root\0\0%s\0\x2d\0" + NATIVE.encode() + b"\0"


def test_a_change_of_user_that_takes_too_long_ends_the_connection(folder: Path) -> None:
    """With MySQL's error, as a login does; what the client sends then is no command."""
    with running(folder, connect_timeout=3) as it, it.raw() as raw:  # within which it logs in
        raw.log_in()
        assert raw.command(CHANGE_USER % b"")[:1] == b"\xfe"
        assert raw.read()[:3] == b"\xff" + Code.READ_TIMEOUT.number.to_bytes(2, "little")
        assert raw.read() == b""


@pytest.mark.parametrize("kill", ["KILL", "KILL QUERY"])
def test_a_change_of_user_that_is_killed_ends_the_connection(folder: Path, kill: str) -> None:
    """Whoever is neither the old user nor the new one does not go on."""
    with running(folder) as it, it.raw() as raw:
        raw.log_in()
        [connection] = it.connections
        assert raw.command(CHANGE_USER % b"")[:1] == b"\xfe"
        it.ask(f"{kill} {connection}")
        assert raw.read()[:3] == b"\xff" + Code.INTERRUPTED.number.to_bytes(2, "little")
        assert raw.read() == b""


def test_a_change_of_user_into_no_database_ends_the_connection(folder: Path) -> None:
    """As in MySQL: the new user has not come in, and the old one has left."""
    with running(folder) as it, it.raw() as raw:
        raw.log_in()
        assert raw.command(CHANGE_USER % b"nowhere")[:1] == b"\xfe"
        raw.write(b"")
        assert raw.read()[:3] == b"\xff" + Code.UNKNOWN_DATABASE.number.to_bytes(2, "little")
        assert raw.read() == b""


def test_an_empty_password_is_for_loopback(folder: Path) -> None:
    """Without a password the console listens on loopback alone, and a wider address is refused by name."""
    with running(folder) as it:
        assert it.ask("SELECT 42") == ((42,),)
        addresses = {listener.getsockname()[0] for listener in it.console._listener._sockets}
        assert addresses <= {"127.0.0.1", "::1"}
    with pytest.raises(SyncError, match="root has no password") as caught:
        Console(FakeFrontend(), limits=Limits(), host="0.0.0.0", port=0, tls_folder=folder)
    assert caught.value.code is Code.WRONG_CONFIG


def test_a_port_in_use_is_told(folder: Path, console: Running) -> None:
    """A second console on the same port does not start, and says which port."""
    second = Console(FakeFrontend(), limits=Limits(), host="", port=console.port, tls_folder=folder)
    with pytest.raises(SyncError, match=f"Port {console.port} on .* cannot be opened") as caught:
        second.start()
    assert caught.value.code is Code.PORT_IN_USE


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Where the certificate cannot be kept the console says so before it listens."""
    (tmp_path / "file").touch()
    with pytest.raises(SyncError) as caught:
        Console(FakeFrontend(), limits=Limits(), host="", port=0, tls_folder=tmp_path / "file")
    assert caught.value.code is Code.NOT_WRITABLE


def test_too_many_connections(folder: Path) -> None:
    """One connection too many is refused with 1040; when one has left, the next gets in."""
    with running(folder, max_connections=2) as it:
        first, second = it.connect(), it.connect()
        with pytest.raises(pymysql.err.OperationalError, match="1040"):
            it.connect()
        first.close()
        second.ping(reconnect=False)
        until(lambda: len(it.connections) < 2)
        assert it.ask("SELECT 42") == ((42,),)
