"""How far a source must prove its identity.

Owns: the modes of `mysql.ssl`, which files go with which, what the refusal of a proof means to the operator.
Must not know: sockets, contents of files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

SslMode = Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"]
SSL_MODES: Final[tuple[SslMode, ...]] = get_args(SslMode)
VERIFIED: Final = frozenset({"verify_ca", "verify_identity"})
ENCRYPTED: Final = VERIFIED | {"required"}
FILES: Final = ("ssl_ca", "ssl_cert", "ssl_key")
# What OpenSSL and Java say of a certificate -> what to do
REMEDIES: Final[Mapping[str, str]] = {
    "mismatch": "write a name that its certificate has into {host}, give it a certificate for that name, or set "
    '"{ssl}" = "verify_ca"',
    "identity verification failed": "write a name that its certificate has into {host}, give it a certificate for "
    'that name, or set "{ssl}" = "verify_ca"',
    "expired": "renew its certificate",
    "not yet valid": "look at the clocks of both machines",
    "issuer": 'name the file of the CA that has signed its certificate in "{ca}"',
    "self-signed": 'name the file of the CA that has signed its certificate in "{ca}"',
    "self signed": 'name the file of the CA that has signed its certificate in "{ca}"',
    "certification path": 'name the file of the CA that has signed its certificate in "{ca}"',
    "trust anchor": 'name the file of the CA that has signed its certificate in "{ca}"',
    "signature": 'name the file of the CA that has signed its certificate in "{ca}"',
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """Of one server. `ca`, `cert` and `key`: paths of PEM files, "": none. `of`: what the properties begin with."""

    mode: SslMode = "preferred"
    ca: str = ""
    cert: str = ""
    key: str = ""
    of: str = "mysql"

    @property
    def verified(self) -> bool:
        """Whether the server has to prove its identity."""
        return self.mode in VERIFIED

    @property
    def encrypted(self) -> bool:
        """Whether nothing is sent without TLS."""
        return self.mode in ENCRYPTED

    def name(self, file: str) -> str:
        """The property of a file."""
        return f"{self.of}.{file}"

    def remedy(self, reason: str) -> str:
        """What to do about the refusal of a server's certificate."""
        folded = reason.casefold()
        found = next((advice for words, advice in REMEDIES.items() if words in folded), "look at its certificate")
        return found.format(host=self.name("host"), ssl=self.name("ssl"), ca=self.name("ssl_ca"))


PREFERRED: Final = Tls()


def completed(own: Tls, by: Tls) -> Tls:
    """What is not given for one server is taken from the other, as far as its mode requires it."""
    ca = own.ca or (by.ca if own.verified else "")
    pair = (own.cert, own.key) if own.cert or own.key or not own.encrypted else (by.cert, by.key)
    return replace(own, ca=ca, cert=pair[0], key=pair[1])


def unfit(tls: Tls) -> tuple[str, str, str] | None:
    """The property that does not go with the others, its value, and why; None if all fit."""
    for file, path in zip(FILES, (tls.ca, tls.cert, tls.key), strict=True):
        if path and not path.startswith("/"):
            return tls.name(file), path, "it must be the absolute path of a file on the machine of the frontend"
    if tls.verified and not tls.ca:
        return (
            tls.name("ssl"),
            tls.mode,
            f'it needs "{tls.name("ssl_ca")}", the file of the CA that signs for the server',
        )
    if tls.ca and not tls.verified:
        return tls.name("ssl_ca"), tls.ca, f'it is for "{tls.name("ssl")}" = "verify_ca" or "verify_identity"'
    if bool(tls.cert) != bool(tls.key):
        given, wanted = ("ssl_cert", "ssl_key") if tls.cert else ("ssl_key", "ssl_cert")
        return tls.name(given), tls.cert or tls.key, f'it needs "{tls.name(wanted)}"'
    if tls.cert and not tls.encrypted:
        return tls.name("ssl_cert"), tls.cert, f'it needs "{tls.name("ssl")}" = "required" or more'
    return None
