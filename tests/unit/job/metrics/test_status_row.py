from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import Trouble
from syncmgr.job.metrics.status_row import STATUS_COLUMNS, status_row
from syncmgr.job.state import JobState
from tests.unit.job.metrics.factories import make_job_sample


def test_a_job_fits_a_line() -> None:
    """Each column has its value, and what is not known is NULL."""
    row = dict(zip(STATUS_COLUMNS, status_row(make_job_sample()), strict=True))
    assert (row["Job"], row["State"], row["LagSecond"], row["Tables"]) == ("demo.shop", "RUNNING", "0.5", "1")
    assert (row["NeedsOperator"], row["Error"]) == ("no", None)
    tables = dict.fromkeys(ChannelState, 0) | {ChannelState.STOPPED: 2, ChannelState.SNAPSHOT: 1}
    trouble = Trouble(error=20112, message="secret of a row", advice=None)
    stopped = make_job_sample(
        state=JobState.PAUSED_BY_ERROR, tables=tables, trouble=trouble, needs_operator=True, lag_second=None
    )
    row = dict(zip(STATUS_COLUMNS, status_row(stopped), strict=True))
    assert (row["State"], row["LagSecond"], row["Tables"], row["Stopped"]) == ("PAUSED", None, "3", "2")
    assert (row["NeedsOperator"], row["Error"]) == ("yes", "20112")
    assert "secret" not in str(row)
