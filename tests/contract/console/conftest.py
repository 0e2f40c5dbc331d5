"""What tests of the console share."""

import pytest

from syncmgr.accounts import secret


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what accounts may do: what a password costs is tested elsewhere, and each test makes and checks
    some.
    """
    monkeypatch.setattr(secret, "_COST", 1 << 4)
