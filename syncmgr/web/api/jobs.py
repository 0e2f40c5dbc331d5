"""One job, and what can be done to it.

Owns: which statement each route runs, and the shape of its answer.
Must not know: rights: each statement has those of its user.
"""

import asyncio
import datetime as dt
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from starlette.responses import Response

from syncmgr.console.calls import Answer
from syncmgr.errors import Code, SyncError
from syncmgr.job.metrics.sample import JobSample
from syncmgr.web.answers import Refusal, cell, json_response
from syncmgr.web.api.logs import lines_of
from syncmgr.web.api.overview import frontend_facts, job_facts, jobs_of, may_read_rows, seen, spark_lines
from syncmgr.web.api.recent import Recent
from syncmgr.web.asked import Asked
from syncmgr.web.ports import Samples
from syncsql import Name

PAGE: Final = 50
MOST: Final = 500
MOST_TABLES: Final = 5000
CHANNELS: Final = (
    "SOURCE_SCHEMA, SOURCE_TABLE, TARGET_SCHEMA, TARGET_TABLE, WHERE_CONDITION, LAST_EPOCH, STATE, SINCE, ERROR, "
    "REASON, ADVICE"
)
SNAPSHOTS: Final = (
    "SOURCE_SCHEMA, SOURCE_TABLE, TARGET_SCHEMA, TARGET_TABLE, PHASE, ROWS_DONE, ROWS_ESTIMATED, CHUNKS, CHUNKS_DONE, "
    "LEFT_SECOND, REASON"
)
EPOCHS: Final = "EPOCH, STATE, CHANGE_ROWS, STAGED_BYTES, SOURCE_TIME, COMMIT_TIME"
DDL: Final = "TABLE_NAME, DDL_TIME, STATE, OUTCOME, STATEMENT"
DEAD: Final = (
    "EPOCH, SOURCE_SCHEMA, SOURCE_TABLE, TARGET_SCHEMA, TARGET_TABLE, CHANGE_TYPE, COLUMN_NAME, COLUMN_VALUE, REASON, "
    "SOURCE_ROW"
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")


class Jobs:
    """Of all users. Figures come from the last sample; what is only read of one job at a time, from its statements."""

    def __init__(self, samples: Samples, recent: Recent, log_file: Path) -> None:
        self._samples, self._recent, self._log_file = samples, recent, log_file

    async def all(self, asked: Asked) -> Response:
        sample = self._samples.last()
        jobs = jobs_of(sample, asked.rights, self._recent)
        for facts, each in zip(jobs, seen(sample, asked.rights), strict=False):
            facts["spark"] = spark_lines(each, self._recent)
        return json_response({"at": sample and sample.at, "frontend": frontend_facts(sample), "jobs": jobs})

    async def one(self, asked: Asked) -> Response:
        job = self._found(asked)
        shown = await asked.run(f"SHOW CREATE SYNC JOB {_name(asked).sql()}")
        position = job.figures.position
        facts = {
            "statement": shown.rows[0][1],
            "position": None
            if position is None
            else {"gtids": position.gtids, "file": position.file, "offset": position.offset},
            "prepared_xa": job.figures.prepared,
            "reads_rows": may_read_rows(job, asked.rights),
            "tables": await self._rows(asked, job, "sync_channels", CHANNELS),
            "snapshots": await self._rows(asked, job, "sync_snapshots", SNAPSHOTS),
            "history": [list(point) for point in self._recent.points(job.id)],
        }
        return json_response(job_facts(job, asked.rights, self._recent) | facts)

    async def _rows(self, asked: Asked, job: JobSample, name: str, columns: str) -> list[dict[str, Any]]:
        query = f"SELECT {columns} FROM information_schema.{name} WHERE JOB_ID = {job.id}"  # noqa: S608 - no text of others
        return as_objects(await asked.run(query, most_rows=MOST_TABLES))

    async def epochs(self, asked: Asked) -> Response:
        before = _number(asked, "before", 0)
        more = f" AND EPOCH < {before}" if before else ""
        return await self._page(asked, "sync_epochs", EPOCHS, f"{more} ORDER BY EPOCH DESC")

    async def ddl(self, asked: Asked) -> Response:
        return await self._page(asked, "sync_ddl", DDL, " ORDER BY DDL_TIME DESC", offset=_number(asked, "offset", 0))

    async def dead_letters(self, asked: Asked) -> Response:
        offset = _number(asked, "offset", 0)
        return await self._page(asked, "sync_dead_letters", DEAD, " ORDER BY EPOCH DESC", offset=offset)

    async def _page(self, asked: Asked, name: str, columns: str, rest: str, *, offset: int = 0) -> Response:
        job, limit = self._found(asked), min(_number(asked, "limit", PAGE), MOST)
        query = (
            f"SELECT {columns} FROM information_schema.{name} WHERE JOB_ID = {job.id}{rest} "  # noqa: S608 - the same
            f"LIMIT {limit + 1} OFFSET {offset}"
        )
        answer = await asked.run(query, most_rows=limit)
        return json_response({"rows": as_objects(answer), "more": answer.more})

    async def log(self, asked: Asked) -> Response:
        """For those who see all jobs and all rows: a line may quote any of them."""
        job = self._found(asked)
        return json_response({"lines": await asyncio.to_thread(lines_of, self._log_file, f"{job.db}.{job.name}")})

    async def pause(self, asked: Asked) -> Response:
        return await _change(asked, "PAUSE")

    async def resume(self, asked: Asked) -> Response:
        return await _change(asked, "RESUME")

    async def stop(self, asked: Asked) -> Response:
        name, body = _name(asked), await asked.body()
        if body.get("confirm") != f"{name.db}.{name.name}":
            raise Refusal(400, 'STOP ends a job for good: the body is {"confirm": "db.name"} with its name')
        return await _change(asked, "STOP")

    def _found(self, asked: Asked) -> JobSample:
        """One that its user does not see is not there. Raises UNKNOWN_JOB."""
        name = _name(asked)
        for each in seen(self._samples.last(), asked.rights):
            if (each.db, each.name) == (name.db, name.name):
                return each
        raise SyncError(Code.UNKNOWN_JOB, job=name.name, db=name.db)


async def _change(asked: Asked, verb: str) -> Response:
    await asked.run(f"{verb} SYNC JOB {_name(asked).sql()}")
    return json_response({})


def _name(asked: Asked) -> Name:
    given = asked.request.path_params
    return Name(db=unquote(given["db"]), name=unquote(given["name"]))


def _number(asked: Asked, name: str, default: int) -> int:
    """Raises Refusal."""
    given = asked.request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdigit()) or len(given) > 18:
        raise Refusal(400, f"{name} is a number")
    return int(given)


def as_objects(answer: Answer) -> list[dict[str, Any]]:
    """Rows by the names of their columns in lower case; times are unix seconds."""
    names = [column.name.lower() for column in answer.columns]
    reads = [_unix if name.endswith(("_time", "since")) else cell for name in names]
    return [{name: read(value) for name, read, value in zip(names, reads, row, strict=True)} for row in answer.rows]


def _unix(value: object) -> object:
    """Texts of information_schema are UTC without a zone."""
    text = value.isoformat(" ") if isinstance(value, dt.datetime) else value
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        return cell(value)
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()
