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
# of a commit of the frontend's that came first, or of a change that was there already
GIVES_WAY: Final = (
    "CommitFailed",
    "ValidationException",
    "conflict",
    "already exists",
    "Cannot find partition field",
    "Cannot roll back",
    "missing data files",
    "has changed from",
    "is not an identifier field",
    "Cannot add duplicate partition field",
)


class Engine:
    """The process, and what is asked of it."""

    def __init__(self, lake_dir: Path, dice: random.Random | None = None) -> None:
        command = [sys.executable, "-m", "tests.torture.engine", str(lake_dir)]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, text=True)
        self._dice, self._next = dice or random.Random(), FIRST_KEY
        self.rolled_back: set[str] = set()  # paths, since somebody has seen to it that all is right
        self.renamed: set[str] = set()
        assert self._answer() == (None, [])

    def act(self) -> str:
        """One thing, in words; a conflict with a commit of the frontend's is no fault."""
        table = self._dice.choice(list(KEYS))
        kind = self._dice.choices(list(OFTEN), weights=list(OFTEN.values()))[0]
        match kind:
            case "rename":
                return self._rename(table)
            case "rollback":
                return self._roll_back(table)
        return self._told(kind, given_way=self._has_given_way(self._statement(kind, table)))

    def _told(self, kind: str, *, given_way: bool) -> str:
        return f"{kind} elsewhere" + (", given way" if given_way else "")

    def _has_given_way(self, statement: str) -> bool:
        """Any other refusal is told, and no fault of the frontend's by itself: the comparison says whether rows are."""
        wrong = self.ask(statement)
        if wrong is not None and not any(words in wrong for words in GIVES_WAY):
            sys.stderr.write(f"another engine: {statement}: {wrong}\n")
        return wrong is not None

    def _rename(self, table: str) -> str:
        """For a moment."""
        here, aside = f"shop.{table}", f"shop.{table}_aside"  # the new name stands without its catalog
        self.renamed.add(here)
        given_way = self._has_given_way(f"ALTER TABLE lake.{here} RENAME TO {aside}")
        if not given_way:
            self.mend(f"ALTER TABLE lake.{aside} RENAME TO {here}")
        return self._told("rename", given_way=given_way)

    def _roll_back(self, table: str) -> str:
        """To one of the last states; a table that has no older one is left as it is."""
        ancestors = f"SELECT snapshot_id FROM lake.shop.{table}.history WHERE is_current_ancestor"
        wrong, found = self._asked(f"{ancestors} ORDER BY made_current_at DESC LIMIT {ANCESTORS}")
        assert wrong is None, wrong
        if len(found) < 2:
            return "rollback elsewhere, to nothing"
        (snapshot,) = self._dice.choice(found[1:])
        self.rolled_back.add(f"shop.{table}")
        rollback = f"CALL lake.system.rollback_to_snapshot('shop.{table}', {snapshot})"
        return self._told("rollback", given_way=self._has_given_way(rollback))

    def name_keys(self) -> None:
        """The identifiers are what they were."""
        for table in KEYS:
            self.mend(f"ALTER TABLE lake.shop.{table} SET IDENTIFIER FIELDS {IDENTIFIERS[table]}")

    def rewrite(self, path: str) -> None:
        """All files, so that they are of the spec of now."""
        options = "options => map('rewrite-all', 'true')"
        self.mend(f"CALL lake.system.rewrite_data_files(table => '{path}', {options})")

    def mend(self, statement: str) -> None:
        """Typed until nobody is before it."""
        until(lambda: not self._has_given_way(statement), why=statement)

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
            case "expire":
                # without a time only those go that are more than five days old
                expired = f"older_than => TIMESTAMP '{LATER}', retain_last => 1"
                return f"CALL lake.system.expire_snapshots(table => 'shop.{table}', {expired})"
            case "spec":
                place = self._dice.choice(("ADD", "DROP"))
                return f"ALTER TABLE {path} {place} PARTITION FIELD bucket(2, {KEYS[table]})"
            case "identifier":
                return f"ALTER TABLE {path} {self._dice.choice(('SET', 'DROP'))} IDENTIFIER FIELDS {KEYS[table]}"
        order = self._dice.choice(("WRITE ORDERED BY number", "WRITE UNORDERED"))
        return f"ALTER TABLE {path} {order}"

    def ask(self, statement: str) -> str | None:
        """What was wrong, None where nothing was."""
        return self._asked(statement)[0]

    def _asked(self, statement: str) -> tuple[str | None, list[list[Any]]]:
        """And the rows."""
        assert self._process.stdin is not None
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
