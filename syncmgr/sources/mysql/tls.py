"""TLS to a server, and what a server may request of our password.

Owns: the contexts of `mysql.ssl`, the refusal of authentication methods that give the password away, what a failure
means.
Must not know: what is queried on the connection.

As in MySQL's own client, `preferred` and `required` accept any certificate, and answer caching_sha2_password's full
authentication; without TLS that is encrypted with the key that the server gives.
"""

import ssl
from collections.abc import Callable
from typing import Any, Final, NoReturn

from cryptography.hazmat.primitives.serialization import Encoding
from pymysql import err
from pymysql.constants import CR

from syncmgr.errors import Code, SyncError
from syncmgr.host.pem import certificates, present
from syncmgr.job.tls import Tls

GIVES_AWAY: Final = frozenset({"mysql_clear_password", "dialog"})  # request the password itself
OUTDATED: Final = frozenset({"mysql_old_password"})  # its hash is as good as the password, and the driver lacks it


def context(tls: Tls) -> ssl.SSLContext | None:
    """None: the connection has TLS if the server has it. Raises PEM_FILE."""
    if not tls.encrypted:
        return None
    made = of_anyone()
    if tls.verified:
        made.verify_mode = ssl.CERT_REQUIRED
        made.check_hostname = tls.mode == "verify_identity"
        for certificate in certificates(tls.ca, tls.name("ssl_ca")):
            made.load_verify_locations(cadata=certificate.public_bytes(Encoding.DER))
    if tls.cert:
        present(made, (tls.cert, tls.key), (tls.name("ssl_cert"), tls.name("ssl_key")))
    return made


def of_anyone() -> ssl.SSLContext:
    """Accepts any certificate, and so needs none of the machine's authorities: reading them takes as much CPU time as
    the rest of a login many times over.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


class Refusal:
    """Replaces the driver's answer to a server that requests the password."""

    def __init__(self, plugin: str, tls: Tls, address: str, user: str) -> None:
        properties = {"ssl": tls.name("ssl"), "ca": tls.name("ssl_ca")}
        self._facts = {"address": address, "user": user, "plugin": plugin, **properties}

    def __call__(self, _connection: object) -> "Refusal":
        """As the driver makes its plugins."""
        return self

    def authenticate(self, packet: object) -> NoReturn:  # noqa: ARG002 - the driver's interface
        raise SyncError(Code.SOURCE_CLEAR_PASSWORD, **self._facts)


def refusals(tls: Tls, address: str, user: str) -> dict[str, Callable[[Any], Any]]:
    """By the name of the refused authentication method."""
    names = OUTDATED if tls.verified else GIVES_AWAY | OUTDATED
    return {name: Refusal(name, tls, address, user) for name in names}


def distrust(error: BaseException, tls: Tls, address: str) -> SyncError | None:
    """What the failure of a connection says about the server's identity; None if nothing."""
    cause = getattr(error, "original_exception", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        reason = cause.verify_message
        return SyncError(Code.SOURCE_TLS, address=address, reason=f"{reason}; {tls.remedy(reason)}")
    if isinstance(error, err.OperationalError) and error.args[0] == CR.CR_SSL_CONNECTION_ERROR:
        reason = f'it takes no TLS, and "{tls.name("ssl")}" is {tls.mode}; switch TLS on at the server'
        return SyncError(Code.SOURCE_TLS, address=address, reason=reason)
    return None
