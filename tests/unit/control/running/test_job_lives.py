from syncmgr.control.running.job_lives import crowded_out
from syncmgr.job.sync_job import JobId
from syncmgr.meta.jobs import Ended


def ended(number: int, at: float, creator: str | None) -> Ended:
    return Ended(JobId(number), at, creator)


def test_an_account_has_so_many_cancelled_jobs() -> None:
    """The last ones stay, and so do those of other accounts, and of earlier versions, which know no account."""
    of_ann = [ended(number, float(number), "ann") for number in range(5)]
    of_others = [ended(5, 0.0, "bob"), ended(6, 0.0, None), ended(7, 0.0, None), ended(8, 0.0, None)]
    assert crowded_out([*of_ann, *of_others], 2) == {0, 1, 2}
    assert crowded_out(of_ann, 5) == frozenset()
