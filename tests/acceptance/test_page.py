"""The API of HTTP on a whole frontend, with a job that reads a real MySQL."""

import base64
import http.client
import json
import time
from typing import Any

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]
ROOT = {"authorization": "Basic " + base64.b64encode(b"root:").decode(), "content-type": "application/json"}


def asked(frontend: FrontendProcess, method: str, path: str, body: object = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", frontend.http_port, timeout=120)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), ROOT)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_job_over_http(frontend: FrontendProcess, mysql_server: MysqlServer) -> None:
    """Its figures, tables and commits are those of SHOW, its rows those of SELECT; it is paused, resumed and
    stopped.
    """
    mysql_server.run("CREATE DATABASE page", "CREATE TABLE page.t (id INT PRIMARY KEY, name VARCHAR(20))")
    mysql_server.run("INSERT INTO page.t VALUES (1, 'ä'), (2, NULL)")
    mysql_server.run(
        f"CREATE USER paged IDENTIFIED BY '{PASSWORD}'",
        "GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO paged",
    )
    frontend.sql("CREATE DATABASE page")
    frontend.sql(
        'CREATE SYNC page.job (FROM page.* INTO page.*) FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", '
        f'"mysql.port" = "{mysql_server.port}", "mysql.user" = "paged", "mysql.password" = "{PASSWORD}")'
    )

    def found() -> dict[str, Any]:
        _, told = asked(frontend, "GET", "/api/v1/jobs")
        return next((each for each in told["jobs"] if each["db"] == "page"), {})

    def streams() -> bool:
        job = found()
        return bool(job) and job["phase"] == "streaming" and job["rows"] == 2 and job["lag_second"] is not None

    until(streams, why="its rows are there, and it streams")
    _, job = asked(frontend, "GET", "/api/v1/jobs/page/job")
    assert [(each["source_table"], each["target_table"], each["state"]) for each in job["tables"]] == [
        ("t", "t", "STREAMING")
    ]
    assert PASSWORD not in json.dumps(job)
    _, epochs = asked(frontend, "GET", "/api/v1/jobs/page/job/epochs")
    assert abs(epochs["rows"][0]["commit_time"] - time.time()) < 3600  # unix seconds, whatever the zone
    _, rows = asked(frontend, "POST", "/api/v1/sql", {"sql": "SELECT * FROM t ORDER BY id", "db": "page"})
    assert rows["rows"] == [[1, "ä"], [2, None]]
    assert rows["rows"] == [list(each.values()) for each in frontend.sql("SELECT * FROM t ORDER BY id", "page")]
    for verb, body, state in (
        ("pause", {}, "PAUSED"),
        ("resume", {}, "RUNNING"),
        ("stop", {"confirm": "page.job"}, "CANCELLED"),
    ):
        assert asked(frontend, "POST", f"/api/v1/jobs/page/job/{verb}", body)[0] == 200
        until(lambda state=state: found()["state"] == state, why=f"it is {state}")  # type: ignore[misc]
