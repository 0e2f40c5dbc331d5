"""The check of one table, from its first chunk to its verdict.

Owns: which question follows which answer, and how often a key is looked at.
Must not know: how answers are made comparable, statements, what is stored.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Protocol, TypeVar

from syncmgr.control.checking.bracket import AlteredError, Bracket, UnsteadyError
from syncmgr.control.checking.record import CheckedTable, CheckState
from syncmgr.errors import Code, SyncError
from syncmgr.job.check.check_options import CheckOptions
from syncmgr.job.check.compared_table import KEYS_AT_ONCE, ComparedTable, Rows
from syncmgr.job.check.verdict import Found, Judged, Key, Kind, Texts, Touched, by_key, differing_parts, judged, lots
from syncmgr.job.types.schema import SourceColumn

MOST_BEGINNINGS: Final = 10  # of a table that is altered again and again
RETRY_SECOND: Final = 0.5
HASHES: Final = 1 << 64
MOST_HASHES: Final = 200_000  # that are held at once of each side
NO_SUM: Final = 0, 0
PASSING: Final = frozenset({Code.SOURCE_UNREACHABLE, Code.SOURCE_LOCKED, Code.QUERIES_ENDED, Code.LAKE_STARTING})

T = TypeVar("T")
Sums = dict[int, tuple[int, int]]


class OwnQueries(Protocol):
    """SELECTs of ours in the lake."""

    def own(self, sql: str, tag: str) -> list[tuple[object, ...]]: ...
    def cancel(self, tag: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspects:
    """The only keys of a table that are compared. `key`: the columns whose values they are. `read`: raises
    UnsteadyError until they are read again.
    """

    keys: tuple[Key, ...]
    key: tuple[SourceColumn, ...]
    read: Callable[[], None]


class TableCheck:
    """One thread. `described`: the table as it is now; `bracket`: of that table. `patience_second`: with a job that
    does not run, or a table that is behind. `suspects`: None: all keys.
    """

    def __init__(
        self,
        record: CheckedTable,
        options: CheckOptions,
        described: Callable[[], ComparedTable],
        bracket: Callable[[ComparedTable], Bracket],
        lake: Callable[[str], list[tuple[Any, ...]]],
        stopped: threading.Event,
        *,
        patience_second: float,
        suspects: Suspects | None = None,
    ) -> None:
        self._record, self._options = record, options
        self._described, self._new_bracket, self._lake = described, bracket, lake
        self._stopped, self._patience_second, self._suspects = stopped, patience_second, suspects

    def run(self) -> None:
        """To its end; what ends it is in the record."""
        try:
            self._begin_until_done()
        except SyncError as error:
            stopped = self._stopped.is_set()
            state = CheckState.STOPPED if stopped else CheckState.FAILED
            self._record.ends(state, None if stopped else str(error))

    def _begin_until_done(self) -> None:
        for _ in range(MOST_BEGINNINGS):
            try:
                self._check(self._described())
            except AlteredError:
                continue
            self._record.ends(CheckState.DONE)
            return
        reason = f"statements have changed it {MOST_BEGINNINGS} times meanwhile"
        raise SyncError(Code.CHECK_BROKEN, table=self._record.channel.source.label, reason=reason)

    def _check(self, table: ComparedTable) -> None:
        self._record.begins(table)
        bracket = self._new_bracket(table)
        if self._suspects is not None:
            self._look_again(table, bracket, self._suspects)
            return
        chunks = self._chunks(table, bracket)
        figures = self._record.figures
        figures.chunks = len(chunks)
        for rows in chunks:
            self._compare(table, bracket, rows)
            figures.chunks_done += 1

    def _look_again(self, table: ComparedTable, bracket: Bracket, suspects: Suspects) -> None:
        if table.key_sources != suspects.key:
            raise SyncError(Code.CHECK_BROKEN, table=table.channel.source.label, reason="its key has changed")
        figures = self._record.figures
        figures.estimated, figures.chunks = len(suspects.keys), 1
        self._patiently(suspects.read)
        self._settle(table, bracket, suspects.keys)
        figures.chunks_done = 1

    def _compare(self, table: ComparedTable, bracket: Bracket, rows: Rows) -> None:
        begun, question, figures = time.monotonic(), table.sums(rows), self._record.figures
        there, here, _ = self._asked(
            bracket,
            lambda: _sums(bracket.server.ask(question.source)),
            lambda: _sums(self._lake(question.lake)),
        )
        figures.source, figures.target = figures.source + _count(there), figures.target + _count(here)
        parts = differing_parts(there, here)
        sizes = {part: max(there.get(part, NO_SUM)[0], here.get(part, NO_SUM)[0]) for part in parts}
        for lot in lots(parts, sizes, MOST_HASHES):
            self._narrow(table, bracket, rows, lot)
        self._rest(_count(there), time.monotonic() - begun)

    def _chunks(self, table: ComparedTable, bracket: Bracket) -> list[Rows]:
        if table.ranges_by is None:
            return [table.all_rows]
        bounds, self._record.figures.estimated = self._patiently(
            lambda: bracket.server.bounds(table.channel, self._options.chunk_rows)
        )
        ends = [None, *bounds, None]
        return [table.between(low, high) for low, high in pairwise(ends)]

    def _narrow(self, table: ComparedTable, bracket: Bracket, rows: Rows, parts: Collection[int]) -> None:
        """What is found by hashes is looked at again by its values; what is beyond the number of rows to be shown,
        and was not on its way, is only counted.
        """
        question, keys = table.hashes(rows, parts), len(table.keys)
        there, here, touched = self._asked(
            bracket,
            lambda: _hashed(bracket.server.ask(question.source), keys),
            lambda: _hashed(self._lake(question.lake), keys),
        )
        seen = judged(by_key(there), by_key(here), touched)
        room = max(self._options.keep_rows - len(self._record.found), 0)
        for found in seen.different[room:]:
            self._record.finds(replace(found, source=None, target=None, columns=()), self._options.keep_rows)
        self._settle(table, bracket, [found.key for found in (*seen.different[:room], *seen.moving)])

    def _settle(self, table: ComparedTable, bracket: Bracket, suspects: Sequence[Key]) -> None:
        moving: tuple[Found, ...] = ()
        for number in range(1, self._options.rounds + 1):
            if not suspects:
                break
            self._record.figures.round = max(self._record.figures.round, number)
            seen = self._looked_at(table, bracket, suspects)
            for found in seen.different:
                self._record.finds(found, self._options.keep_rows)
            moving, suspects = seen.moving, [found.key for found in seen.moving]
        for found in moving if suspects else ():
            self._record.finds(replace(found, kind=Kind.UNSETTLED), self._options.keep_rows)

    def _looked_at(self, table: ComparedTable, bracket: Bracket, suspects: Sequence[Key]) -> Judged:
        """By their values, all in one bracket."""
        lots = [suspects[at : at + KEYS_AT_ONCE] for at in range(0, len(suspects), KEYS_AT_ONCE)]
        questions = [table.texts(table.of_keys(lot)) for lot in lots]
        wanted, keys = frozenset(suspects), len(table.keys)

        def rows(ask: Callable[[str], list[tuple[Any, ...]]], texts: Iterable[str]) -> dict[Key, list[Texts]]:
            told = (_texts(row) for text in texts for row in ask(text))
            return by_key((key, row) for row in told if (key := _key(row[:keys])) in wanted)

        there, here, touched = self._asked(
            bracket,
            lambda: rows(bracket.server.ask, (each.source for each in questions)),
            lambda: rows(self._lake, (each.lake for each in questions)),
        )
        if self._suspects is not None and not self._record.figures.source:
            self._record.figures.source, self._record.figures.target = _rows(there), _rows(here)
        return judged(there, here, touched)

    def _asked(self, bracket: Bracket, there: Callable[[], T], here: Callable[[], T]) -> tuple[T, T, Touched]:
        return self._patiently(lambda: bracket.ask(there, here))

    def _patiently(self, step: Callable[[], T]) -> T:
        """Until the table is steady, and the server answers."""
        deadline = time.monotonic() + self._patience_second
        while True:
            try:
                answer = step()
            except UnsteadyError as unsteady:
                reason = str(unsteady)
            except SyncError as error:
                if error.code not in PASSING:
                    raise
                reason = str(error)
            else:
                self._record.state, self._record.reason = CheckState.RUNNING, None
                return answer
            self._record.state, self._record.reason = CheckState.WAITING, reason
            if time.monotonic() > deadline:
                raise SyncError(Code.CHECK_BROKEN, table=self._record.channel.source.label, reason=reason)
            if self._stopped.wait(RETRY_SECOND):
                raise SyncError(Code.INTERRUPTED)

    def _rest(self, rows: int, took: float) -> None:
        most = self._options.max_rows_per_second
        if most and self._stopped.wait(max(rows / most - took, 0.0)):
            raise SyncError(Code.INTERRUPTED)


def _sums(rows: Iterable[tuple[Any, ...]]) -> Sums:
    """Spark has no unsigned numbers."""
    return {int(part): (int(count), int(total) % HASHES) for part, count, total in rows}


def _count(sums: Sums) -> int:
    return sum(count for count, _ in sums.values())


def _rows(found: Mapping[Key, Sequence[Texts]]) -> int:
    return sum(map(len, found.values()))


def _hashed(rows: Iterable[tuple[Any, ...]], keys: int) -> list[tuple[Key, Texts]]:
    return [(_key(_texts(row[:keys])), (str(int(row[keys]) % HASHES),)) for row in rows]


def _texts(row: Sequence[Any]) -> Texts:
    """The server's driver gives texts of its own functions as bytes in places."""
    return tuple(cell.decode() if isinstance(cell, bytes) else cell for cell in row)


def _key(texts: Texts) -> Key:
    assert all(text is not None for text in texts), "a key is never NULL"
    return tuple(text for text in texts if text is not None)
