"""What goes wrong with a lake elsewhere: its store, its catalog, the cluster on which Spark's tasks run.

Owns: what may be broken of them, how often and for how long.
Must not know: the frontend, the tables, what is right.
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from tests.support.lakes import RestLake
from tests.support.servers.lying_catalog import SILENT
from tests.support.servers.spark_cluster import SparkCluster

LIES: Final = (409, 500, 503, SILENT)  # of commits that were made
LONGEST_SECOND: Final = 10.0
DELAYS: Final = (0.02, 0.2, 2.0)


class LakeTroubles:
    """`lake`: one with a way to its store; `cluster`: None: tasks run in the frontend's JVM; `killed`: counts."""

    def __init__(
        self, lake: RestLake, cluster: SparkCluster | None, killed: Callable[[], Counter[str]], dice: random.Random
    ) -> None:
        assert lake.way is not None
        self._lake, self._way, self._cluster = lake, lake.way, cluster
        self._killed, self._dice = killed, dice

    def deeds(self) -> dict[Callable[[], object], float]:
        """With the weight of each."""
        of_lake: dict[Callable[[], object], float] = {
            self.kill_catalog: 3,
            self.lie_about_commits: 5,
            self.cut_off_store: 4,
            self.overload_store: 2,
            self.refuse_writes: 2,
            self.slow_store: 2,
        }
        return of_lake | ({} if self._cluster is None else {self.kill_executors: 6, self.kill_master: 4})

    def kills(self) -> dict[str, Callable[[], int]]:
        """Each by what it kills; how many died."""
        of_lake: dict[str, Callable[[], int]] = {"store": self.cut_off_store, "catalog": self.kill_catalog}
        return of_lake | (
            {} if self._cluster is None else {"executor": self.kill_executors, "master": self.kill_master}
        )

    def kill_catalog(self) -> int:
        self._lake.catalog.stop()
        self._killed()["catalog"] += 1
        self._wait()
        self._lake.catalog.start()
        return 1

    def lie_about_commits(self) -> None:
        """The next commits are made, and reported to have failed, or not reported."""
        self._lake.proxy.lie(self._dice.choice(LIES), times=self._dice.choice((1, 2, 5)))
        self._wait()

    def cut_off_store(self) -> int:
        """As if it were killed: whatever is asked or under way ends without an answer."""
        self._way.hang_up()
        self._killed()["store"] += 1
        self._wait()
        self._way.heal()
        return 1

    def overload_store(self) -> None:
        self._way.refuse(503, "SlowDown", "Please reduce your request rate.")
        self._wait()
        self._way.heal()

    def refuse_writes(self) -> None:
        """It can be read."""
        self._way.refuse(503, "SlowDown", "Please reduce your request rate.", only_writes=True)
        self._wait()
        self._way.heal()

    def slow_store(self) -> None:
        self._way.delay = self._dice.choice(DELAYS)
        self._wait()
        self._way.heal()

    def kill_executors(self) -> int:
        assert self._cluster is not None
        alive, died = self._cluster.executors(), 0
        for process in self._dice.sample(alive, min(len(alive), self._dice.choice((1, 1, 2)))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                died += 1
        self._killed()["executor"] += died
        return died

    def kill_master(self) -> int:
        assert self._cluster is not None
        self._cluster.stop_master()
        self._killed()["master"] += 1
        self._wait()
        self._cluster.start_master()
        return 1

    def _wait(self) -> None:
        time.sleep(self._dice.uniform(0.5, LONGEST_SECOND))
