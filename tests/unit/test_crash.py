import pytest

from syncmgr.crash import CrashPoint, passing, wanted


def test_nobody_dies_unasked() -> None:
    """Without the variable every point is passed."""
    for point in CrashPoint:
        passing(point)


def test_a_point_is_asked_for_by_its_name() -> None:
    """A name that is none is refused: a test that never dies would prove nothing."""
    assert [wanted(str(point)) for point in CrashPoint] == list(CrashPoint)
    assert wanted(None) is wanted("") is None
    with pytest.raises(ValueError, match="epoch stagged"):
        wanted("epoch stagged")
