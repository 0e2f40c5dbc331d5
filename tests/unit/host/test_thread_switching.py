import pytest

from syncmgr.host.thread_switching import switch_second


@pytest.mark.parametrize(("threads", "second"), [(1, 0.0005), (25, 0.0005), (157, 0.00314), (860, 0.0172)])
def test_many_threads_ask_less_often(threads: int, second: float) -> None:
    """Few are answered at once, and many do not wake up more than 50,000 times a second all together."""
    assert switch_second(threads) == pytest.approx(second)
