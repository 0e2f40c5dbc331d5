from syncmgr.spark.queries.starved import Starved


class Machine:
    """Its clock, and how long each thread has waited."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits = {"1": 5.0}

    def starved(self) -> Starved:
        return Starved(lambda: dict(self.waits), lambda: self.now)

    def pass_by(self, seconds: float, **waits: float) -> None:
        self.now += seconds
        for thread, wait in waits.items():
            self.waits[thread[1:]] = self.waits.get(thread[1:], 0.0) + wait


def test_the_thread_that_waited_most_counts() -> None:
    """Between each two looks; what was before the first one does not."""
    machine = Machine()
    starved = machine.starved()
    machine.pass_by(10, t1=2, t2=3)
    starved.look()
    assert starved.since(100) == 3
    machine.pass_by(10, t1=4, t2=1)
    starved.look()
    assert starved.since(100) == 7
    assert starved.since(110) == 4
    assert starved.since(115) == 4
    assert starved.since(120) == 0


def test_nobody_waits_longer_than_time_passes() -> None:
    """Threads that are new bring waits of their whole life, and ended ones take theirs along."""
    machine = Machine()
    starved = machine.starved()
    machine.pass_by(1, t7=50)
    starved.look()
    assert starved.since(100) == 1
    machine.waits.clear()
    machine.pass_by(1)
    starved.look()
    assert starved.since(100) == 1


def test_a_moment_before_all_looks_counts_from_the_first() -> None:
    """So does one of a process that the kernel says nothing of."""
    machine = Machine()
    machine.waits.clear()
    starved = machine.starved()
    machine.pass_by(9)
    starved.look()
    assert starved.since(0) == 0
