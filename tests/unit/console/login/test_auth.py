from hypothesis import given
from hypothesis import strategies as st
from pymysql._auth import scramble_caching_sha2, scramble_native_password

from syncmgr.accounts.secret import native_digest, sha2_digest
from syncmgr.console.login.auth import is_empty, native_matches, new_nonce, sha2_matches, xor

PASSWORDS = st.text(min_size=1, max_size=40)


@given(password=PASSWORDS, other=PASSWORDS)
def test_only_the_right_scramble_matches(password: str, other: str) -> None:
    """PyMySQL's scrambles of the right password match, those of any other do not."""
    nonce = new_nonce()
    sent = other.encode()
    is_right = password == other
    assert sha2_matches(scramble_caching_sha2(sent, nonce), nonce, sha2_digest(password)) == is_right
    assert native_matches(scramble_native_password(sent, nonce), nonce, native_digest(password)) == is_right


@given(response=st.binary(max_size=40))
def test_garbage_matches_nothing(response: bytes) -> None:
    """A response of any length is compared without an error."""
    assert not sha2_matches(response, b"x" * 20, sha2_digest("secret"))
    assert not native_matches(response, b"x" * 20, native_digest("secret"))


def test_a_nonce_is_plain_text() -> None:
    """Twenty bytes, none of them NUL, and never the same twice."""
    nonces = {new_nonce() for _ in range(100)}
    assert len(nonces) == 100
    assert all(len(nonce) == 20 and nonce.isascii() and b"\0" not in nonce for nonce in nonces)


def test_xor_repeats_the_shorter() -> None:
    """The nonce goes over a long password again and again."""
    assert xor(b"\x01\x02\x03", b"\x01\x02") == b"\x00\x00\x02"


def test_an_empty_password() -> None:
    """Clients send nothing, or a NUL, for no password."""
    assert [is_empty(response) for response in (b"", b"\0", b"x")] == [True, True, False]
