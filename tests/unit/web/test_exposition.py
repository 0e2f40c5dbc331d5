import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from syncmgr.job.metrics.metric import METRICS
from syncmgr.web.exposition import Exposition
from tests.unit.job.metrics.factories import make_job_sample, make_sample

HOSTILE = 'a"b\\n\nc{}'


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0", "text/plain; version=1.0.0"])
def test_prometheus_reads_every_metric(accept: str) -> None:
    """In each format that it may ask for; names of any characters come back as they are."""
    body, kind = Exposition(make_sample(make_job_sample(db=HOSTILE))).text(accept)
    parse = openmetrics if "openmetrics" in kind else prometheus
    found = {family.name: family for family in parse(body.decode())}
    assert {each.name.removesuffix("_total") for each in METRICS} <= {name.removesuffix("_total") for name in found}
    assert {sample.labels["db"] for sample in found["syncmgr_job_state"].samples} == {HOSTILE}


def test_without_a_sample_there_is_the_process_alone() -> None:
    """And no series of a job, as nothing is known of any."""
    body, _ = Exposition(None).text("")
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    assert {line.partition("_")[0] for line in lines} == {"process"}
