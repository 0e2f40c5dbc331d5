"""Who may log in: scrambles and digests.

Owns: caching_sha2_password and mysql_native_password as pure functions of bytes.
Must not know: packets, sockets, clocks.
"""

import hashlib
import secrets
from typing import Final

NONCE_SIZE: Final = 20
_NONCE_ALPHABET: Final = bytes(range(0x21, 0x7F))  # clients copy the nonce as a C string


def new_nonce() -> bytes:
    return bytes(secrets.choice(_NONCE_ALPHABET) for _ in range(NONCE_SIZE))


def xor(left: bytes, right: bytes) -> bytes:
    """`left` with `right` over it, repeated as long as needed."""
    return bytes(byte ^ right[i % len(right)] for i, byte in enumerate(left))


def sha2_matches(response: bytes, nonce: bytes, digest: bytes) -> bool:
    """The fast path: the response is SHA256(pw) ^ SHA256(digest + nonce), where digest is SHA256(SHA256(pw))."""
    once = xor(response, hashlib.sha256(digest + nonce).digest())
    return secrets.compare_digest(hashlib.sha256(once).digest(), digest)


def native_matches(response: bytes, nonce: bytes, digest: bytes) -> bool:
    """The response is SHA1(pw) ^ SHA1(nonce + digest), where digest is SHA1(SHA1(pw)): the protocol's hash."""
    once = xor(response, hashlib.sha1(nonce + digest, usedforsecurity=False).digest())
    return secrets.compare_digest(hashlib.sha1(once, usedforsecurity=False).digest(), digest)


def is_empty(response: bytes) -> bool:
    """How a client says that it has no password."""
    return response in {b"", b"\0"}
