"""Tests with many cases that take seconds each: which of them every run has.

Owns: the cases that are kept; the others are slow. Chosen by the CPU that a case takes, and so that each way through
the code is taken once.
Must not know: what is tested.

`tests.support.slow` marks cases where they are listed; this is for those that several lists make.
"""

from collections.abc import Iterable
from typing import Final

import pytest

KEPT: Final[dict[str, tuple[str, ...]]] = {
    "test_clients.py::test_a_client": (
        "mysql",
        "MySQL Connector/J",
        "PyMySQL",
        "mysql2 (node)",
    ),
    "test_iceberg_model.py::test_the_model_finds_an_index_that_goes_stale": ("('spec',)-3",),
    "test_lake_changed.py::test_a_codec_that_another_engine_sets": ("lz4-ZSTD-True", "nonsense-ZSTD-False"),
    "test_lake_foreign_columns.py::test_a_column_of_a_type_that_we_do_not_have": (
        "VARIANT-False-True",
        "STRUCT<a: INT, b: STRING>-True-False",
    ),
    "test_lake_foreign_columns.py::test_a_column_that_something_of_another_engine_depends_on": ("identifier, v3",),
    "test_lake_foreign_settings.py::test_a_column_of_the_name_of_a_partition_field": (
        "renamed-v",
        "added-bucket(4, id)",
    ),
    "test_lake_partitions.py::test_a_partition_by_a_long_text": ("s-True",),
    "test_lake_partitions.py::test_a_partition_field_that_another_engine_adds": ("text", "truncated long"),
    "test_lake_partitions.py::test_a_partition_field_that_was_removed_from_a_table_of_format_v1": (
        "kept-not indexed",
        "dropped-indexed",
    ),
    "test_lake_partitions.py::test_an_equality_delete_of_another_engine": (
        "followed, of the partition",
        "built_anew, of all partitions",
    ),
    "test_lake_partitions.py::test_position_deletes_of_another_engine": ("built_anew, of another spec",),
    "test_lake_races.py::test_upkeep_beside_a_commit": ("foreign delete, indexed--some calls",),
    "test_lake_replaced_columns.py::test_a_column_that_was_replaced_stops_its_table": ("indexed",),
    "test_lake_rolled_back.py::test_older_metadata_that_cannot_be_read_for_a_moment_tell_nothing": ("True",),
    "test_lake_storage.py::test_a_table_that_was_put_elsewhere_stops": (
        "not indexed-s3x://bucket/t",
        "indexed-s3a://bucket/t",
    ),
    "test_lake_upkeep.py::test_files_of_others_that_cannot_be_folded": ("in_avro",),
    "test_lake_upkeep.py::test_what_another_engine_has_staged_is_kept": ("too old",),
    "test_mysql_broken.py::test_changed_events_end_in_typed_errors": ("mysql-40-True", "mariadb-40-False"),
    "test_remote_lake.py::test_a_catalog_that_lies_changes_nothing": (
        "arrow-409-False",
        "arrow-silent",
        "vectors-409-False",
        "alter-409-False",
    ),
    "test_snapshot_commit.py::test_a_roll_back_between_chunks_is_noticed_though_the_history_is_lost": ("all are in",),
    "test_snapshot_excerpt.py::test_a_part_takes_the_place_of_its_keys": ("DISTRIBUTED BY HASH(id) BUCKETS 4-2-False",),
}


def mark(items: Iterable[pytest.Item]) -> None:
    for item in items:
        kept = KEPT.get(_name(item))
        if kept is not None and _case(item) not in kept:
            item.add_marker(pytest.mark.slow)


def unknown(items: Iterable[pytest.Item]) -> list[str]:
    """Cases of KEPT that the tests of a module do not have."""
    found: dict[str, set[str]] = {}
    for item in items:
        found.setdefault(_name(item), set()).add(_case(item))
    return [f"{name}[{case}]" for name, cases in found.items() for case in KEPT.get(name, ()) if case not in cases]


def _name(item: pytest.Item) -> str:
    return f"{item.path.name}::{item.name.partition('[')[0]}"


def _case(item: pytest.Item) -> str:
    return item.name.partition("[")[2].removesuffix("]")
