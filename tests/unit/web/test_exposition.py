import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from syncmgr.job.metrics.metric import METRICS
from syncmgr.web.exposition import KEPT_SECOND, Exposition, LastTexts
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


def test_a_text_is_made_once_for_all_clients_of_a_second() -> None:
    """However many ask: the bytes are the same object. A new sample or the next second makes a new one, and a client
    of the other format gets its own.
    """
    texts, sample = LastTexts(), make_sample(make_job_sample())
    first, kind = texts.text(sample, "", 1.0)
    assert texts.text(sample, "", 1.0 + KEPT_SECOND / 2)[0] is first
    other, its_kind = texts.text(sample, "application/openmetrics-text; version=1.0.0", 1.1)
    assert its_kind.startswith("application/openmetrics-text")
    assert its_kind != kind
    assert other.endswith(b"# EOF\n")
    assert texts.text(sample, "", 1.0 + KEPT_SECOND)[0] is not first
    newer = make_sample(make_job_sample(db="newer"))
    assert b"newer" in texts.text(newer, "", 1.0 + KEPT_SECOND)[0]
