"""Passwords as they are stored.

Owns: the stored form of a password under each of MySQL's two plugins, and the check of one that was typed.
Must not know: accounts, the wire, where it is kept.
"""

import hashlib
import secrets
from typing import Final

SHA2: Final = "caching_sha2_password"
NATIVE: Final = "mysql_native_password"
PLUGINS: Final = (SHA2, NATIVE)

_COST: Final = 1 << 15  # 32 MiB and about 80 ms per check
_BLOCK: Final = 8
_MEMORY: Final = 64 << 20
_SALT: Final = 16


def sealed(password: str, plugin: str) -> str:
    """What is stored: salted scrypt, or for mysql_native_password the SHA1(SHA1()) that this plugin needs."""
    if plugin == NATIVE:
        return native_digest(password).hex()
    salt = secrets.token_bytes(_SALT)
    return f"{salt.hex()}${_scrypt(password, salt).hex()}"


def opens(password: str, kept: str) -> bool:
    """Whether it is the password of a caching_sha2_password account. Slow, on purpose."""
    salt, _, digest = kept.partition("$")
    return secrets.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def native_digest(password: str) -> bytes:
    """SHA1(SHA1(password)): the protocol's hash, not our choice."""
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return hashlib.sha1(once, usedforsecurity=False).digest()


def sha2_digest(password: str) -> bytes:
    """SHA256(SHA256(password)): what the fast path of caching_sha2_password needs, kept only in memory."""
    return hashlib.sha256(hashlib.sha256(password.encode()).digest()).digest()


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=1, maxmem=_MEMORY, dklen=32)


NOBODY: Final = f"{'00' * _SALT}${'00' * 32}"  # matches no password; checking one takes as long as any
