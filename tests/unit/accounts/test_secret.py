import hashlib
import re

from syncmgr.accounts.secret import NATIVE, NOBODY, SHA2, native_digest, opens, sealed


def test_a_sealed_password_opens_for_itself_alone() -> None:
    """Two seals of one password differ by their salt, and nothing in them is the password."""
    first, second = sealed("s3cret", SHA2), sealed("s3cret", SHA2)
    assert first != second
    assert opens("s3cret", first)
    assert opens("s3cret", second)
    assert not opens("S3cret", first)
    assert re.fullmatch(r"[0-9a-f]{32}\$[0-9a-f]{64}", first)


def test_a_guess_costs_memory_and_time() -> None:
    """Whoever has stolen what is kept needs 32 MiB for each password that he tries, and some 80 ms."""
    salt, digest = (bytes.fromhex(part) for part in sealed("s3cret", SHA2).split("$"))
    assert digest == hashlib.scrypt(b"s3cret", salt=salt, n=1 << 15, r=8, p=1, maxmem=64 << 20, dklen=32)


def test_the_old_plugin_keeps_its_hash() -> None:
    """A password of mysql_native_password is kept as MySQL keeps it: SHA1(SHA1(password))."""
    assert sealed("password", NATIVE).upper() == "2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"
    assert sealed("s3cret", NATIVE) == native_digest("s3cret").hex()


def test_nobody_has_no_password() -> None:
    """What an unknown name is held against opens to nothing that is likely to be typed."""
    assert not any(opens(text, NOBODY) for text in ("", "root", "secret"))
