from syncmgr.lake.spark.queries.starved import NO_TIME, CpuStarvation, ThreadTimes


class Machine:
    """Of two cores: its clock, and how long each thread has run and waited."""

    def __init__(self) -> None:
        self.now = 100.0
        self.times = {"1": ThreadTimes(1.0, 5.0)}

    def starved(self) -> CpuStarvation:
        return CpuStarvation(lambda: dict(self.times), 2, lambda: self.now)

    def pass_by(self, seconds: float, **waits: float) -> None:
        self.now += seconds
        for thread, wait in waits.items():
            self._add(thread, ThreadTimes(0.0, wait))

    def run(self, **seconds: float) -> None:
        for thread, each in seconds.items():
            self._add(thread, ThreadTimes(each, 0.0))

    def _add(self, thread: str, more: ThreadTimes) -> None:
        last = self.times.get(thread[1:], NO_TIME)
        self.times[thread[1:]] = ThreadTimes(last.ran + more.ran, last.waited + more.waited)


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
    machine.times.clear()
    machine.pass_by(1)
    starved.look()
    assert starved.since(100) == 1


def test_a_moment_before_all_looks_counts_from_the_first() -> None:
    """So does one of a process that the kernel says nothing of."""
    machine = Machine()
    machine.times.clear()
    starved = machine.starved()
    machine.pass_by(9)
    starved.look()
    assert starved.since(0) == 0


def test_threads_that_take_the_cores_from_each_other_are_not_starved() -> None:
    """Of a process that has had both cores all the time nobody else has kept any thread."""
    machine = Machine()
    starved = machine.starved()
    machine.run(t1=8, t2=6, t3=6)
    machine.pass_by(10, t1=2, t2=4, t3=4, t4=9)
    starved.look()
    assert starved.since(100) == 0


def test_half_of_the_cores_is_half_of_the_time() -> None:
    """What others have taken counts, up to the wait of one thread."""
    machine = Machine()
    starved = machine.starved()
    machine.run(t1=5, t2=5)
    machine.pass_by(10, t1=5, t3=9)
    starved.look()
    assert starved.since(100) == 5
    machine.pass_by(10, t1=3)
    starved.look()
    assert starved.since(110) == 3
