from syncmgr.job.source_history.pace import SLOWEST, stalls


def test_what_comes_slowly_but_surely_is_waited_for() -> None:
    """However long it takes; a byte now and then is silence, which may last for as long as is said."""
    assert not stalls(0, 20.0, 20.0)
    assert stalls(0, 20.1, 20.0)
    assert stalls(SLOWEST * 20, 21.0, 20.0)
    assert not stalls(SLOWEST * 21, 21.0, 20.0)
