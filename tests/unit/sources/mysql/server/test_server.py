"""What is required of a server, by the table that the docs show."""

from typing import Any, Self, cast

import pytest

from syncmgr.errors import SyncError
from syncmgr.job.source_history.logged import ASKED, Asked
from syncmgr.sources.mysql.address import Connection, MysqlAddress
from syncmgr.sources.mysql.server import server

WRONG = {
    "log_bin": "OFF",
    "binlog_format": "MIXED",
    "binlog_row_image": "MINIMAL",
    "binlog_row_value_options": "PARTIAL_JSON",
    "log_replica_updates": "OFF",
    "log_slave_updates": "OFF",
    "binlog_do_db": "shop",
    "binlog_ignore_db": "shop",
    "replica_skip_errors": "1062",
    "slave_skip_errors": "1062",
    "replicate_*": "shop",
}


def replica(setting: str) -> server.Server:
    """It behaves as wanted but for one setting, and replicates from another server."""
    told = {name: asked.wanted for asked in ASKED for name in asked.setting.split(", ")} | {setting: WRONG[setting]}
    answers = {
        "SHOW GLOBAL VARIABLES": [
            {"Variable_name": name, "Value": value} for name, value in (told | {"version": "8.4.0"}).items()
        ],
        "SHOW BINARY LOG STATUS": [
            {"Binlog_Do_DB": told["binlog_do_db"], "Binlog_Ignore_DB": told["binlog_ignore_db"]}
        ],
        "SHOW REPLICA STATUS": [{"Replicate_Do_DB": told["replicate_*"]}],
    }

    class Cursor:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def execute(self, text: str, _args: object = None) -> None:
            self.rows = next(rows for begin, rows in answers.items() if text.startswith(begin))

        def fetchall(self) -> list[dict[str, Any]]:
            return self.rows

    class Fake:
        def cursor(self, *_: object) -> Cursor:
            return Cursor()

    address = MysqlAddress(host="db1", port=3306, user="u", password="")
    return server.Server(address, cast("Connection", Fake()))


@pytest.mark.parametrize(("asked", "setting"), [(row, name) for row in ASKED for name in row.setting.split(", ")])
def test_a_connection_requires_what_the_table_says(asked: Asked, setting: str) -> None:
    """What is marked so is refused whenever a job connects, with the code of its row, and nothing else is."""
    found = replica(setting)
    if not asked.at_connect:
        found.refuse_incomplete()
        return
    with pytest.raises(SyncError) as caught:
        found.refuse_incomplete()
    assert caught.value.code is asked.code
