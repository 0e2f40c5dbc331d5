from syncmgr.fe.commit_times import AllCommitTimes


def test_commits_are_counted_by_job_until_it_is_deleted() -> None:
    """A deleted job's figures would otherwise stay in memory for ever."""
    times = AllCommitTimes()
    for job_id in (1, 1, 2):
        times.observe(job_id, 10.0, 9.0, 10.5)
    found = times.of([1, 2])
    assert [found[job_id].duration.sum for job_id in (1, 2)] == [1.0, 0.5]
    assert set(times.of([2])) == {2}
    assert set(times.of([1, 2])) == {2}
