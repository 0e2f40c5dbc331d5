"""A source that replicates, for the run with SYNCMGR_TEST_SETTINGS=replica.

Owns: a server that is read, and another one from which it gets everything that tests write.
Must not know: pytest, what is tested.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.support.servers.mysql import Flavour, MysqlServer
from tests.support.until import HANG_SECOND

LOGS: Final[Mapping[Flavour, Mapping[str, str]]] = {
    "mysql": {"log-replica-updates": "ON"},
    "mariadb": {"log-slave-updates": "ON"},
}
WRITTEN: Final[Mapping[Flavour, str]] = {
    "mysql": "SELECT @@global.gtid_executed",
    "mariadb": "SELECT @@global.gtid_binlog_pos",
}
APPLIED: Final[Mapping[Flavour, str]] = {
    "mysql": "SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', {}) = 0",
    "mariadb": "SELECT MASTER_GTID_WAIT('{}', {}) = 0",
}


class ReplicaServer(MysqlServer):
    """Its port is that of the replica; a session of root is one on the server that it replicates."""

    def __init__(self, folder: Path, flavour: Flavour = "mysql") -> None:
        super().__init__(folder / "replica", flavour, {"server-id": "2", **LOGS[flavour]})
        self._source = MysqlServer(folder / "source", flavour)
        self._follows = False

    def start(self) -> "ReplicaServer":
        self._source.start()
        super().start()
        self.follow(self._source)
        self._follows = True
        return self

    def stop(self) -> None:
        self._follows = False
        super().stop()
        self._source.stop()

    def connect(self, **options: Any) -> Any:
        return self._source.connect(**options) if self._follows else super().connect(**options)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        found = super().run(*statements)
        self.settle()
        return found

    def settle(self) -> None:
        """Waits until it has what was written to the other."""
        if not self._follows:
            return
        [(written,)] = self._source.run(WRITTEN[self.flavour])
        [(applied,)] = self._itself(APPLIED[self.flavour].format(written, int(HANG_SECOND)))
        if not applied:
            raise RuntimeError(f"the replica has not got {written}")

    @contextlib.contextmanager
    def global_variable(self, name: str, value: str) -> Iterator[None]:
        """Of both."""
        [(before,)] = self._itself(f"SELECT @@global.{name}")
        self._itself(f"SET GLOBAL {name} = {value}")
        try:
            with super().global_variable(name, value):
                yield
        finally:
            shown = before if isinstance(before, int) else f"'{before}'"
            self._itself(f"SET GLOBAL {name} = {shown}")

    def _itself(self, statement: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(super().connect()) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())
