from syncmgr.accounts.user import ALL_RIGHTS, NO_RIGHTS, Privilege, Rights, job, table
from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import Nature, SnapshotSample, Trouble
from syncmgr.web.api.overview import jobs_of, seen
from syncmgr.web.api.recent import Recent
from tests.unit.job.metrics.factories import make_job_sample, make_sample

QUOTING = Trouble(error=20105, message="Column 'iban' holds DE89 3704", advice="Fix it.", at=7.0)


def rights(*granted: tuple[Privilege, object]) -> Rights:
    return Rights(grants={scope: frozenset({privilege}) for privilege, scope in granted})  # type: ignore[misc]


def test_jobs_that_are_not_seen_are_not_there() -> None:
    """As in SHOW SYNC JOB."""
    sample = make_sample(make_job_sample(), make_job_sample(id=2, name="other"))
    assert list(seen(sample, NO_RIGHTS)) == []
    assert [each.name for each in seen(sample, rights((Privilege.LOAD, job("demo", "shop"))))] == ["shop"]
    assert [each.name for each in seen(sample, ALL_RIGHTS)] == ["shop", "other"]
    assert list(seen(None, ALL_RIGHTS)) == []


def test_values_of_rows_are_for_who_may_read_them() -> None:
    """An error that quotes one says so to users with SELECT_PRIV on all targets only."""
    sample = make_sample(make_job_sample(trouble=QUOTING, nature=Nature(kind="mysql", targets=(("demo", "people"),))))
    operates = (Privilege.LOAD, job("demo", "shop"))
    [hidden] = jobs_of(sample, rights(operates), Recent())
    [told] = jobs_of(sample, rights(operates, (Privilege.SELECT, table("demo", "people"))), Recent())
    assert "DE89" not in str(hidden)
    assert "DE89 3704" in told["error"]["message"]
    assert (told["error"]["number"], told["error"]["at"], told["error"]["remedy"]) == (20105, 7.0, "OPERATOR")


def test_a_stopped_table_is_an_error_of_its_job() -> None:
    """With its name."""
    stopped = make_job_sample(stopped={"shop.lines": QUOTING}, needs_operator=True)
    [told] = jobs_of(make_sample(stopped), ALL_RIGHTS, Recent())
    assert (told["error"]["table"], told["needs_operator"]) == ("shop.lines", True)


def test_a_snapshot_adds_up_its_tables() -> None:
    """An estimate is known when that of each table is."""
    reads = [
        SnapshotSample(table=f"demo.t{n}", rows=10, estimated_rows=estimated) for n, estimated in ((1, 40), (2, 60))
    ]
    counts = dict.fromkeys(ChannelState, 0) | {ChannelState.SNAPSHOT: 2}
    [told] = jobs_of(make_sample(make_job_sample(tables=counts, snapshots=tuple(reads))), ALL_RIGHTS, Recent())
    assert told["phase"] == "snapshot"
    assert told["snapshot"] == {"rows": 20, "estimated": 100, "tables": 2, "left_second": None}
    unknown = SnapshotSample(table="demo.t3", rows=0, estimated_rows=None)
    [told] = jobs_of(make_sample(make_job_sample(tables=counts, snapshots=(*reads, unknown))), ALL_RIGHTS, Recent())
    assert told["snapshot"]["estimated"] is None
