"""How each table of a job stands: one state, with its reason.

Owns: the states of a channel and which event leads from which to which, what becomes of rows in each, what SHOW says.
Must not know: clocks, threads, stores, who reads or commits. Times are unix seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.failure import JobKind, advice, needs_person


class ChannelState(StrEnum):
    """Where a table stands."""

    SNAPSHOT = "SNAPSHOT"  # its rows are being read, and its changes wait for them
    STREAMING = "STREAMING"  # its changes are committed as they come
    BEHIND = "BEHIND"  # changes wait: a commit has failed and is tried again, or what has waited goes in
    STOPPED = "STOPPED"  # it is not read any more, until RESYNC


class ChannelEvent(StrEnum):
    """What can happen to a table while its job runs."""

    BEGUN = "BEGUN"  # its rows are to be read, perhaps once more
    READ = "READ"  # they are all there
    WAITED = "WAITED"  # a change waits for it while the other tables go on
    FAILED = "FAILED"  # its commit, or its reading, has failed alone, and is tried again
    MOVED = "MOVED"  # what waited longest has gone in
    CAUGHT_UP = "CAUGHT_UP"  # nothing waits any more: it follows from READ and MOVED
    STOPPED = "STOPPED"  # it cannot be read on


_N, _S, _B, _X = ChannelState
_E = ChannelEvent

# What a stopped table has staged before goes on being committed, which changes nothing of its state.
CHANNEL_TRANSITIONS: Final[Mapping[ChannelState, Mapping[ChannelEvent, ChannelState]]] = MappingProxyType(
    {
        _N: dict.fromkeys(_E, _N) | {_E.READ: _B, _E.STOPPED: _X},
        _S: dict.fromkeys(_E, _S) | {_E.BEGUN: _N, _E.WAITED: _B, _E.FAILED: _B, _E.STOPPED: _X},
        _B: dict.fromkeys(_E, _B) | {_E.BEGUN: _N, _E.CAUGHT_UP: _S, _E.STOPPED: _X},
        _X: dict.fromkeys(_E, _X) | {_E.BEGUN: _N},
    }
)


ALTERED: Final = "altered"  # in the context of SNAPSHOT_BROKEN: columns are not what they were
GONE: Final = "gone"  # the same: the table is not seen under its name


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Why a table is not read any more. `error`: its number; 0: of a job of an earlier version, which kept none.

    `since`: when it stopped. `synced_until`: up to where of the source's time its target has all. None: not known.
    """

    reason: str
    error: int = 0
    since: float | None = None
    synced_until: float | None = None

    @property
    def advice(self) -> str:
        """What an operator does about it."""
        return next((text for code, text in STOP_ADVICE.items() if code.number == self.error), BACK)


BACK: Final = "ALTER SYNC JOB ... RESYNC TABLE brings it back, DROP TABLE leaves it out of the job."
STOP_ADVICE: Final[Mapping[Code, str]] = {
    Code.SOURCE_DDL: "Unless the reason says otherwise, " + BACK,
    Code.SOURCE_ROW_IMAGE: "Set binlog_row_image to FULL on the server, and in the session that wrote the rows. "
    + BACK,
    Code.SOURCE_UNSUPPORTED: "Turn off at the server, and in the session that wrote it, what the message names. "
    + BACK,
    Code.SOURCE_VALUE: (
        'ALTER SYNC JOB ... SET ("on_value_error" = "dead-letter") or "null", or fix the row at the source. ' + BACK
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """How the rows of a table are being read. `exact`: at a point of their own, as those without a key are.

    `replaces`: they take the place of what the target has, `reshapes`: and bring other columns. `begun`: some may have
    been read by now.
    """

    exact: bool = False
    replaces: bool = False
    reshapes: bool = False
    begun: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a table stands. `since`: in that state, None: not known, or it is STREAMING. `error`: why it does not go on.

    `rows`: those that are being read, None: all are there. `waits`: source time of its oldest change that waits, None:
    none does. `stop`: why it is STOPPED.
    """

    state: ChannelState = ChannelState.STREAMING
    since: float | None = None
    error: SyncError | None = None
    rows: Rows | None = None
    waits: float | None = None
    stop: Stop | None = None


def resting(
    *, stop: Stop | None, rows: Rows | None = None, begun_at: float | None = None, waits: float | None = None
) -> Standing:
    """As what is stored of a table says, before anything is tried. `begun_at`: when its rows began to be read."""
    if stop is not None:
        return Standing(state=_X, since=stop.since, stop=stop, rows=rows, waits=waits)
    if rows is not None:
        return Standing(state=_N, since=begun_at, rows=rows, waits=waits)
    return Standing() if waits is None else Standing(state=_B, since=waits, waits=waits)


def begun(standing: Standing, rows: Rows, *, at: float) -> Standing:
    """Its rows are to be read, perhaps once more."""
    return replace(_on(standing, _E.BEGUN, at), since=at, rows=rows, error=None, stop=None)


def bringing(standing: Standing, *, begun: bool) -> Standing:
    """Its rows are being read from here on; or, where they are to be read from the beginning, not yet. What a commit
    failed for before is mended by rows that replace all there is.
    """
    rows = standing.rows
    if rows is None:
        return standing
    begins = begun and not rows.begun and rows.replaces
    return replace(standing, rows=replace(rows, begun=begun), error=None if begins else standing.error)


def mended(standing: Standing) -> Standing:
    """What its reading failed for has passed."""
    return standing if standing.rows is None else replace(standing, error=None)


def read(standing: Standing, *, at: float) -> Standing:
    """Its rows are all there."""
    return _caught_up(replace(_on(standing, _E.READ, at), rows=None, error=None), at)


def waited(standing: Standing, since: float) -> Standing:
    """A change waits for it; `since`: the source time of that one."""
    oldest = since if standing.waits is None else standing.waits
    return replace(_on(standing, _E.WAITED, oldest), waits=oldest)


def outdated(standing: Standing) -> bool:
    """Whether a failed commit says nothing any more: rows that are being read replace what it was to change."""
    return standing.rows is not None and standing.rows.begun and standing.rows.replaces


def failed(standing: Standing, error: SyncError, *, at: float) -> Standing:
    """Its commit, or its reading, has failed alone."""
    return replace(_on(standing, _E.FAILED, at), error=error)


def moved(standing: Standing, waits: float | None, *, at: float) -> Standing:
    """What waited longest has gone in; `waits`: source time of the next one."""
    return _caught_up(replace(_on(standing, _E.MOVED, at), waits=waits, error=None), at)


def stopped(standing: Standing, stop: Stop, *, at: float) -> Standing:
    """It cannot be read on."""
    return replace(_on(standing, _E.STOPPED, at), stop=stop, error=None)


def _caught_up(standing: Standing, at: float) -> Standing:
    return standing if standing.waits is not None else _on(standing, _E.CAUGHT_UP, at)


def _on(standing: Standing, event: ChannelEvent, at: float) -> Standing:
    state = CHANNEL_TRANSITIONS[standing.state][event]
    return standing if state is standing.state else replace(standing, state=state, since=None if state is _S else at)


class Verdict(StrEnum):
    """What becomes of a table's changes."""

    COMMIT = "COMMIT"
    WAIT = "WAIT"
    OMIT = "OMIT"  # they are not wanted: they come with rows that are read later


def verdict(standing: Standing, *, staged: bool, skipped: bool = False) -> Verdict:
    """`staged`: the changes were read already, maybe before the table came to stand so. `skipped`: they are from before
    the place at which the table begins, so that its target only bears their epoch.

    What is staged may go before rows that replace it, as long as none of these is read; to a target that has yet to get
    its columns only what changes nothing of it.
    """
    if not staged and (standing.state is _X or (standing.rows is not None and standing.rows.exact)):
        return Verdict.OMIT
    return Verdict.WAIT if held(standing, skipped=skipped) or standing.waits is not None else Verdict.COMMIT


def held(standing: Standing, *, skipped: bool) -> bool:
    """Whether staged changes wait for rows, be they the oldest that wait. `skipped`: as of the verdict."""
    rows = standing.rows
    if rows is None:
        return False
    return rows.begun or not rows.replaces or (rows.reshapes and not skipped)


def obstacle(standing: Standing, table: str) -> SyncError | None:
    """Why changes of a table, by its label, do not go in. That rows cannot be read once more, or of a table that was
    altered, stops nothing: the statement that mends it may be still to come.
    """
    rows, error = standing.rows, standing.error
    opened = SyncError(Code.SNAPSHOT_OPEN, table=table)
    if rows is None:
        return error
    if rows.replaces and not rows.begun:
        return error or (opened if rows.reshapes else None)
    return opened if error is None or rows.replaces or is_altered(error) else error


def comes(standing: Standing) -> bool:
    """Whether rows for which changes wait come by themselves; else a statement that is still to be read brings them, or
    RESYNC, and it helps nobody to wait for them.
    """
    if standing.rows is None:
        return True
    return standing.state is not _X and not (standing.error is not None and is_altered(standing.error))


def is_altered(error: SyncError) -> bool:
    """Whether it says that a table is not what it was."""
    return bool(error.context.get(ALTERED))


def may_be_followed(error: SyncError) -> bool:
    """Whether a statement that is still to be read has led to it, or may have."""
    return is_altered(error) or bool(error.context.get(GONE))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What SHOW says of a table. `error`: a number. `since`: of one that is BEHIND the time of the oldest change that
    waits, by the source's clock.
    """

    state: ChannelState
    since: float | None = None
    error: int | None = None
    reason: str | None = None
    advice: str | None = None

    @property
    def needs_operator(self) -> bool:
        """Whether it passes by no time alone."""
        return self.state is _X or (self.error is not None and needs_person(self.error))


READING: Final = "its rows are being read"
UNREAD: Final = "its rows are not all read yet"  # of a job that is paused or has ended, so that nobody reads them
WAITING: Final = "changes wait for their commit"
CATCHING_UP: Final = "its rows are there, and changes from the time in which they were read follow"


def shown(standing: Standing, kind: JobKind, *, reads: bool = True, whole: bool = True) -> Shown:
    """`kind`: of its job and the table. `reads`: the job does. `whole`: changes up to the end of the last reading of
    its rows are in.
    """
    stop, error = standing.stop, standing.error
    if stop is not None:
        return Shown(state=_X, since=stop.since, error=stop.error or None, reason=stop.reason, advice=stop.advice)
    state = _B if standing.state is _S and not whole else standing.state
    since = standing.waits if state is _B else standing.since
    if error is not None:
        number = error.code.number
        return Shown(state=state, since=since, error=number, reason=str(error), advice=advice(number, kind))
    reasons = {_N: READING if reads else UNREAD, _B: WAITING if standing.waits is not None else CATCHING_UP}
    return Shown(state=state, since=since, reason=reasons.get(state))
