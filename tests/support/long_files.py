"""The order in which the processes of a run take the files of tests.

Owns: which files take longest; the others follow in the order in which pytest finds them, so that quick ones end a run.
Must not know: what is tested.

A process takes a whole file. One that is long and comes last would leave all other processes without work. A lake that
is elsewhere comes before all others of its process: the one that they share would have to stop and start for it.
"""

from typing import Final

import pytest

LONGEST_FIRST: Final = (
    "acceptance/test_scripts.py",
    "acceptance/test_backup.py",
    "acceptance/test_ddl.py",
    "acceptance/test_bad_input.py",
    "acceptance/test_crash_points.py",
    "acceptance/test_upgrade.py",
    "acceptance/test_statements.py",
    "acceptance/test_resync_matrix.py",
    "acceptance/test_advice.py",
    "acceptance/test_torture.py",
    "acceptance/test_snapshot.py",
    "acceptance/test_advice_lake.py",
    "acceptance/test_set_source.py",
    "acceptance/test_channel_states.py",
    "acceptance/test_faults.py",
    "acceptance/test_source_folder.py",
    "acceptance/test_whole_database.py",
    "acceptance/test_canal_job.py",
    "acceptance/test_private.py",
    "contract/lake/cluster/test_lake_on_cluster.py",
    "contract/lake/remote/test_remote_lake.py",
    "contract/lake/files/test_lake_upkeep.py",
    "contract/lake/engine/test_queries.py",
    "contract/lake/engine/test_query_engine.py",
    "contract/lake/files/test_lake_orphans.py",
    "contract/snapshot/test_snapshot_commit.py",
    "contract/lake/commit/test_lake_index.py",
    "contract/mysql/ddl/test_mysql_ddl_corpus.py",
    "contract/canal/test_canal_source.py",
    "contract/mysql/history/test_mysql_positions.py",
    "contract/mysql/ddl/test_mysql_statements.py",
    "contract/mysql/history/test_mysql_histories.py",
    "contract/mysql/ddl/test_mysql_ddl_values.py",
    "contract/canal/test_canal_cluster.py",
    "contract/snapshot/test_snapshot_start.py",
    "contract/canal/test_canal_standby.py",
    "contract/console/test_console_limits.py",
)
_PLACES: Final = {name: place for place, name in enumerate(LONGEST_FIRST)}


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of each file in their order."""
    return sorted(items, key=lambda item: _PLACES.get(item.location[0].removeprefix("tests/"), len(_PLACES)))
