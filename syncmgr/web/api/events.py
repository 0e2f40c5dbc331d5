"""The overview as a stream: server-sent events.

Owns: what each event has, how many streams there are, when one ends.
Must not know: who measures, how slow clients are dropped.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from syncmgr.web.answers import Refusal
from syncmgr.web.api.overview import frontend_facts, jobs_of
from syncmgr.web.api.recent import Recent
from syncmgr.web.asked import Asked
from syncmgr.web.ports import Samples

LOOK_SECOND: Final = 0.5  # between two looks at the last sample
QUIET_SECOND: Final = 15.0
RETRY_MS: Final = 2000  # until a browser connects anew
LIFE_SECOND: Final = 600.0  # then the browser connects anew, and shows that it is still logged in


class Events:
    """Each stream looks at the last sample: none causes a question, and a slow one skips samples."""

    def __init__(self, samples: Samples, recent: Recent, most_streams: int) -> None:
        self._samples, self._recent, self._most = samples, recent, most_streams
        self.open = 0

    async def stream(self, asked: Asked) -> Response:
        """Raises Refusal."""
        if self.open >= self._most:
            raise Refusal(503, "As many pages are open as http_streams in fe.conf permits")
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._counted(asked), headers=headers, media_type="text/event-stream")

    async def _counted(self, asked: Asked) -> AsyncGenerator[str, None]:
        if self.open >= self._most:
            return
        self.open += 1
        try:
            async for each in self._events(asked):
                yield each
        finally:
            self.open -= 1

    async def _events(self, asked: Asked) -> AsyncGenerator[str, None]:
        yield f"retry: {RETRY_MS}\n\n"
        ends, sent_at, at = time.monotonic() + LIFE_SECOND, 0.0, 0.0
        known = dict[int, dict[str, Any]]()
        while time.monotonic() < ends and asked.is_still_in():
            sample = self._samples.last()
            if sample is not None and sample.at != at:
                at, sent_at = sample.at, time.monotonic()
                jobs = {each["id"]: each for each in jobs_of(sample, asked.rights, self._recent)}
                changed = [each for job_id, each in jobs.items() if known.get(job_id) != each]
                gone = [job_id for job_id in known if job_id not in jobs]
                known = jobs
                facts = {"at": at, "frontend": frontend_facts(sample), "jobs": changed, "gone": gone}
                yield f"event: jobs\nid: {at}\ndata: {json.dumps(facts, separators=(',', ':'))}\n\n"
            elif time.monotonic() - sent_at > QUIET_SECOND:
                sent_at = time.monotonic()
                yield ":\n\n"
            await asyncio.sleep(LOOK_SECOND)
