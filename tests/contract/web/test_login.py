"""Who gets in over HTTP, and what a request of another site cannot do: a real server in front of a real console."""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmgr.accounts.user import Account, Privilege, Scope, database, job
from syncmgr.errors import Code
from syncmgr.web.api.table import routes
from syncmgr.web.guard import HEADERS
from tests.contract.web.doors import Door, HttpClient, door
from tests.support.until import until
from tests.unit.console.running import PASSWORD
from tests.unit.job.metrics.factories import make_job_sample, make_sample

pytestmark = pytest.mark.usefixtures("cheap_passwords")
ADA = Account(name="ada")
CREATE = 'CREATE SYNC demo.job1 (FROM shop.t INTO demo.t) FROM BINLOG ("type" = "mysql", "mysql.host" = "db1")'


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncmgr.accounts.secret._COST", 1 << 4)


@pytest.fixture
def it(tmp_path: Path) -> Iterator[Door]:
    with door(tmp_path, password=PASSWORD, max_login_failures=3) as opened:
        opened.frontend.users.create(ADA, password="engine", plugin=None, if_not_exists=False)
        opened.measured.sample = make_sample(make_job_sample(name="job1"), make_job_sample(id=2, name="job2"), at=1.0)
        opened.console.ask(CREATE, password=PASSWORD)
        yield opened


def grant(it: Door, privilege: Privilege, scope: Scope) -> None:
    it.frontend.users.grant(ADA, [privilege], scope)


def all_routes(it: Door) -> list[tuple[str, str]]:
    table = routes(it.measured, it.recent, it.tokens, 1, Path())
    return [(row.method, "/api/v1" + row.path.format(db="demo", name="job1")) for row in table]


def test_without_a_login_nothing_is_seen(it: Door) -> None:
    """Each route of the API is refused, with MySQL's number; no browser is made to ask for a password."""
    asked = all_routes(it)
    assert len(asked) > 15
    for method, path in asked:
        if (method, path) == ("POST", "/api/v1/session"):
            continue
        got = it.client().ask(method, path)
        assert (got.status, got.json["error"]["number"]) == (401, 1045), path
        assert "basic" not in got.headers["www-authenticate"].lower()
        assert "job1" not in got.body.decode()


def test_a_login_of_the_page(it: Door) -> None:
    """By the console's users; the cookie is out of reach of scripts and of other sites."""
    client = it.client()
    got = client.post("/api/v1/session", {"user": "root", "password": PASSWORD})
    assert got.status == 200
    flags = {flag.strip().lower() for flag in got.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= flags
    assert client.get("/api/v1/me").json == {
        "user": "root",
        "csrf": got.json["csrf"],
        "may": ["change", "operate", "log"],
    }
    client.csrf = got.json["csrf"]
    old = client.cookie
    assert client.ask("DELETE", "/api/v1/session").status == 200
    assert HttpClient(it.server.port, cookie=old).get("/api/v1/me").status == 401


def test_a_program_shows_name_and_password(it: Door) -> None:
    """With each request; it needs no cookie."""
    ada = HttpClient(it.server.port, basic=("ada", "engine"))
    assert ada.get("/api/v1/me").json == {"user": "ada", "csrf": None, "may": []}
    assert HttpClient(it.server.port, basic=("ada", "wrong")).get("/api/v1/me").status == 401
    for given in ("Basic", "Basic !!!", "Basic YWRh", "Bearer x"):
        assert it.client().get("/api/v1/me", authorization=given).status in {400, 401}, given


def test_guessing_is_slowed_down_and_refused(it: Door) -> None:
    """By the throttle of the console, whichever way a password is shown."""
    for number in range(3):
        body = {"user": "ada", "password": f"guess{number}"}
        assert it.client().post("/api/v1/session", body).json["error"]["number"] == Code.ACCESS_DENIED.number
    assert it.client().post("/api/v1/session", {"user": "ada", "password": "engine"}).status == 429
    got = HttpClient(it.server.port, basic=("ada", "engine")).get("/api/v1/me")
    assert (got.status, got.json["error"]["number"]) == (429, Code.LOGIN_REFUSED.number)


def test_a_new_password_ends_the_login(it: Door) -> None:
    """At once, and so does DROP USER."""
    ada = it.client().log_in("ada", "engine")
    it.frontend.users.alter(ADA, password="other", plugin=None, if_exists=False)
    assert ada.get("/api/v1/me").status == 401
    ada = it.client().log_in("ada", "other")
    it.frontend.users.drop(ADA, if_exists=False)
    assert ada.get("/api/v1/me").status == 401


def test_a_login_is_of_its_address(it: Door) -> None:
    """A cookie that comes from where its account may not be is none."""
    local = Account(name="local", host="192.0.2.%")
    it.frontend.users.create(local, password="engine", plugin=None, if_not_exists=False)
    text = it.tokens.text(it.tokens.begin(local, "local", time.time()))
    stolen = HttpClient(it.server.port, cookie=f"syncmgr-{it.server.port}={text}")
    assert stolen.get("/api/v1/me").status == 401


def test_root_without_a_password_is_not_passed_on(tmp_path: Path) -> None:
    """On loopback it needs none, but whoever passes requests on is on loopback, too."""
    with door(tmp_path) as it:
        assert it.client().log_in().get("/api/v1/me").status == 200
        for header in ("x_forwarded_for", "forwarded", "via"):
            got = it.client().post("/api/v1/session", {"user": "root", "password": ""}, **{header: "192.0.2.1"})
            assert got.status == 401, header


def test_what_a_user_does_not_see_is_not_there(it: Door) -> None:
    """By no route: neither its name nor whether there is such a job."""
    ada = it.client().log_in("ada", "engine")
    grant(it, Privilege.LOAD, database("other"))
    for method, path in all_routes(it):
        if path.endswith(("/session", "/events", "/sql")):
            continue
        got = ada.ask(method, path, {"confirm": "demo.job1", "x": 1})
        unknown = ada.ask(method, path.replace("job1", "jobX"), {"confirm": "demo.jobX", "x": 1})
        assert (got.status, got.body) == (unknown.status, unknown.body.replace(b"jobX", b"job1")), path
        assert got.status in {200, 403, 404}
        assert got.status != 200 or b"job" not in got.body.replace(b'"jobs":[]', b""), path
    for sql in ("SHOW SYNC JOB", "SELECT * FROM information_schema.sync_jobs", "SHOW CREATE SYNC JOB demo.job1"):
        assert b"job1'" in (got := ada.post("/api/v1/sql", {"sql": sql})).body or got.json["rows"] == []
    assert it.frontend.jobs.rows["demo", "job1"][3] != "PAUSED"


def test_who_sees_a_job_may_not_change_it(it: Door) -> None:
    """That takes LOAD_PRIV, as on the console; GRANT and REVOKE apply at once."""
    ada = it.client().log_in("ada", "engine")
    grant(it, Privilege.SELECT, database("demo"))
    assert [each["name"] for each in ada.get("/api/v1/jobs").json["jobs"]] == ["job1", "job2"]
    assert ada.post("/api/v1/jobs/demo/job1/pause").status == 403
    grant(it, Privilege.LOAD, job("demo", "job1"))
    assert ada.post("/api/v1/jobs/demo/job1/pause").status == 200
    assert ada.post("/api/v1/jobs/demo/job1/pause").status == 409
    it.frontend.users.revoke(ADA, [Privilege.LOAD], job("demo", "job1"))
    assert ada.post("/api/v1/jobs/demo/job1/resume").status == 403
    for method, path in (("GET", "config"), ("PUT", "config"), ("GET", "frontends"), ("GET", "jobs/demo/job1/log")):
        got = ada.ask(method, f"/api/v1/{path}", {"audit_log": "OFF"})
        assert (got.status, got.json["error"]["number"]) == (403, Code.PRIVILEGE_NEEDED.number)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"content_type": "text/plain"},
        {"x_syncmgr_csrf": "0" * 64},
        {"x_syncmgr_csrf": ""},
        {"x_syncmgr_csrf": "ä"},
    ],
)
def test_a_page_of_another_site_changes_nothing(it: Door, headers: dict[str, str]) -> None:
    """Even if its browser sent our cookie: neither a job, nor a setting, nor by SQL, nor the login itself."""
    root = it.client().log_in("root", PASSWORD)
    for method, path in all_routes(it):
        if method == "GET" or (path.endswith("/session") and "x_syncmgr_csrf" in headers and method == "POST"):
            continue
        assert root.ask(method, path, {"sql": "DROP DATABASE demo", "user": "x"}, **headers).status == 403, path
    assert it.frontend.jobs.rows["demo", "job1"][3] != "PAUSED"


def test_reading_changes_nothing(it: Door) -> None:
    """No GET does, with whatever it is asked."""
    root = it.client().log_in("root", PASSWORD)
    for path in ("jobs/demo/job1/pause", "jobs/demo/job1/stop", "sql?sql=DROP+DATABASE+demo", "session"):
        assert root.get(f"/api/v1/{path}").status == 405, path


def test_every_answer_tells_the_browser_what_is_not_done(it: Door) -> None:
    """No scripts but ours, no frames, no sniffing: also with errors, other names and unknown addresses."""
    for path, host in (("/metrics", "localhost"), ("/nothing", "localhost"), ("/api/v1/jobs", "localhost"), ("/", "x")):
        got = it.client().get(path, host=host)
        for name, value in HEADERS:
            assert got.headers[name] == value, path
    assert "unsafe" not in dict(HEADERS)["content-security-policy"]
    assert it.client().get("/api/v1/jobs").headers["cache-control"] == "no-store"


def test_metrics_may_need_a_login(it: Door) -> None:
    """Then each user has the series of the jobs that are seen."""
    assert b'sync_job="job1"' in it.client().get("/metrics").body
    it.hides_metrics = True
    assert it.client().get("/metrics").status == 401
    grant(it, Privilege.LOAD, job("demo", "job2"))
    body = HttpClient(it.server.port, basic=("ada", "engine")).get("/metrics").body
    assert b'sync_job="job2"' in body
    assert b"job1" not in body
    assert it.client().get("/api/health").status in {200, 503}


def test_the_audit_has_it(it: Door, caplog: pytest.LogCaptureFixture) -> None:
    """Logins that failed or not, and statements, each with the protocol."""
    with caplog.at_level(logging.INFO, "syncmgr.audit"):
        it.client().post("/api/v1/session", {"user": "ada", "password": "wrong"})
        ada = it.client().log_in("ada", "engine")
        ada.post("/api/v1/sql", {"sql": "SET PASSWORD = 's3cr3t!'"})

    def lines() -> list[dict[str, object]]:
        return [json.loads(each.message) for each in caplog.records if each.name == "syncmgr.audit"]

    until(lambda: len([line for line in lines() if "statement" in line]) > 0, why="the statement is there")
    assert {line["proto"] for line in lines() if line.get("event") != "begins"} == {"http"}
    assert [line["error"] for line in lines() if line.get("event") == "login"] == [1045, None]
    assert "s3cr3t!" not in caplog.text
