"""The threads in which blocking calls run.

Owns: bounded pools, so that long SELECTs never delay a SHOW, a slow source a USE, or a slow catalog a PAUSE; the turns
at SELECTs, at parsing long texts and at querying sources, and when such a query is given up; a lake query as a stream
of batches.
Must not know: statements, packets.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Concatenate, Final, ParamSpec, TypeVar

from syncmgr.console.limits import KiB
from syncmgr.console.memory import Share
from syncmgr.console.ports import QueriesOfAccount, Query
from syncmgr.console.single_flight import SingleFlight
from syncmgr.console.turns import Turns
from syncmgr.console.wire.lake_types import column, converted
from syncmgr.console.wire.results import Row, Rows
from syncmgr.errors import Code, SyncError
from syncmgr.sources.cancellation import Cancellation

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

LONG_TEXT: Final = 4 * KiB  # characters, which a parser may take 50 ms for
LONGER_TEXT: Final = 32 * KiB  # of these one is parsed at a time
LONG_TEXTS_AT_ONCE: Final = 2
SMALL_BATCH: Final = 256 * KiB  # as much as a connection may have on its way to its client


class Workers:
    """`threads` for the SELECTs of the lake, as many for calls to a catalog, as many for everything else; of the last
    two one account has a half.

    Of those for SELECTs one account has `queries_per_account`. `source_threads` for calls to a source, half of them for
    one account; `source_second` for each such statement.
    """

    def __init__(self, *, threads: int, queries_per_account: int, source_threads: int, source_second: float) -> None:
        own = max(1, threads // 2)  # of what one account may hold
        self._slow_turns, self._quick_turns = Turns(threads, per_key=own), Turns(threads, per_key=own)
        self._lake = ThreadPoolExecutor(threads, thread_name_prefix="console-lake")
        self._slow = ThreadPoolExecutor(threads, thread_name_prefix="console-slow")
        self._quick = ThreadPoolExecutor(threads, thread_name_prefix="console-statement")
        self._sources = ThreadPoolExecutor(source_threads, thread_name_prefix="console-source")
        self._turns_at_sources = Turns(source_threads, per_key=max(1, source_threads // 2))
        self._source_second = source_second
        self._texts = ThreadPoolExecutor(LONG_TEXTS_AT_ONCE + 1, thread_name_prefix="console-text")
        self._selects = Turns(threads, per_key=queries_per_account)
        self._long_texts, self._longer_texts = Turns(LONG_TEXTS_AT_ONCE), Turns(1)
        self.shown: SingleFlight[list[tuple[str | None, ...]]] = (
            SingleFlight()
        )  # what SHOW SYNC JOB answers, by database
        self.known: SingleFlight[None] = SingleFlight()  # whether there is such a database

    async def slow(self, asker: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls to a catalog; callers take turns."""
        return await self._slow_turns.run(asker, partial(self._slow.submit, partial(call, *args, **kwargs)))

    async def quick(self, asker: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Everything else; callers take turns."""
        return await self._quick_turns.run(asker, partial(self._quick.submit, partial(call, *args, **kwargs)))

    async def ask(self, asker: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls that wait for a source. Such a call is given up when its time is over, or when its caller no longer
        waits: then its thread ends, unless it has all answers, in which case it runs to its end.

        Callers take turns. Raises SOURCE_WAITED.
        """
        asking = Cancellation()
        begin = partial(self._sources.submit, _inside, asking, partial(call, *args, **kwargs))
        asked = asyncio.ensure_future(self._turns_at_sources.run(asker, begin))
        try:
            await asyncio.wait((asked,), timeout=self._source_second)
            if not asked.done() and asking.time_is_over():
                raise SyncError(Code.SOURCE_WAITED, second=f"{self._source_second:g}")
            return await asked
        finally:
            asking.give_up()
            asked.cancel()

    async def read(
        self, asker: str, call: Callable[Concatenate[str, P], T], text: str, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Work on a text: at once if it is short, otherwise in a thread, so that all others go on meanwhile.

        Few at a time: a parser needs memory and all of Python. Callers take turns.
        """
        if len(text) <= LONG_TEXT:
            return call(text, *args, **kwargs)
        turns = self._long_texts if len(text) <= LONGER_TEXT else self._longer_texts
        return await turns.run(asker, partial(self._texts.submit, partial(call, text, *args, **kwargs)))

    def cancel(self, query: Query) -> None:
        """Without waiting: a KILL is answered at once."""
        self._quick.submit(query.cancel).add_done_callback(_log_failure)

    async def query(
        self, asker: str, queries: QueriesOfAccount, share: Share, *, sql: str, db: str | None, tag: str, time_zone: str
    ) -> Rows:
        """Start a SELECT, in the caller's turn; each batch of its rows is also computed in one of the caller's turns,
        and held in `share`.

        If it is interrupted before it has started, it is cancelled as soon as it has begun to.
        """
        start = partial(self._lake.submit, queries.query, sql, db, tag, time_zone=time_zone)
        started = await self._selects.begun(asker, start)
        try:
            query = await asyncio.wrap_future(started)
        except asyncio.CancelledError:
            self._quick.submit(queries.cancel, tag).add_done_callback(_log_failure)
            started.add_done_callback(self._cancel_late)
            raise
        try:
            columns = tuple(column(name, kind, nullable=nullable) for name, kind, nullable in query.columns)
        except BaseException:
            self.cancel(query)
            raise
        return Rows(columns=columns, batches=self._batches(asker, query, share))

    def _cancel_late(self, started: Future[Query]) -> None:
        if not started.cancelled() and started.exception() is None:
            self.cancel(started.result())

    async def _batches(self, asker: str, query: Query, share: Share) -> AsyncGenerator[Iterable[Row], None]:
        """There is always room for small ones. Raises MEMORY_FULL."""
        kinds = [kind for _, kind, _ in query.columns]
        batches = query.batches()
        finished, held = False, 0
        try:
            while (batch := await self._next(asker, batches)) is not None:
                share.give_back(held)
                held = 0
                if query.held > SMALL_BATCH:
                    share.hold_rows(query.held)
                    held = query.held
                yield converted(batch, kinds)
            finished = True
        finally:
            share.give_back(held)
            if not finished:
                self.cancel(query)

    async def _next(self, asker: str, batches: Iterator[Sequence[Row]]) -> Sequence[Row] | None:
        return await self._selects.run(asker, partial(self._lake.submit, next, batches, None))

    def close(self) -> None:
        for pool in (self._lake, self._slow, self._quick, self._sources, self._texts):
            pool.shutdown(wait=False, cancel_futures=True)


def _inside(asking: Cancellation, call: Callable[[], T]) -> T:
    with asking.here():
        return call()


def _log_failure(done: Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.warning("a query could not be cancelled: %s", error)
