import json
import re
from pathlib import Path

import pytest
import yaml

from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.metric import METRICS, Metric
from syncmgr.job.metrics.sample import Sample, SnapshotSample, Trouble
from syncmgr.job.state import JobState
from tests.unit.job.metrics.factories import make_job_sample, make_sample

DENIED = Trouble(error=20103, message="denied", advice=None)
ROOT = Path(__file__).parents[4]

LABELS = {metric.name: {*metric.labels, "instance"} for metric in METRICS}


def series(name: str, sample: Sample) -> dict[tuple[str, ...], float]:
    [metric] = [each for each in METRICS if each.name == name]
    return dict(metric.series(sample))


@pytest.mark.parametrize("state", JobState)
def test_a_job_has_a_series_of_each_state_in_every_state(state: JobState) -> None:
    """Whose sum is 1, since a series that vanishes sets off no alert."""
    found = series("syncmgr_job_state", make_sample(make_job_sample(state=state)))
    assert set(found) == {("demo", "shop", name) for name in ("PENDING", "RUNNING", "PAUSED", "CANCELLED")}
    assert (sum(found.values()), found["demo", "shop", state.shown]) == (1.0, 1.0)


def test_what_is_not_known_has_no_series() -> None:
    """0 would be a lie."""
    sample = make_sample(make_job_sample(lag_second=None, synced_until=None))
    for name in ("lag_seconds", "synced_until_timestamp_seconds", "error"):
        assert series(f"syncmgr_job_{name}", sample) == {}


def test_a_paused_job_keeps_its_time() -> None:
    """So that the distance to the clock is the age of its targets."""
    found = series(
        "syncmgr_job_synced_until_timestamp_seconds",
        make_sample(make_job_sample(state=JobState.PAUSED, synced_until=42.0)),
    )
    assert found == {("demo", "shop"): 42.0}


def test_an_estimate_that_is_missing_has_no_series() -> None:
    rows = SnapshotSample(table="demo.orders", rows=3, estimated_rows=None)
    sample = make_sample(make_job_sample(snapshots=(rows,)))
    assert series("syncmgr_snapshot_rows", sample) == {("demo", "shop", "demo.orders"): 3}
    assert series("syncmgr_snapshot_estimated_rows", sample) == {}


@pytest.mark.parametrize("metric", METRICS, ids=lambda each: each.name)
def test_names_are_those_that_prometheus_advises(metric: Metric) -> None:
    """Counters end in _total and nothing else does; `job` is Prometheus' own label; sentences have no markup."""
    assert re.fullmatch(r"syncmgr_[a-z][a-z_]*[a-z]", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert "job" not in metric.labels
    assert re.fullmatch(r"[^`*]+\.", metric.doc)


def test_every_series_has_a_value_for_each_label() -> None:
    """Once each."""
    snapshot = SnapshotSample(table="demo.orders", rows=3, estimated_rows=9)
    job = make_job_sample(trouble=DENIED, behind_bytes={"demo.x": 7}, snapshots=(snapshot,), left_second=1.0)
    sample = make_sample(job, make_job_sample(name="other"))
    for metric in METRICS:
        found = list(metric.series(sample))
        assert found, metric.name
        assert {len(labels) for labels, _ in found} == {len(metric.labels)}, metric.name
        assert len({labels for labels, _ in found}) == len(found), metric.name


def test_the_alerts_name_metrics_that_there_are() -> None:
    """conf/alerts.yml: each rule has a metric of the table, its labels and states are there, and it says what to do."""
    labels = LABELS | {"up": {"job", "instance"}}
    states = {state.shown for state in JobState} | set(ChannelState)
    [group] = yaml.safe_load((ROOT / "conf" / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        named = set(re.findall(r"\b(?:syncmgr_\w+|up)\b", rule["expr"]))
        assert named, rule["alert"]
        assert named <= set(labels), rule["alert"]
        of_all = set.intersection(*(labels[name] for name in named))
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= of_all, rule["alert"]
        assert set(re.findall(r'state="(\w+)"', rule["expr"])) <= states, rule["alert"]
        assert rule["annotations"]["description"], rule["alert"]


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    """conf/grafana.json: each panel names metrics of the table, by labels that they have, and says what it shows."""
    board = json.loads((ROOT / "conf" / "grafana.json").read_text())
    buckets = {f"{each.name}_bucket": {*each.labels, "le"} for each in METRICS if each.kind == "histogram"}
    known = LABELS | buckets
    for panel in board["panels"]:
        assert panel["description"].endswith("."), panel["title"]
        for target in panel["targets"]:
            asked = dict(re.findall(r"(syncmgr_\w+)(?:\{([^}]*)\})?", target["expr"]))
            assert asked, panel["title"]
            for name, selector in asked.items():
                assert name in known, panel["title"]
                assert set(re.findall(r"(\w+)=", selector)) <= known[name], (panel["title"], name)
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert all(shown <= known[name] for name in asked), panel["title"]
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in board["panels"]]
    assert len(set(places)) == len(places)
