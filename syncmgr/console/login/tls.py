"""The console's key and certificate.

Owns: console.key and console.crt in the folder given; they are created once, and an operator may put others there.
Must not know: connections.
"""

import datetime as dt
import hashlib
import ipaddress
import logging
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from syncmgr.errors import Code, SyncError

log = logging.getLogger(__name__)

LIFETIME: Final = dt.timedelta(days=3650)
KEY_BITS: Final = 2048
CERTIFICATE: Final = "console.crt"


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What the server proves its identity with: TLS, and RSA for passwords on connections without TLS."""

    context: ssl.SSLContext
    public_key: bytes  # PEM
    secret: bytes  # unique, and the same after every restart
    _key: rsa.RSAPrivateKey

    def decrypt(self, data: bytes) -> bytes:
        """Raises ValueError if `data` was not encrypted with the public key."""
        # OAEP with SHA-1 is what caching_sha2_password prescribes
        return self._key.decrypt(data, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))  # noqa: S303


def load_identity(folder: Path) -> Identity:
    """The identity in `folder`, created if there is none. Raises NOT_WRITABLE, BAD_CONFIG."""
    key_file, certificate_file = folder / "console.key", folder / CERTIFICATE
    if not (key_file.exists() and certificate_file.exists()):
        _generate(folder, key_file, certificate_file)
    try:
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(certificate_file, key_file)
    except (OSError, ValueError) as error:
        raise SyncError(Code.BAD_CONFIG, message=f"{key_file} and {certificate_file}: {error}") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise SyncError(Code.BAD_CONFIG, message=f"{key_file}: an RSA key is needed")
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    secret = hashlib.sha256(key_file.read_bytes()).digest()
    return Identity(context=context, public_key=public, secret=secret, _key=key)


def publish_certificate(folder: Path, target: Path) -> None:
    """The certificates of the identity in `folder`, readable by all, without anything else that its file may hold.

    Raises OSError.
    """
    certificates = x509.load_pem_x509_certificates((folder / CERTIFICATE).read_bytes())
    _write(
        target / CERTIFICATE, b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates), 0o644
    )


def _generate(folder: Path, key_file: Path, certificate_file: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(key_file, secret)
        _write(certificate_file, _certificate(key).public_bytes(serialization.Encoding.PEM))
    except OSError as error:
        raise SyncError(Code.NOT_WRITABLE, folder=folder, reason=error.strerror) from error
    log.info("made a TLS certificate for the console: %s", certificate_file)


def _write(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Written as a whole or not at all, and only for the owner unless `mode` says more, whatever the umask."""
    draft = file.with_suffix(file.suffix + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
        os.fchmod(out.fileno(), mode)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)


def _certificate(key: rsa.RSAPrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "syncmgr console")])
    now = dt.datetime.now(dt.UTC)
    hosts = dict.fromkeys(("localhost", socket.gethostname()))
    addresses = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))
    alternatives = [x509.DNSName(host) for host in hosts] + [x509.IPAddress(address) for address in addresses]
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
