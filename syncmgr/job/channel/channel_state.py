"""The state of each table of a job, with its reason.

Owns: the states of a channel and which event leads from which to which, what happens to rows in each, what SHOW says.
Must not know: clocks, threads, stores, who reads or commits. Times are unix seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.failure import advice, needs_person


class ChannelState(StrEnum):
    """The state of a table."""

    SNAPSHOT = "SNAPSHOT"  # its rows are being read, and its changes wait for them
    STREAMING = "STREAMING"  # its changes are committed as they come
    BEHIND = "BEHIND"  # changes wait: a commit has failed and is retried, or the waiting changes are being committed
    STOPPED = "STOPPED"  # no longer read, until RESYNC


class ChannelEvent(StrEnum):
    """What can happen to a table while its job runs."""

    BEGUN = "BEGUN"  # its rows are to be read, perhaps again
    READ = "READ"  # all its rows are in the target
    WAITED = "WAITED"  # a change waits for it while the other tables go on
    FAILED = "FAILED"  # its own commit or read has failed, and is retried
    MOVED = "MOVED"  # the oldest waiting change is committed
    CAUGHT_UP = "CAUGHT_UP"  # nothing waits any more: it follows from READ and MOVED
    STOPPED = "STOPPED"  # it cannot be read further


_N, _S, _B, _X = ChannelState
_E = ChannelEvent

# What a table staged before it stopped is still committed, without changing its state.
CHANNEL_TRANSITIONS: Final[Mapping[ChannelState, Mapping[ChannelEvent, ChannelState]]] = MappingProxyType(
    {
        _N: dict.fromkeys(_E, _N) | {_E.READ: _B, _E.STOPPED: _X},
        _S: dict.fromkeys(_E, _S) | {_E.BEGUN: _N, _E.WAITED: _B, _E.FAILED: _B, _E.STOPPED: _X},
        _B: dict.fromkeys(_E, _B) | {_E.BEGUN: _N, _E.CAUGHT_UP: _S, _E.STOPPED: _X},
        _X: dict.fromkeys(_E, _X) | {_E.BEGUN: _N},
    }
)


ALTERED: Final = "altered"  # in the context of SNAPSHOT_BROKEN: the columns have changed
GONE: Final = "gone"  # the same: no table is visible under its name
HEALS: Final = "heals"  # in the context of any: it passes with time alone, though others of its number do not


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Why a table is no longer read. `error`: its number; 0: the job is from an earlier version, which stored none.

    `since`: when it stopped. `synced_until`: the source time up to which its target is complete. None: not known.
    """

    reason: str
    error: int = 0
    since: float | None = None
    synced_until: float | None = None

    def advised(self, kind: JobKind) -> str:
        """What an operator can do about it. The only table of a job cannot leave it."""
        remedy = next((text for code, text in STOP_ADVICE.items() if code.number == self.error), BACK)
        return remedy if kind.has_others else remedy.replace(_LEAVES, "")


_LEAVES: Final = ", DROP TABLE leaves it out of the job"
BACK: Final = f"ALTER SYNC JOB ... RESYNC TABLE brings it back{_LEAVES}."
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
    """How the rows of a table are being read. `exact`: at a point of their own, as tables without a key are read.

    `replaces`: they replace what the target has, `reshapes`: and bring other columns. `begun`: some may already have
    been read.
    """

    exact: bool = False
    replaces: bool = False
    reshapes: bool = False
    begun: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The state of a table. `since`: when it entered that state, None: not known, or it is STREAMING. `error`: why it
    makes no progress.

    `rows`: how they are being read, None: all are in the target. `waits`: source time of its oldest waiting change,
    None: none waits. `stop`: why it is STOPPED.
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
    """The state that the stored facts of a table give, before anything is tried. `begun_at`: when reading its rows
    began.
    """
    if stop is not None:
        return Standing(state=_X, since=stop.since, stop=stop, rows=rows, waits=waits)
    if rows is not None:
        return Standing(state=_N, since=begun_at, rows=rows, waits=waits)
    return Standing() if waits is None else Standing(state=_B, since=waits, waits=waits)


def begun(standing: Standing, rows: Rows, *, at: float) -> Standing:
    """Its rows are to be read, perhaps again."""
    return replace(_on(standing, _E.BEGUN, at), since=at, rows=rows, error=None, stop=None)


def bringing(standing: Standing, *, begun: bool) -> Standing:
    """Its rows are being read from now on; or not yet, if they are to be read from the beginning. Rows that replace
    everything also cure the reason for which a commit failed before.
    """
    rows = standing.rows
    if rows is None:
        return standing
    begins = begun and not rows.begun and rows.replaces
    return replace(standing, rows=replace(rows, begun=begun), error=None if begins else standing.error)


def renewing(standing: Standing) -> Standing:
    """Rows are in the target, but which is not known: those that are read next replace them."""
    return standing if standing.rows is None else replace(standing, rows=replace(standing.rows, replaces=True))


def mended(standing: Standing) -> Standing:
    """The reason for which its read failed is gone."""
    return standing if standing.rows is None else replace(standing, error=None)


def read(standing: Standing, *, at: float) -> Standing:
    """All its rows are in the target."""
    return _caught_up(replace(_on(standing, _E.READ, at), rows=None, error=None), at)


def waited(standing: Standing, since: float) -> Standing:
    """A change of it waits; `since`: the source time of that change."""
    oldest = since if standing.waits is None else standing.waits
    return replace(_on(standing, _E.WAITED, oldest), waits=oldest)


def outdated(standing: Standing) -> bool:
    """Whether a failed commit no longer matters: rows being read replace what it was to change."""
    return standing.rows is not None and standing.rows.begun and standing.rows.replaces


def failed(standing: Standing, error: SyncError, *, at: float) -> Standing:
    """Its own commit or read has failed."""
    return replace(_on(standing, _E.FAILED, at), error=error)


def moved(standing: Standing, waits: float | None, *, at: float) -> Standing:
    """The oldest waiting change is committed; `waits`: source time of the next one."""
    return _caught_up(replace(_on(standing, _E.MOVED, at), waits=waits, error=None), at)


def stopped(standing: Standing, stop: Stop, *, at: float) -> Standing:
    """It cannot be read further."""
    return replace(_on(standing, _E.STOPPED, at), stop=stop, error=None)


def _caught_up(standing: Standing, at: float) -> Standing:
    return standing if standing.waits is not None else _on(standing, _E.CAUGHT_UP, at)


def _on(standing: Standing, event: ChannelEvent, at: float) -> Standing:
    state = CHANNEL_TRANSITIONS[standing.state][event]
    return standing if state is standing.state else replace(standing, state=state, since=None if state is _S else at)


class Verdict(StrEnum):
    """What happens to a table's changes."""

    COMMIT = "COMMIT"
    WAIT = "WAIT"
    OMIT = "OMIT"  # not wanted: rows that are read later contain them


def verdict(standing: Standing, *, staged: bool, skipped: bool = False) -> Verdict:
    """`staged`: the changes were already read, maybe before the table entered this state. `skipped`: they are from
    before the place at which the table begins, so its target is only marked with their epoch.

    Staged changes may be committed before the rows that replace them, as long as none of those is read; a target that
    has yet to get its columns takes only what changes nothing in it.
    """
    if not staged and (standing.state is _X or (standing.rows is not None and standing.rows.exact)):
        return Verdict.OMIT
    return Verdict.WAIT if held(standing, skipped=skipped) or standing.waits is not None else Verdict.COMMIT


def held(standing: Standing, *, skipped: bool) -> bool:
    """Whether staged changes wait for rows, if they are the oldest waiting ones. `skipped`: as in the verdict."""
    rows = standing.rows
    if rows is None:
        return False
    return rows.begun or not rows.replaces or (rows.reshapes and not skipped)


def obstacle(standing: Standing, table: str) -> SyncError | None:
    """Why changes of a table, by its label, are not committed. It stops nothing that rows cannot be read again, or that
    the table was altered: the statement that fixes it may still be to come.
    """
    rows, error = standing.rows, standing.error
    opened = SyncError(Code.SNAPSHOT_OPEN, table=table)
    if rows is None:
        return error
    if rows.replaces and not rows.begun:
        return error or (opened if rows.reshapes else None)
    return opened if error is None or rows.replaces or is_altered(error) else error


def comes(standing: Standing) -> bool:
    """Whether rows for which changes wait come by themselves; otherwise a statement that is still to be read brings
    them, or RESYNC, and waiting for them is pointless.
    """
    if standing.rows is None:
        return True
    return standing.state is not _X and not (standing.error is not None and is_altered(standing.error))


def is_altered(error: SyncError) -> bool:
    """Whether it says that a table has changed."""
    return bool(error.context.get(ALTERED))


def heals(error: SyncError) -> bool:
    """Whether it passes with time alone, though others of its number do not. A backlog goes with its cause."""
    cause = error.context.get("reason")
    if error.code is Code.BACKLOG_WAITS and isinstance(cause, SyncError):
        return heals(cause) or not needs_person(cause.code.number)
    return bool(error.context.get(HEALS))


def may_be_followed(error: SyncError) -> bool:
    """Whether a statement that is still to be read has caused it, or may have."""
    return is_altered(error) or bool(error.context.get(GONE))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What SHOW says of a table. `error`: a number. `since`: if it is BEHIND, the time of its oldest waiting change, by
    the source's clock.
    """

    state: ChannelState
    since: float | None = None
    error: int | None = None
    reason: str | None = None
    advice: str | None = None
    heals: bool = False

    @property
    def needs_operator(self) -> bool:
        """Whether it never passes with time alone."""
        return self.state is _X or (self.error is not None and needs_person(self.error) and not self.heals)


READING: Final = "its rows are being read"
UNREAD: Final = "its rows are not all read yet"  # of a job that is paused or has ended, so they are not read
WAITING: Final = "changes wait for their commit"
CATCHING_UP: Final = "its rows are there, and changes from the time in which they were read follow"


def shown(standing: Standing, kind: JobKind, *, reads: bool = True, whole: bool = True) -> Shown:
    """`kind`: of its job and the table. `reads`: whether the job reads. `whole`: changes up to the end of the last read
    of its rows are committed.
    """
    stop, error = standing.stop, standing.error
    if stop is not None:
        way = stop.advised(kind)
        return Shown(state=_X, since=stop.since, error=stop.error or None, reason=stop.reason, advice=way)
    state = _B if standing.state is _S and not whole else standing.state
    since = standing.waits if state is _B else standing.since
    if error is not None:
        number = error.code.number
        remedy = advice(number, kind)
        return Shown(state=state, since=since, error=number, reason=str(error), advice=remedy, heals=heals(error))
    reasons = {_N: READING if reads else UNREAD, _B: WAITING if standing.waits is not None else CATCHING_UP}
    return Shown(state=state, since=since, reason=reasons.get(state))
