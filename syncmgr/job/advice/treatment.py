"""What an error does to a job, and which advice works for it.

Owns: who fixes an error; which of its texts fits a kind of job.
Must not know: errors, clocks, where an error came from.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Remedy(StrEnum):
    """Who fixes an error, and what happens to the job meanwhile. From the mildest to the worst; none ends a job."""

    RETRY = "RETRY"  # time: it is retried inside RUNNING, and pauses only if that lasts too long
    RESUME = "RESUME"  # time, but not soon: the job pauses and resumes by itself
    OPERATOR = "OPERATOR"  # a person: the job pauses until RESUME SYNC JOB


_THEN_RESUME: Final = re.compile(r"[,;.] [Tt]hen RESUME")
_ANEW: Final = re.compile(r"create (it|the job)\b")
_DELETE: Final = "delete the destination's cursor"
CURSOR: Final = f"stop canal, {_DELETE} (its meta.dat, or its node in ZooKeeper), and start it"
TWICE: Final = (
    "A target without a key would get canal's last batch twice: after STOP, and while nothing writes to its source "
    f"tables, {CURSOR}; then bring the targets in line with the source."
)
QUIET: Final = (
    "A target without a key would have twice what canal reads until it is in line: let nothing write to its source "
    "tables meanwhile."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobKind:
    """The facts of a job that decide which advice works: whether its source has rows to read again (canal has not),
    whether there are other tables, so that one may leave, whether several fill one target (RESYNC does not replace its
    rows), whether it runs (RESUME refuses that), and whether a target has no key (what arrives twice is there twice).
    """

    has_rows: bool
    has_others: bool
    runs: bool = False
    shares: bool = False
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Treatment:
    """What an error does to a job, and what the operator does about it.

    `by_person`: it never passes with time alone, however often it is retried meanwhile. `on_canal`: instead of the
    advice, if rows cannot be read again; `on_shards`: if other tables fill the target, too. `of_many`: what else helps
    if the job has other tables.
    """

    remedy: Remedy
    advice: str
    by_person: bool = False
    on_canal: str = ""
    on_shards: str = ""
    of_many: str = ""

    def advice_for(self, kind: JobKind) -> str:
        """What works for a job of that kind."""
        text = self.on_shards if kind.shares and self.on_shards else self.advice
        text = text if kind.has_rows or not self.on_canal else self.on_canal
        text = f"{text} {self.of_many}" if kind.has_others and self.of_many else text
        text = _THEN_RESUME.sub("", text) if kind.runs else text
        return f"{text} {_once(text)}" if kind.appends and not kind.has_rows and _ANEW.search(text) else text

    @property
    def whole(self) -> str:
        """What works for which job."""
        more = f"Of a job of several tables: {self.of_many}" if self.of_many else ""
        shards = f"Where several tables fill the target: {self.on_shards}" if self.on_shards else ""
        canal = f"Of a canal job: {self.on_canal}" if self.on_canal else ""
        return " ".join(filter(None, (self.advice, more, shards, canal)))


def _once(text: str) -> str:
    """What else a new job on canal needs, so that no row is appended twice."""
    return QUIET if _DELETE in text else TWICE
