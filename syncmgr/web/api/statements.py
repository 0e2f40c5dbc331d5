"""SQL over HTTP, and what operators set and see of the frontend.

Owns: which statement each route runs, and the shape of its answer.
Must not know: rights: each statement has those of its user.
"""

import asyncio
import time
from typing import Any, Final

from starlette.responses import Response

from syncmgr.console.calls import Answer
from syncmgr.web.answers import Refusal, cell, json_response
from syncmgr.web.api.overview import frontend_facts
from syncmgr.web.asked import MOST_ROWS, Asked
from syncmgr.web.ports import Samples
from syncsql import AdminSetFrontendConfig, Property

USUAL_ROWS: Final = 1000
MOST_SETTINGS: Final = 1000


class Statements:
    """Of all users."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    async def sql(self, asked: Asked) -> Response:
        """A client that goes away ends its statement."""
        body = await asked.body()
        sql, db, limit = body.get("sql"), body.get("db"), body.get("limit", USUAL_ROWS)
        if not isinstance(sql, str) or not isinstance(db, str | None) or type(limit) is not int:
            raise Refusal(400, 'The body is {"sql": "...", "db": "...", "limit": 1000}')
        begun = time.monotonic()
        answer = await _while_connected(asked, sql, db or None, min(max(limit, 0), MOST_ROWS))
        columns = [{"name": each.name, "type": each.type.name.lower()} for each in answer.columns]
        rows = [[cell(value) for value in row] for row in answer.rows]
        second = round(time.monotonic() - begun, 6)
        return json_response(
            {"columns": columns, "rows": rows, "affected": answer.affected, "second": second, "more": answer.more}
        )

    async def config(self, asked: Asked) -> Response:
        return json_response({"settings": _objects(await asked.run("SHOW FRONTEND CONFIG", most_rows=MOST_SETTINGS))})

    async def set_config(self, asked: Asked) -> Response:
        body = await asked.body()
        if not body or not all(isinstance(value, str | int | float) for value in body.values()):
            raise Refusal(400, 'The body is {"name of a setting": "value", ...}')
        settings = tuple(Property(key=key, value=str(value)) for key, value in body.items())
        await asked.run(AdminSetFrontendConfig(settings=settings).sql())
        return json_response({})

    async def frontends(self, asked: Asked) -> Response:
        rows = _objects(await asked.run("SHOW FRONTENDS"))
        sample = self._samples.last()
        disks = {} if sample is None else dict(sample.disk_free)
        return json_response({"frontends": rows, "now": frontend_facts(sample), "disk_free": disks})


async def _while_connected(asked: Asked, sql: str, db: str | None, most_rows: int) -> Answer:
    running = asyncio.ensure_future(asked.run(sql, db=db, most_rows=most_rows))
    gone = asyncio.ensure_future(asked.request.receive())  # there is no more of the request: its client leaves
    try:
        await asyncio.wait({running, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
        if running.cancelled():
            raise Refusal(400, "The client has gone away")
        return running.result()
    finally:
        gone.cancel()
        running.cancel()


def _objects(answer: Answer) -> list[dict[str, Any]]:
    names = [column.name for column in answer.columns]
    return [{name: cell(value) for name, value in zip(names, row, strict=True)} for row in answer.rows]
