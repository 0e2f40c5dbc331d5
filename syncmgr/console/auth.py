"""Who may come in: scrambles, digests and the brake on guessing.

Owns: caching_sha2_password and mysql_native_password as pure functions of bytes; the delay after failures.
Must not know: packets, sockets, clocks.
"""

import hashlib
import secrets
from collections import OrderedDict
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


class Throttle:
    """Delays the answer to failed logins, per host: nothing for the first ones, then doubling. Times in seconds."""

    FREE: Final = 3
    FIRST: Final = 0.1
    LONGEST: Final = 5.0
    FORGET: Final = 60.0
    HOSTS: Final = 1024

    def __init__(self) -> None:
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def failed(self, host: str, *, now: float) -> float:
        """Count a failure; how long its answer waits."""
        count, last = self._failures.pop(host, (0, now))
        count = 1 if now - last > self.FORGET else count + 1
        self._failures[host] = count, now
        if len(self._failures) > self.HOSTS:
            self._failures.popitem(last=False)
        doublings = count - self.FREE - 1
        return 0.0 if doublings < 0 else min(self.FIRST * 2.0 ** min(doublings, 10), self.LONGEST)

    def succeeded(self, host: str) -> None:
        self._failures.pop(host, None)
