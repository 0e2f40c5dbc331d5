"""The routes of the API.

Owns: which there are, and whom each answers. docs/page.md has this table.
Must not know: what a route does.
"""

from itertools import starmap
from pathlib import Path

from syncmgr.web.api.events import Events
from syncmgr.web.api.jobs import Jobs
from syncmgr.web.api.login import Login
from syncmgr.web.api.recent import Recent
from syncmgr.web.api.route import ApiRoute, Handler, Who
from syncmgr.web.api.statements import Statements
from syncmgr.web.ports import Samples
from syncmgr.web.tokens import Tokens

JOB = "/jobs/{db}/{name}"
Row = tuple[str, str, Who, str, Handler, str]


def routes(samples: Samples, recent: Recent, tokens: Tokens, most_streams: int, log_file: Path) -> tuple[ApiRoute, ...]:
    login, jobs, statements = Login(tokens), Jobs(samples, recent, log_file), Statements(samples)
    events = Events(samples, recent, most_streams)
    return (
        *_of_sessions(login),
        *_of_jobs(jobs, events),
        *_of_statements(statements),
    )


def _of_sessions(login: Login) -> tuple[ApiRoute, ...]:
    rows: tuple[Row, ...] = (
        ("POST", "/session", Who.ALL, 'A cookie and `csrf`, for {"user", "password"}', login.begin, ""),
        ("DELETE", "/session", Who.USER, "The end of that login", login.end, ""),
        ("GET", "/me", Who.USER, "`user`, `csrf` of the page's login, and `may`: change, operate", login.me, ""),
        ("GET", "/databases", Who.USER, "`databases`", login.databases, "SHOW DATABASES"),
    )
    return tuple(starmap(_row, rows))


def _of_jobs(jobs: Jobs, events: Events) -> tuple[ApiRoute, ...]:
    of = "information_schema."
    rows: tuple[Row, ...] = (
        ("GET", "/jobs", Who.USER, "All jobs that its user sees, from the last sample", jobs.all, ""),
        (
            "GET",
            "/events",
            Who.USER,
            "The same as server-sent events: what changes",
            events.stream,
            "",
        ),
        ("GET", JOB, Who.USER, "One job, its tables, position and last 15 minutes", jobs.one, "SHOW CREATE SYNC JOB"),
        ("GET", f"{JOB}/epochs", Who.USER, "Commits, newest first; `before`, `limit`", jobs.epochs, f"{of}sync_epochs"),
        ("GET", f"{JOB}/ddl", Who.USER, "DDL, newest first; `offset`, `limit`", jobs.ddl, f"{of}sync_ddl"),
        (
            *("GET", f"{JOB}/dead_letters", Who.USER, "Changes that were kept out; `offset`, `limit`"),
            *(jobs.dead_letters, f"{of}sync_dead_letters"),
        ),
        ("GET", f"{JOB}/log", Who.ADMIN, "`lines` of `fe.log` about it, the newest last", jobs.log, ""),
        ("POST", f"{JOB}/pause", Who.USER, "Nothing", jobs.pause, "PAUSE SYNC JOB"),
        ("POST", f"{JOB}/resume", Who.USER, "Nothing", jobs.resume, "RESUME SYNC JOB"),
        ("POST", f"{JOB}/stop", Who.USER, 'Nothing; it wants {"confirm": "db.name"}', jobs.stop, "STOP SYNC JOB"),
    )
    return tuple(starmap(_row, rows))


def _of_statements(statements: Statements) -> tuple[ApiRoute, ...]:
    rows: tuple[Row, ...] = (
        (
            *("POST", "/sql", Who.USER, '`columns`, `rows`, `affected`, `second`, `more`, for {"sql", "db", "limit"}'),
            *(statements.sql, "any"),
        ),
        ("GET", "/config", Who.OPERATOR, "`settings`, secrets masked", statements.config, "SHOW FRONTEND CONFIG"),
        (
            *("PUT", "/config", Who.OPERATOR, 'Nothing, for {"setting": "value"}'),
            *(statements.set_config, "ADMIN SET FRONTEND CONFIG"),
        ),
        ("GET", "/frontends", Who.OPERATOR, "`frontends`, `now`, `disk_free`", statements.frontends, "SHOW FRONTENDS"),
    )
    return tuple(starmap(_row, rows))


def _row(method: str, path: str, who: Who, summary: str, answer: Handler, statement: str) -> ApiRoute:
    return ApiRoute(method=method, path=path, who=who, summary=summary, answer=answer, statement=statement)
