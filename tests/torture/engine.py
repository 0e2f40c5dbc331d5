"""Another engine that writes into the tables of the shop: a process with a Spark of its own on the frontend's lake.

Owns: its rows, whose keys no source has, and what it does to files, whosever rows they hold.
Must not know: jobs, the frontend.

Run: python -m tests.torture.engine LAKE_FOLDER. Reads statements of SQL, as JSON, one a line; answers each
with a line of JSON: what was wrong, or null, and the rows.
"""

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from syncmgr.lake.spark.jvm import JAVA_ERRORS, words
from tests.support import jvm
from tests.support.spark_session import START_SECOND, new_lake
from tests.support.until import until

FIRST_KEY: Final = 10**9  # of its rows; the sources' are below
KEYS: Final = {"things": "id", "tags": "thing"}
IDENTIFIERS: Final = {"things": "id", "tags": "tag, thing"}
LATER: Final = "2999-01-01 00:00:00"  # than any snapshot
ANCESTORS: Final = 6  # so many are looked at for one to go back to
ROWS: Final = {
    "things": "SELECT id, -1, 1.5, 'not ours', NULL FROM range({first}, {last})",
    "tags": "SELECT id, 'not ours', -1 FROM range({first}, {last})",
}
OWN: Final = {table: f"{key} >= {FIRST_KEY}" for table, key in KEYS.items()}

OFTEN: Final = {
    "insert": 4,
    "update": 2,
    "delete": 2,
    "rewrite": 4,
    "expire": 2,
    "order": 1,
    "spec": 1,
    "identifier": 1,
    "rename": 1,
    "rollback": 1,
}
# Words by which Iceberg refuses a commit since another one came first.
GIVES_WAY: Final = (
    "CommitFailed",
    "ValidationException",
    "conflict",
    "Cannot roll back",
    "missing data files",
    "has changed from",
)
TURNS: Final = {  # what changes a table each time, if one follows the other
    "order": ("WRITE ORDERED BY number", "WRITE UNORDERED"),
    "spec": ("ADD PARTITION FIELD bucket(2, {key})", "DROP PARTITION FIELD bucket(2, {key})"),
    "identifier": ("DROP IDENTIFIER FIELDS {key}", "SET IDENTIFIER FIELDS {key}"),
}
CHANGED: Final = {"rewrite": 0, "expire": 4}  # a place in their answers: files rewritten, manifest lists deleted


class Outcome(StrEnum):
    """What became of an operation."""

    DONE = "done"
    GIVEN_WAY = "given way"  # its commit was refused, since one of the frontend's came first
    REFUSED = "refused"  # for any other reason
    NOTHING = "nothing to do"  # no snapshot to expire, no file to rewrite, no state to go back to


@dataclass(frozen=True, slots=True)
class Operation:
    """`expired`: how many snapshots it removed."""

    kind: str
    outcome: Outcome
    expired: int = 0

    @property
    def words(self) -> str:
        done = self.outcome is Outcome.DONE
        return f"{self.kind} elsewhere" + ("" if done else f", {self.outcome}")


class Engine:
    """The process, and what is asked of it; two threads may ask."""

    def __init__(self, lake_dir: Path, dice: random.Random | None = None) -> None:
        command = [sys.executable, "-m", "tests.torture.engine", str(lake_dir)]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, text=True)
        self._asking = threading.Lock()
        self._dice, self._next = dice or random.Random(), FIRST_KEY
        self._turns: Counter[tuple[str, str]] = Counter()  # by kind and table
        self.rolled_back: set[str] = set()  # paths, since somebody has seen to it that all is right
        self.renamed: set[str] = set()
        assert self._answer() == (None, [])

    def act(self) -> Operation:
        """One thing; a conflict with a commit of the frontend's is no fault."""
        table = self._dice.choice(list(KEYS))
        kind = self._dice.choices(list(OFTEN), weights=list(OFTEN.values()))[0]
        match kind:
            case "rename":
                return Operation(kind, self._rename(table))
            case "rollback":
                return Operation(kind, self._roll_back(table))
            case "order" | "spec" | "identifier":
                return Operation(kind, self._change(kind, table))
        outcome, rows = self._tried(self._statement(kind, table))
        if outcome is not Outcome.DONE or kind not in CHANGED:
            return Operation(kind, outcome)
        changed = int(rows[0][CHANGED[kind]])
        return Operation(kind, outcome if changed else Outcome.NOTHING, changed if kind == "expire" else 0)

    def _tried(self, statement: str) -> tuple[Outcome, list[list[Any]]]:
        """Any other refusal is told, and no fault of the frontend's by itself: the comparison says whether rows are."""
        wrong, rows = self._asked(statement)
        if wrong is None:
            return Outcome.DONE, rows
        if any(words in wrong for words in GIVES_WAY):
            return Outcome.GIVEN_WAY, rows
        sys.stderr.write(f"another engine: {statement}: {wrong}\n")
        return Outcome.REFUSED, rows

    def _change(self, kind: str, table: str) -> Outcome:
        """There and back by turns; one that was refused is not tried again: a RESYNC may have set it back."""
        turn = self._turns[kind, table] % 2
        outcome, _ = self._tried(f"ALTER TABLE lake.shop.{table} {TURNS[kind][turn].format(key=KEYS[table])}")
        self._turns[kind, table] += outcome is not Outcome.GIVEN_WAY
        return outcome

    def _rename(self, table: str) -> Outcome:
        """For a moment."""
        here, aside = f"shop.{table}", f"shop.{table}_aside"  # the new name stands without its catalog
        self.renamed.add(here)
        outcome, _ = self._tried(f"ALTER TABLE lake.{here} RENAME TO {aside}")
        if outcome is Outcome.DONE:
            self.mend(f"ALTER TABLE lake.{aside} RENAME TO {here}")
        return outcome

    def _roll_back(self, table: str) -> Outcome:
        """To one of the last states; a table that has no older one is left as it is."""
        ancestors = f"SELECT snapshot_id FROM lake.shop.{table}.history WHERE is_current_ancestor"
        outcome, found = self._tried(f"{ancestors} ORDER BY made_current_at DESC LIMIT {ANCESTORS}")
        if outcome is not Outcome.DONE:
            return outcome
        if len(found) < 2:
            return Outcome.NOTHING
        (snapshot,) = self._dice.choice(found[1:])
        self.rolled_back.add(f"shop.{table}")
        return self._tried(f"CALL lake.system.rollback_to_snapshot('shop.{table}', {snapshot})")[0]

    def name_keys(self) -> None:
        """The identifiers are what they were."""
        for table in KEYS:
            self.mend(f"ALTER TABLE lake.shop.{table} SET IDENTIFIER FIELDS {IDENTIFIERS[table]}")
            self._turns["identifier", table] = 0

    def rewrite(self, path: str) -> None:
        """All files, so that they are of the spec of now."""
        options = "options => map('rewrite-all', 'true')"
        self.mend(f"CALL lake.system.rewrite_data_files(table => '{path}', {options})")

    def mend(self, statement: str) -> None:
        """Typed until nobody is before it."""
        until(lambda: self._tried(statement)[0] is Outcome.DONE, why=statement)

    def _statement(self, kind: str, table: str) -> str:
        path, own, some = f"lake.shop.{table}", OWN[table], f"{KEYS[table]} % 3 = {self._dice.randrange(3)}"
        match kind:
            case "insert":
                first, self._next = self._next, self._next + self._dice.randrange(1, 20)
                return f"INSERT INTO {path} {ROWS[table].format(first=first, last=self._next)}"
            case "update":
                return f"UPDATE {path} SET number = number - 1 WHERE {own} AND {some}"
            case "delete":
                return f"DELETE FROM {path} WHERE {own} AND {some}"
            case "rewrite":
                every = self._dice.choice(("'rewrite-all', 'true'", "'min-input-files', '2'"))
                return f"CALL lake.system.rewrite_data_files(table => 'shop.{table}', options => map({every}))"
        # without a time only those go that are more than five days old
        expired = f"older_than => TIMESTAMP '{LATER}', retain_last => 1"
        return f"CALL lake.system.expire_snapshots(table => 'shop.{table}', {expired})"

    def ask(self, statement: str) -> str | None:
        """What was wrong, None where nothing was."""
        return self._asked(statement)[0]

    def _asked(self, statement: str) -> tuple[str | None, list[list[Any]]]:
        """And the rows."""
        assert self._process.stdin is not None
        with self._asking:
            self._process.stdin.write(json.dumps(statement) + "\n")
            self._process.stdin.flush()
            return self._answer()

    def _answer(self) -> tuple[str | None, list[list[Any]]]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the other engine has ended"
        wrong, rows = json.loads(line)
        return wrong, rows

    def stop(self) -> None:
        self._process.communicate()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")  # what Spark prints must not come between
    os.dup2(2, 1)
    lake = new_lake(Path(sys.argv[1]).parent, options=jvm.flags())
    lake.start()
    lake.ready(START_SECOND)
    print(json.dumps((None, [])), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(said(lake.iceberg().spark, json.loads(line)), default=str), file=answers, flush=True)
    lake.stop()


def said(spark, statement: str) -> tuple[str | None, list[tuple[Any, ...]]]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - a SparkSession
    try:
        return None, [tuple(row) for row in spark.sql(statement).collect()]
    except JAVA_ERRORS as error:
        return words(error), []


if __name__ == "__main__":
    main()
