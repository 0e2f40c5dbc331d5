"""What a run of the torture has measured, and how the figures of many runs add up.

Owns: the figures, their line in a file, their sum, the words for them.
Must not know: who kills, what is compared.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

COUNTED: Final = ("kills", "in_recovery", "deeds", "foreign")  # by name
DONE: Final = "done"
ADDED: Final = ("frozen", "expired", "transactions", "rows", "points", "checks")


@dataclass(kw_only=True, slots=True)
class Figures:
    """Of a part of a run, of a run, of many runs. Times in seconds, memory in bytes."""

    kills: Counter[str] = field(default_factory=Counter)  # of processes that were there to be killed
    in_recovery: Counter[str] = field(default_factory=Counter)  # those of them before all was well again
    frozen: int = 0  # those of the frontend whose JVM and workers stood still and went on beside the next one
    deeds: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)  # operations of another engine, by their outcome
    expired: int = 0  # snapshots, by another engine
    ports: list[float] = field(default_factory=list)  # from the start of a killed frontend to its open port
    first_commits: dict[str, list[float]] = field(default_factory=dict)  # by what was killed
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # of all, by what was killed
    loads: list[float] = field(default_factory=list)
    transactions: int = 0
    rows: int = 0
    points: int = 0
    checks: int = 0
    memory: int = 0  # at most, of the frontend with its workers, without the JVM
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        for name in COUNTED:
            getattr(self, name).update(getattr(other, name))
        for name in ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in ((self.recoveries, other.recoveries), (self.first_commits, other.first_commits)):
            for kind, seconds in theirs.items():
                mine.setdefault(kind, []).extend(seconds)
        self.ports += other.ports
        self.loads += other.loads
        self.memory = max(self.memory, other.memory)
        self.wrong += other.wrong

    def told(self) -> str:
        firsts = {kind: quantiles(seconds) for kind, seconds in sorted(self.first_commits.items())}
        recoveries = {kind: quantiles(seconds) for kind, seconds in sorted(self.recoveries.items())}
        return (
            f"{self.kills.total()} killed {dict(self.kills)}, in a recovery {dict(self.in_recovery)}, with frozen"
            f" children {self.frozen};"
            f" {self.transactions} transactions, {self.rows} rows compared in {self.checks} checks,"
            f" {self.points} points, {len(self.wrong)} times wrong;{self._told_foreign()} {dict(self.deeds)};"
            f" the port open after {quantiles(self.ports)}, the first commit after {firsts}, all"
            f" committed again after {recoveries};"
            f" at most {self.memory / 2**20:.0f} MiB, load {quantiles(self.loads)}"
        )

    def _told_foreign(self) -> str:
        """Only what was done counts as an operation; nothing where no other engine was there."""
        if not self.foreign:
            return ""
        others = ", ".join(f"{number} {name}" for name, number in sorted(self.foreign.items()) if name != DONE)
        return f" {self.foreign[DONE]} foreign operations ({others or 'all done'}; {self.expired} snapshots expired);"


def append(file: Path, seed: int, figures: Figures) -> None:
    """One line more; runs add up."""
    with file.open("a") as lines:
        lines.write(line_of(seed, figures) + "\n")


def line_of(seed: int, figures: Figures) -> str:
    """As JSON."""
    facts = {name: getattr(figures, name) for name in Figures.__dataclass_fields__}
    return json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "seed": seed, **facts})


def summed(lines: Iterable[str]) -> Figures:
    total = Figures()
    for line in lines:
        total.add(_parsed(json.loads(line)))
    return total


def _parsed(line: Mapping[str, Any]) -> Figures:
    facts = {name: line[name] for name in Figures.__dataclass_fields__ if name in line}  # an older line lacks some
    return Figures(**facts | {name: Counter(line.get(name)) for name in COUNTED})


def load() -> float:
    return os.getloadavg()[0]


def quantiles(numbers: list[float]) -> str:
    """Median, 99th percentile and number of them."""
    if not numbers:
        return "-"
    ordered = sorted(numbers)
    return f"{ordered[len(ordered) // 2]:.1f}/{ordered[int(len(ordered) * 0.99)]:.1f} of {len(ordered)}"
