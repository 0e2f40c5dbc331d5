"""What the routes of the API answer: a real server in front of a real console."""

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import quote

import pytest

from syncmgr.accounts.user import Account, Privilege, job
from syncmgr.job.state import JobState
from syncmgr.web.connections import Bounds
from tests.contract.web.doors import Door, HttpClient, door
from tests.support.until import until
from tests.unit.job.metrics.factories import make_job_sample, make_sample

CREATE = (
    'CREATE SYNC demo.job1 (FROM shop.t INTO demo.t) FROM BINLOG ("type" = "mysql", "mysql.host" = "db1", '
    '"mysql.user" = "repl", "mysql.password" = "t0psecret")'
)


@pytest.fixture
def it(tmp_path: Path) -> Iterator[Door]:
    with door(tmp_path, body_bytes=4096) as opened:
        opened.measured.sample = make_sample(make_job_sample(name="job1"), at=time.time())
        opened.console.ask(CREATE)
        yield opened


@pytest.fixture
def root(it: Door) -> HttpClient:
    return it.client().log_in()


def test_the_overview_asks_nobody(it: Door, root: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the last sample, however many clients look: no statement runs, and no port is called."""
    monkeypatch.setattr(it.frontend.jobs, "show", lambda *_: pytest.fail("it asked"))
    monkeypatch.setattr(it.frontend.jobs, "samples", lambda *_: pytest.fail("it asked"), raising=False)
    for second in range(3):
        it.recent.heard(make_sample(make_job_sample(name="job1"), at=float(second)))
    told = root.get("/api/v1/jobs").json
    assert told["frontend"]["version"] == "1.0"
    [facts] = told["jobs"]
    assert (facts["db"], facts["name"], facts["state"], facts["type"]) == ("demo", "job1", "RUNNING", "mysql")
    assert facts["spark"]["lag"] == [0.5, 0.5, 0.5]


def test_a_job(root: HttpClient) -> None:
    """With its statement, whose secrets are masked, and its tables."""
    facts = root.get("/api/v1/jobs/demo/job1").json
    assert "CREATE SYNC" in facts["statement"]
    assert "t0psecret" not in json.dumps(facts)
    assert {"tables", "snapshots", "history", "position"} <= set(facts)
    assert root.get("/api/v1/jobs/demo/job9").status == 404


@pytest.mark.parametrize("name", ["epochs", "ddl", "dead_letters"])
def test_pages_of_a_job(root: HttpClient, name: str) -> None:
    """As objects by column; numbers that are none are refused."""
    got = root.get(f"/api/v1/jobs/demo/job1/{name}?limit=1")
    assert got.status == 200, got.body
    assert set(got.json) == {"rows", "more"}
    assert root.get(f"/api/v1/jobs/demo/job1/{name}?limit=1;DROP").status == 400
    assert root.get(f"/api/v1/jobs/demo/nothing/{name}").status == 404


def test_the_log_of_a_job(it: Door, root: HttpClient, tmp_path: Path) -> None:
    """The lines that name it; none, if the log is elsewhere."""
    assert root.get("/api/v1/jobs/demo/job1/log").json == {"lines": []}
    (tmp_path / "fe.log").write_text("x job=demo.job1\ny job=demo.job12\n")
    assert root.get("/api/v1/jobs/demo/job1/log").json == {"lines": ["x job=demo.job1"]}
    assert root.get("/api/v1/jobs/demo/job9/log").status == 404


def test_jobs_are_paused_resumed_and_stopped(it: Door, root: HttpClient) -> None:
    """By the statements of the console; STOP wants the name."""
    state = it.frontend.jobs.rows["demo", "job1"]
    assert root.post("/api/v1/jobs/demo/job1/pause").status == 200
    assert state[3] == "PAUSED"
    assert root.post("/api/v1/jobs/demo/job1/resume").status == 200
    assert root.post("/api/v1/jobs/demo/job1/stop").status == 400
    assert root.post("/api/v1/jobs/demo/job1/stop", {"confirm": "demo.job2"}).status == 400
    assert root.post("/api/v1/jobs/demo/job1/stop", {"confirm": "demo.job1"}).status == 200
    assert root.post("/api/v1/jobs/demo/" + quote("`; STOP SYNC JOB `x", safe="") + "/pause").status == 404


def test_names_are_whatever_they_are(it: Door, root: HttpClient) -> None:
    """Also with what separates the parts of an address or of a statement."""
    name = "a/b`c?d#e%2F <b>ä"
    it.console.ask(CREATE.replace("job1", "`" + name.replace("`", "``") + "`"))
    assert root.post(f"/api/v1/jobs/demo/{quote(name, safe='')}/pause").status == 200
    assert it.frontend.jobs.rows["demo", name][3] == "PAUSED"


def test_sql(root: HttpClient) -> None:
    """Rows and errors are those of the console."""
    told = root.post("/api/v1/sql", {"sql": "SELECT 1 AS a, NULL AS b, 'ä' AS c"}).json
    assert [column["name"] for column in told["columns"]] == ["a", "b", "c"]
    assert (told["rows"], told["more"]) == ([[1, None, "ä"]], False)
    failed = root.post("/api/v1/sql", {"sql": "SELEC 1"})
    assert (failed.status, failed.json["error"]["number"], failed.json["error"]["sqlstate"]) == (400, 1064, "42000")
    assert root.post("/api/v1/sql", {"sql": "SHOW VARIABLES", "limit": 2}).json["more"] is True
    assert root.post("/api/v1/sql", {"sql": "SHOW TABLES", "db": "nowhere"}).status == 400
    for body in (
        {},
        {"sql": 7},
        {"sql": "SELECT 1", "limit": "x"},
        {"sql": "SELECT 1", "db": 1},
        [1],
        b"{",
        b"[" * 4000,
    ):
        assert root.post("/api/v1/sql", body).status == 400, body
    assert root.post("/api/v1/sql", {"sql": "x" * 5000}).status == 413


def test_every_show_is_the_same_as_over_mysql(it: Door, root: HttpClient) -> None:
    """Text for text."""
    for sql in ("SHOW SYNC JOB", "SHOW DATABASES", "SHOW TABLES FROM demo", "SHOW FRONTEND CONFIG", "SHOW GRANTS"):
        rows = root.post("/api/v1/sql", {"sql": sql}).json["rows"]
        assert rows == [list(row) for row in it.console.ask(sql)], sql


def test_who_leaves_ends_the_statement(it: Door, root: HttpClient) -> None:
    """Its query is cancelled, as KILL QUERY does it."""
    connection = http.client.HTTPConnection("127.0.0.1", it.server.port, timeout=60)
    headers = {
        "host": "localhost",
        "cookie": root.cookie,
        "x-syncmgr-csrf": root.csrf,
        "content-type": "application/json",
    }
    connection.request("POST", "/api/v1/sql", json.dumps({"sql": "SELECT * FROM demo.wait"}), headers)
    queries = it.frontend.queries.started
    until(lambda: len(queries) == 1, why="it has begun")
    connection.close()
    assert queries[0].cancelled.wait(60)
    until(lambda: len(it.console.connections) == 0, why="it is no connection any more")


def test_settings(root: HttpClient) -> None:
    """As SHOW FRONTEND CONFIG has them, set by ADMIN SET FRONTEND CONFIG."""
    names = {row["Key"] for row in root.get("/api/v1/config").json["settings"]}
    assert "query_port" in names
    assert root.ask("PUT", "/api/v1/config", {"sync_commit_interval_second": 5}).status == 200
    changed = {row["Key"]: row["Value"] for row in root.get("/api/v1/config").json["settings"]}
    assert changed["sync_commit_interval_second"] == "5"
    assert root.ask("PUT", "/api/v1/config", {}).status == 400


def test_the_frontend(root: HttpClient) -> None:
    """As SHOW FRONTENDS has it, with its disks."""
    told = root.get("/api/v1/frontends").json
    assert len(told["frontends"]) == 1
    assert told["disk_free"] == {"meta_dir": 5}
    assert root.get("/api/v1/databases").json["databases"][0] == "information_schema"


class Stream:
    """Server-sent events."""

    def __init__(self, client: HttpClient) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        self._connection.request("GET", "/api/v1/events", headers={"host": "localhost", "cookie": client.cookie})
        self.answer = self._connection.getresponse()

    def next(self) -> dict[str, object] | None:
        """None: it has ended."""
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                found: dict[str, object] = json.loads(line[6:])
                return found
        return None

    def close(self) -> None:
        self.answer.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def test_events(it: Door, root: HttpClient) -> None:
    """First all jobs, then what changes and who is gone; without a question."""
    stream = Stream(root)
    first = stream.next()
    assert first is not None
    assert [each["name"] for each in first["jobs"]] == ["job1"]  # type: ignore[attr-defined]
    other = make_job_sample(id=2, name="job2")
    it.measured.sample = make_sample(make_job_sample(name="job1"), other, at=2000.0)
    second = stream.next()
    assert second is not None
    assert [each["name"] for each in second["jobs"]] == ["job2"]  # type: ignore[attr-defined]
    it.measured.sample = make_sample(make_job_sample(name="job1", state=JobState.PAUSED), at=2001.0)
    third = stream.next()
    assert third is not None
    assert ([each["state"] for each in third["jobs"]], third["gone"]) == (["PAUSED"], [2])  # type: ignore[attr-defined]
    stream.close()


def test_a_stream_ends_with_the_login(it: Door) -> None:
    """And shows only what its user sees, from one sample to the next."""
    ada = Account(name="ada")
    it.frontend.users.create(ada, password="engine", plugin=None, if_not_exists=False)
    it.frontend.users.grant(ada, [Privilege.LOAD], job("demo", "job1"))
    stream = Stream(it.client().log_in("ada", "engine"))
    first = stream.next()
    assert first is not None
    assert len(first["jobs"]) == 1  # type: ignore[arg-type]
    it.frontend.users.revoke(ada, [Privilege.LOAD], job("demo", "job1"))
    it.measured.sample = make_sample(make_job_sample(name="job1"), at=2000.0)
    second = stream.next()
    assert second is not None
    assert (second["jobs"], second["gone"]) == ([], [1])
    it.frontend.users.drop(ada, if_exists=False)
    assert stream.next() is None
    stream.close()


def test_streams_are_bounded(tmp_path: Path) -> None:
    """A further one is told so; one that ends makes room."""
    with door(tmp_path, most_streams=2) as it:
        root = it.client().log_in()

        def status() -> int:
            with Stream(root) as further:
                return further.answer.status

        with Stream(root) as one, Stream(root) as other:
            assert one.next() is not None
            assert other.next() is not None
            assert status() == 503
            one.close()
            until(lambda: status() == 200, why="its place is free")


def test_long_answers_are_not_cut(tmp_path: Path) -> None:
    """Neither a statement nor a stream that lasts longer than a client may be silent."""
    with door(tmp_path, bounds=Bounds(request_second=0.3)) as it:
        root = it.client().log_in()
        assert root.post("/api/v1/sql", {"sql": "SELECT SLEEP(1)"}).status == 200
        with Stream(root) as stream:
            for second in range(3):
                it.measured.sample = make_sample(make_job_sample(id=second), at=3000.0 + second)
                assert stream.next() is not None
