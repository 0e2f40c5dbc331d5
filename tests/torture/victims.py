"""The processes that are killed.

Owns: killing them, and how long it takes until all is well again.
Must not know: who kills when, what is right.
"""

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

import psutil
import pymysql

from syncmgr.job.position import GtidSet
from syncmgr.lake.spark import launch
from tests.acceptance.frontend import FrontendProcess
from tests.support.processes import jvms
from tests.support.servers.mysql import MysqlServer
from tests.support.until import PATIENCE, until
from tests.torture.figures import Figures

DBS: Final = ("bank", "shop")
ASK_SECOND: Final = 0.1  # between two looks at a job: more often would keep it from recovering
LOOK_SECOND: Final = 10.0  # between two looks of the operator during a recovery
LAST_BREATH_SECOND: Final = 180.0
RECOVERY_SECOND: Final = 600.0
BIRTH_SECOND: Final = 8.0
AWAITED_SHARE: Final = 0.4
FROZEN_SHARE: Final = 0.2
FROZEN_SECOND: Final = 30.0


class Victims:
    """Of one frontend: itself, its JVM, its workers. `figures`: of now; whoever counts puts new ones there."""

    def __init__(self, fe: FrontendProcess, mysql: MysqlServer, dice: random.Random, look: Callable[[], None]) -> None:
        """`look`: of the operator, without whom a job that another engine has stopped does not go on."""
        self.fe, self._mysql, self._dice, self._look = fe, mysql, dice, look
        self.figures = Figures()
        self._orphans: list[psutil.Process] = []
        self._died_at = self._looked_at = 0.0
        self._stood: dict[str, str] = {}

    def kill_workers(self) -> int:
        """One or two, how many of which were alive; one that is about to start is waited for."""
        workers = _born(self.fe.workers)
        self._weigh()
        return self._kill("worker", self._dice.sample(workers, min(len(workers), self._dice.choice((1, 2, 2)))))

    def kill_spark(self) -> int:
        return self._kill("JVM", _born(self.spark))

    def kill_frontend(self) -> int:
        """It is started when its JVM and its workers have noticed, or at once; sometimes they stand still before it
        dies, in the middle of what they do, and go on when the next one is at work.
        """
        self._weigh()
        self._bury()
        frozen = self.fe.workers() + self.spark() if self._dice.random() < FROZEN_SHARE else []
        for process in frozen:
            signalled(process, signal.SIGSTOP)
        awaits = self._dice.random() < AWAITED_SHARE and not frozen
        self.note_death()
        self._orphans = self.fe.kill(waits=awaits)
        self.figures.kills["frontend"] += 1
        self.figures.frozen += bool(frozen)
        began = time.monotonic()
        self.fe.start()
        self.figures.ports.append(time.monotonic() - began)
        thaw = threading.Timer(self._dice.uniform(0, FROZEN_SECOND), _thaw, [frozen])
        thaw.daemon = True
        thaw.start()
        return 1

    def spark(self) -> list[psutil.Process]:
        assert self.fe.process is not None
        return jvms(self.fe.process.pid, launch.LAKE)

    def recover(self, kind: str) -> None:
        """Waits until both jobs have committed all that the source has now; notes how long after the kill that is, and
        the first commit of one of them.
        """
        executed = GtidSet.parse(str(self._mysql.run("SELECT @@gtid_executed")[0][0]))
        until(
            lambda: any(self._seen(db) not in {None, stood} for db, stood in self._stood.items()),
            deadline=RECOVERY_SECOND,
            why=f"the first commit behind the death of {kind}",
            step=ASK_SECOND,
        )
        self.figures.first_commits.setdefault(kind, []).append(time.monotonic() - self._died_at)
        for db in DBS:
            until(
                lambda db=db: self._holds(db, executed),
                deadline=RECOVERY_SECOND,
                why=f"the commit of all before the death of {kind} to {db}",
                step=ASK_SECOND,
            )
        self.figures.recoveries.setdefault(kind, []).append(time.monotonic() - self._died_at)

    def _kill(self, kind: str, processes: list[psutil.Process]) -> int:
        self.note_death()
        died = sum(signalled(process, signal.SIGKILL) for process in processes)
        self.figures.kills[kind] += died
        return died

    def note_death(self) -> None:
        """Right before it; where each job stands then, as far as one is told."""
        self._stood |= {db: position for db in DBS if (position := self._position(db)) is not None}
        self._died_at = time.monotonic()

    def _holds(self, db: str, executed: GtidSet) -> bool:
        position = self._seen(db)
        return position is not None and GtidSet.parse(position).contains(executed)

    def _seen(self, db: str) -> str | None:
        """The position, after the operator has looked, if that was long ago."""
        if time.monotonic() > self._looked_at + LOOK_SECOND:
            self._look()
            self._looked_at = time.monotonic()
        return self._position(db)

    def _position(self, db: str) -> str | None:
        """GTIDs; None where nobody answers."""
        with contextlib.suppress(pymysql.err.MySQLError):
            position = self.fe.job(db)["Status"]["position"]
            return str(position["gtid"]) if position else None
        return None

    def _weigh(self) -> None:
        assert self.fe.process is not None
        with contextlib.suppress(psutil.NoSuchProcess):
            alive = [psutil.Process(self.fe.process.pid), *self.fe.workers()]
            self.figures.memory = max(self.figures.memory, sum(each.memory_info().rss for each in alive))

    def _bury(self) -> None:
        """JVM and workers end by the loss of their pipe, whatever they were doing."""
        _thaw(self._orphans)
        until(
            lambda: not any(_lives(each) for each in self._orphans),
            deadline=LAST_BREATH_SECOND,
            why=f"the end of {self._orphans}, which outlived their frontend",
            step=ASK_SECOND,
        )


def _thaw(processes: list[psutil.Process]) -> None:
    for process in processes:
        signalled(process, signal.SIGCONT)


def _lives(process: psutil.Process) -> bool:
    """What psutil says: it lets `FileNotFoundError` through where a process goes while it reads of it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False


def _born(ask: Callable[[], list[psutil.Process]]) -> list[psutil.Process]:
    """What is about to start is waited for."""
    end = time.monotonic() + BIRTH_SECOND * PATIENCE
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(ASK_SECOND)
    return found


def signalled(process: psutil.Process, number: signal.Signals) -> bool:
    """False for one that has gone by itself."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return False
    return True
