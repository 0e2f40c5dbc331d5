"""Files of certificates and keys that a property names.

Owns: which files are read for that, and the single message if one cannot be used.
Must not know: what is proved by them.

Users who may create a job name them, and must not learn which files this machine has: the reason of a refusal goes to
the log.
"""

import logging
import ssl
import stat
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from syncmgr.errors import Code, SyncError

MOST_BYTES: Final = 1024 * 1024

log = logging.getLogger(__name__)


def certificates(path: str, name: str) -> list[x509.Certificate]:
    """Of the file that property `name` gives. Raises PEM_FILE."""
    try:
        return x509.load_pem_x509_certificates(_read(path))
    except (OSError, ValueError) as error:
        raise _unusable(path, name, "certificates", error) from error


def private_key(path: str, name: str) -> RSAPrivateKey | EllipticCurvePrivateKey:
    """One without a password. Raises PEM_FILE."""
    try:
        key = serialization.load_pem_private_key(_read(path), password=None)
    except (OSError, ValueError, TypeError) as error:  # TypeError: it has a password
        raise _unusable(path, name, "a private key without a password", error) from error
    if not isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey):
        raise _unusable(path, name, "a private key of RSA or of an elliptic curve", ValueError(type(key).__name__))
    return key


def present(context: ssl.SSLContext, paths: tuple[str, str], names: tuple[str, str]) -> None:
    """The certificate and key at `paths` are presented to any peer that requests them. Raises PEM_FILE."""
    certificates(paths[0], names[0])
    private_key(paths[1], names[1])
    try:
        context.load_cert_chain(*paths, password="")
    except (OSError, ValueError) as error:
        raise _unusable(paths[1], names[1], f"the private key of {names[0]}", error) from error


def _read(path: str) -> bytes:
    """No device, no pipe, and nothing large: those would never end."""
    file = Path(path)
    found = file.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
        raise ValueError("it is no file, or too large")
    return file.read_bytes()


def _unusable(path: str, name: str, wanted: str, error: Exception) -> SyncError:
    log.warning("%s = %s: %s", name, path, error)
    return SyncError(Code.PEM_FILE, name=name, path=path, wanted=wanted)
