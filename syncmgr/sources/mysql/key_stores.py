"""The certificates of `mysql.ssl` as Java's key stores, for the JDBC driver.

Owns: the driver's properties for what a server has to prove, the files of the stores, their password.
Must not know: what is read.
"""

import atexit
import hashlib
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12
from cryptography.x509 import Certificate

from syncmgr.host.pem import certificates, private_key
from syncmgr.job.tls import Tls

PREFIX: Final = "syncmgr-tls-"
STORE: Final = "PKCS12"
# Authentication methods that give the server the password, or an equivalent.
GIVES_AWAY: Final = "mysql_clear_password,mysql_old_password"


class Stores:
    """Files that only this process can open: their password is in its memory. Safe to use from any thread."""

    def __init__(self) -> None:
        self._password = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._folder: Path | None = None

    def properties(self, tls: Tls) -> dict[str, str]:
        """Of the driver. Raises PEM_FILE."""
        told = {"sslMode": tls.mode.upper(), "fallbackToSystemKeyStore": "false"}
        if tls.verified:
            told |= self._trusting(certificates(tls.ca, tls.name("ssl_ca")))
        else:
            told["disabledAuthenticationPlugins"] = GIVES_AWAY
        return told | (self._showing(tls) if tls.cert else {})

    def _trusting(self, found: list[Certificate]) -> dict[str, str]:
        def made() -> bytes:
            named = [pkcs12.PKCS12Certificate(each, str(place).encode()) for place, each in enumerate(found)]
            return pkcs12.serialize_java_truststore(named, self._encryption())

        return {"fallbackToSystemTrustStore": "false", **self._store("trustCertificateKeyStore", found, made)}

    def _showing(self, tls: Tls) -> dict[str, str]:
        found = certificates(tls.cert, tls.name("ssl_cert"))
        key = private_key(tls.key, tls.name("ssl_key"))

        def made() -> bytes:
            return pkcs12.serialize_key_and_certificates(b"own", key, found[0], found[1:], self._encryption())

        return self._store("clientCertificateKeyStore", found, made)

    def _store(self, name: str, holding: Iterable[Certificate], made: Callable[[], bytes]) -> dict[str, str]:
        digest = hashlib.sha256(name.encode())
        for certificate in holding:
            digest.update(certificate.public_bytes(Encoding.DER))
        url = self._file(digest.hexdigest(), made).as_uri()
        return {f"{name}Url": url, f"{name}Type": STORE, f"{name}Password": self._password}

    def _file(self, name: str, made: Callable[[], bytes]) -> Path:
        """A cleaner of temporary files may have deleted ours: then it is another one."""
        with self._lock:
            if self._folder is None or not self._folder.is_dir() or self._folder.stat().st_uid != os.geteuid():
                self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # 0700
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            file = self._folder / name
            if not file.is_file():
                draft = self._folder / f"{name}.new"
                draft.write_bytes(made())
                draft.rename(file)
            return file

    def _encryption(self) -> BestAvailableEncryption:
        return BestAvailableEncryption(self._password.encode())


STORES: Final = Stores()
