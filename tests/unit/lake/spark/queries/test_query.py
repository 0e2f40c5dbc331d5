import pytest

from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.spark.queries.query import of_lake


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        *(f"orders.{part}" for part in ("snapshots", "ALL_DATA_FILES", "all_entries", "position_deletes", "changes")),
        *(f"orders.{part}" for part in ("branch_audit", "tag_2026", "snapshot_id_123", "at_timestamp_9")),
    ],
)
def test_a_grant_on_a_table_covers_its_metadata_and_states(name: str) -> None:
    """Iceberg reads them as parts of the table."""
    assert of_lake((CATALOG, "demo", *name.split("."))) == ("demo", "orders")


@pytest.mark.parametrize(
    "name",
    [
        None,
        (CATALOG, "demo"),
        ("other", "demo", "orders"),
        (CATALOG, "demo", "/somewhere/orders"),
        (CATALOG, "demo", "orders", "salaries"),
        (CATALOG, "demo", "orders", "files", "x"),
    ],
)
def test_no_grant_covers_anything_else(name: tuple[str, ...] | None) -> None:
    """Also not a table of the namespace demo.orders, which is not the table of that name."""
    assert of_lake(name) is None
