from collections import Counter

from tests.torture.figures import Figures, line_of, quantiles, summed


def test_the_figures_of_runs_add_up() -> None:
    """What many runs have written is told as that of one; what went wrong in any of them is not lost."""
    one = Figures(kills=Counter(worker=2), ports=[1.0], recoveries={"worker": [3.0]}, rows=5, memory=7)
    other = Figures(kills=Counter(worker=1, JVM=1), recoveries={"worker": [9.0], "JVM": [4.0]}, rows=6, memory=3)
    other.wrong.append("seed 8")
    total = summed([line_of(1, one), line_of(8, other)])
    assert total.kills == Counter(worker=3, JVM=1)
    assert total.recoveries == {"worker": [3.0, 9.0], "JVM": [4.0]}
    assert (total.rows, total.memory, total.ports, total.wrong) == (11, 7, [1.0], ["seed 8"])
    assert "1 times wrong" in total.told()


def test_only_foreign_operations_that_were_done_are_told_as_such() -> None:
    """Those that gave way, were refused, or found nothing to do stand apart, in the sum of many runs, too."""
    one = Figures(foreign=Counter({"done": 3, "given way": 2}), expired=4)
    total = summed([line_of(1, one), line_of(2, Figures(foreign=Counter(done=1, refused=1), expired=1))])
    assert (total.foreign, total.expired) == (Counter({"done": 4, "given way": 2, "refused": 1}), 5)
    assert "; 4 foreign operations (2 given way, 1 refused; 5 snapshots expired);" in total.told()
    assert "foreign" not in Figures().told()


def test_a_median_needs_a_number() -> None:
    """Without any, a dash."""
    assert quantiles([]) == "-"
    assert quantiles([3.0, 1.0, 2.0]) == "2.0/3.0 of 3"
