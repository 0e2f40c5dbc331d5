"""The operator: reads Status, and types what it advises where another engine has made that necessary.

Owns: which errors may ask for a person, and what is typed then.
Must not know: who kills, what the rows are.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pymysql

from syncmgr.errors import Code
from syncmgr.job.advice.treatment import Remedy
from syncmgr.job.failure import remedy
from tests.acceptance.frontend import FrontendProcess
from tests.torture.asking import asked
from tests.torture.engine import Engine
from tests.torture.victims import DBS

MINE: Final = {code.value[0]: code for code in Code}
Trouble = tuple[Code, str, str]  # of which target, its advice


class DeadEndError(AssertionError):
    """A fault has stopped a job for good, or its advice is none that helps."""


class Operator:
    """Looks again and again. `count`: takes note of what was typed."""

    def __init__(self, fe: FrontendProcess, count: Callable[[str], None]) -> None:
        self._fe, self._count = fe, count
        self._engine: Engine | None = None

    def knows(self, engine: Engine) -> None:
        """Somebody else works on the tables."""
        self._engine = engine

    def look(self) -> None:
        """No fault may stop a job for good: a person never has to mend what a kill did. Raises DeadEndError."""
        assert self._fe.process is not None
        if self._fe.process.poll() is not None:
            raise DeadEndError(f"the frontend ended by itself with {self._fe.process.returncode}")
        for db in DBS:
            job = asked(lambda db=db: self._fe.job(db))
            if job["State"] == "CANCELLED" or job["Status"]["stopped"]:
                raise DeadEndError(f"{db}: {job['State']}, {job['Msg']}, {job['Status']['stopped']}")
            for trouble in set(_troubles(job)):
                self._see_to(db, job, trouble)

    def all_is_right(self) -> None:
        """Whatever was done before has been made up for."""
        if self._engine is not None:
            self._engine.rolled_back.clear()
            self._engine.renamed.clear()

    def _see_to(self, db: str, job: dict[str, Any], trouble: Trouble) -> None:
        code, table, advice = trouble
        engine = self._engine
        if engine is not None and code is Code.TARGET_REPLACED and table in engine.rolled_back:
            if "RESYNC TABLE" not in advice:
                raise DeadEndError(f"{table} was rolled back, and the advice is: {advice}")
            self._type(f"ALTER SYNC JOB {db}.job1 RESYNC TABLE {table}")
        elif engine is not None and code is Code.SPEC_CHANGED:
            engine.name_keys()
            engine.rewrite(table)
            self._count("files rewritten for a new spec")
            return
        elif not (engine is not None and code is Code.NO_SUCH_TABLE and table in engine.renamed):
            if remedy(code) is Remedy.OPERATOR:
                raise DeadEndError(f"{db}: {job['State']}, {table}: {code}, {job['Msg']}")
            return
        if job["State"] == "PAUSED":
            self._type(f"RESUME SYNC JOB {db}.job1")

    def _type(self, statement: str) -> None:
        """Where nobody takes it, the trouble is there the next time, too."""
        with contextlib.suppress(pymysql.err.MySQLError):
            self._fe.sql(statement)
            self._count(statement)


def _troubles(job: dict[str, Any]) -> Iterator[Trouble]:
    message, status = job["Msg"] or "", job["Status"]
    number, table = re.search(r"\(error (\d+)\) at ", message), re.search(r"Table '(\w+\.\w+)'", message)
    if number is not None and int(number[1]) in MINE:
        yield MINE[int(number[1])], table[1] if table is not None else "", status["advice"] or ""
    for target, behind in status["behind"].items():
        if behind["error"] in MINE:
            yield MINE[behind["error"]], target, behind["advice"] or ""
