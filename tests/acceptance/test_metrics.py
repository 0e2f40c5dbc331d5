"""Metrics and health as a scraper gets them, while jobs live and die."""

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.chat import Chat
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

STATES: Final = {"PENDING", "RUNNING", "PAUSED", "CANCELLED"}


def asked(frontend: FrontendProcess, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", frontend.http_port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Scraped:
    """The series of the job of a database."""

    def __init__(self, frontend: FrontendProcess, db: str) -> None:
        self._frontend, self._db = frontend, db

    def of(self, name: str) -> Mapping[tuple[str, ...], float]:
        """By the values of the labels besides those that name the job."""
        families = text_string_to_metric_families(asked(self._frontend, "/metrics")[1])
        samples = [each for family in families for each in family.samples if each.name == f"syncmgr_{name}"]
        of_job = ("db", "sync_job")
        return {
            tuple(value for label, value in sorted(each.labels.items()) if label not in of_job): each.value
            for each in samples
            if each.labels.get("db") in {None, self._db}
        }

    def one(self, name: str) -> float | None:
        return self.of(name).get(())

    def state(self) -> str:
        """After a look at all of them: each is there, and one counts."""
        found = self.of("job_state")
        assert {state for (state,) in found} == STATES
        assert sum(found.values()) == 1
        return next(state for (state,), value in found.items() if value)


def create(frontend: FrontendProcess, server: MysqlServer, db: str, user: str) -> None:
    server.run(
        f"CREATE DATABASE {db}",
        f"CREATE TABLE {db}.orders (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO {db}.orders VALUES (1, 1), (2, 2)",
        f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'",
        f"GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {user}",
    )
    frontend.sql(f"CREATE DATABASE {db}")
    frontend.sql(
        f'CREATE SYNC {db}.job1 (FROM {db}.* INTO {db}.*) FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", '
        f'"mysql.port" = "{server.port}", "mysql.user" = "{user}", "mysql.password" = "{PASSWORD}")'
    )


@pytest.fixture
def chat(frontend: FrontendProcess) -> Iterator[Chat]:
    """Receives the alerts of the frontend."""
    started = Chat()
    frontend.sql(f'ADMIN SET FRONTEND CONFIG ("alert_webhook" = "{started.url}")')
    assert "key=hidden" not in (frontend.folder / "log" / "audit.log").read_text()
    assert "key=hidden" not in str(frontend.sql("SHOW FRONTEND CONFIG LIKE 'alert%'"))
    yield started
    frontend.sql('ADMIN SET FRONTEND CONFIG ("alert_webhook" = "")')
    started.stop()


def told(chat: Chat, job: str) -> list[str]:
    messages = [json.loads(body) for _, body, _ in chat.received]
    return [f"{each['event']} {each['status']}" for each in messages if each["job"] == job]


def test_metrics_and_alerts_say_what_show_says(
    frontend: FrontendProcess, mysql_server: MysqlServer, chat: Chat
) -> None:
    """From CREATE to STOP, through an error that needs an operator, the death of a worker and of the frontend: a job
    has all its states, its counters go on, what needs an operator says so, and whoever is to be told is told.
    """
    frontend.sql("ADMIN TEST ALERT")
    assert json.loads(chat.received[0][1])["event"] == "test"
    db = "metrics_live"
    create(frontend, mysql_server, db, "metered")
    scraped = Scraped(frontend, db)
    until(lambda: scraped.of("job_state") and scraped.state() == "RUNNING", why="the job runs")
    until(lambda: scraped.one("job_committed_rows_total") == 2, why="its first rows are counted")
    until(lambda: scraped.of("job_tables").get(("STREAMING",)) == 1, why="its table streams")
    mysql_server.run(f"INSERT INTO {db}.orders VALUES (3, 3)")
    until(lambda: scraped.one("job_committed_rows_total") == 3, why="a change is counted")
    until(lambda: (scraped.one("job_commit_duration_seconds_count") or 0) >= 1, why="its commit was measured")
    assert 0 < (scraped.one("job_commit_duration_seconds_sum") or 0) < HANG_SECOND
    assert (scraped.one("job_visible_delay_seconds_count") or 0) >= 1
    frontend.kill_workers()
    assert scraped.state() in STATES

    chat.received.clear()
    mysql_server.run("ALTER USER metered IDENTIFIED BY 'another'")
    frontend.kill_workers()
    until(lambda: scraped.one("job_needs_operator") == 1, why="the job needs an operator")
    until(lambda: told(chat, f"{db}.job1") == ["job.needs_operator firing"], why="an operator is told")
    [shown] = frontend.sql(f"SHOW ALERTS WHERE Job = '{db}.job1'")
    assert (shown["State"], shown["Failure"]) == ("firing", None)
    columns = "EVENT, STATE, RESOLVE_TIME, FIRE_TIME > NOW() - INTERVAL 1 HOUR AS recent"
    [row] = frontend.sql(f"SELECT {columns} FROM information_schema.sync_alerts WHERE JOB = '{db}.job1'")
    assert row == {"EVENT": "job.needs_operator", "STATE": "firing", "RESOLVE_TIME": None, "recent": 1}
    assert (str(Code.SOURCE_ACCESS_DENIED.number),) in scraped.of("job_error")
    before = scraped.one("job_synced_until_timestamp_seconds")
    assert before is not None
    mysql_server.run(f"ALTER USER metered IDENTIFIED BY '{PASSWORD}'")
    until(lambda: scraped.state() == "PAUSED", why="it is paused")
    frontend.sql(f"RESUME SYNC JOB {db}.job1")
    until(lambda: scraped.one("job_needs_operator") == 0, why="it needs nobody")
    until(lambda: scraped.state() == "RUNNING", why="it runs again")
    assert (scraped.one("job_synced_until_timestamp_seconds") or 0) >= before
    until(lambda: told(chat, f"{db}.job1")[1:] == ["job.needs_operator resolved"], why="an operator is told of the end")

    frontend.kill()
    frontend.start()
    until(lambda: asked(frontend, "/api/ready")[0] == 200, why="it is ready")
    assert scraped.one("job_committed_rows_total") == 3
    [line] = frontend.sql(f"SHOW SYNC JOB STATUS LIKE '{db}.%'")
    assert (line["Rows"], line["Tables"], line["NeedsOperator"], line["Error"]) == ("3", "1", "no", None)
    [table] = frontend.sql(f"SHOW SYNC JOB TABLES FOR {db}.job1")
    assert (table["Source"], table["Target"], table["State"]) == (f"{db}.orders", f"{db}.orders", "STREAMING")
    mysql_server.run(f"DELETE FROM {db}.orders WHERE id = 1", f"UPDATE {db}.orders SET v = 9 WHERE id = 2")
    until(lambda: scraped.one("job_committed_rows_total") == 5, why="changes of rows that were there")
    [status] = frontend.sql(f"SHOW TABLE STATUS FROM {db}")
    assert status["Rows"] == 2
    assert status["Data_length"] > 0
    frontend.sql(f"STOP SYNC JOB {db}.job1")
    until(lambda: scraped.state() == "CANCELLED", why="the job has ended")
    assert sum(scraped.of("job_tables").values()) == 0
