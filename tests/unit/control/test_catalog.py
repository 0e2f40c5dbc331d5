"""From CREATE TABLE to a target and back."""

import pytest

import syncsql
from syncmgr.control.catalog import Catalog, defined, ignored
from syncmgr.errors import Code, SyncError
from syncmgr.job.types import table_rules
from tests.support.memory_tables import databases


def parsed(sql: str) -> syncsql.CreateTable:
    [found] = syncsql.parse(sql)
    assert isinstance(found.statement, syncsql.CreateTable)
    return found.statement


def test_key_columns_take_no_null() -> None:
    """Unless the statement says NULL, which is refused."""
    assert not defined(parsed("CREATE TABLE t (id INT) UNIQUE KEY(id)"), "d").columns[0].nullable
    with pytest.raises(SyncError):
        table_rules.check(defined(parsed("CREATE TABLE t (id INT NULL) UNIQUE KEY(id)"), "d"))


@pytest.mark.parametrize("sql", ["CREATE TABLE t (id INT DEFAULT '5')", "CREATE TABLE t (id INT) ENGINE = mysql"])
def test_what_the_lake_has_not(sql: str) -> None:
    """A default that nobody would apply, an engine that is not there."""
    with pytest.raises(SyncError) as caught:
        defined(parsed(sql), "d")
    assert caught.value.code is Code.NOT_SUPPORTED


def test_one_bucket_places_nothing() -> None:
    """Nor does AUTO or RANDOM."""
    for clause in ("HASH(id) BUCKETS 1", "HASH(id) BUCKETS AUTO", "RANDOM BUCKETS 4"):
        assert defined(parsed(f"CREATE TABLE t (id INT) DISTRIBUTED BY {clause}"), "d").partition == ()


def test_the_primary_key_of_mysql() -> None:
    """It is a UNIQUE KEY, wherever it stands, and its columns take no NULL."""
    for sql in ("(id INT PRIMARY KEY, v INT)", "(id INT, v INT, PRIMARY KEY (id))", "(id INT, v INT) UNIQUE KEY(id)"):
        table = defined(parsed(f"CREATE TABLE t {sql}"), "d")
        assert table.keys == ("id",)
        assert [column.nullable for column in table.columns] == [False, True]


def test_what_mysql_says_besides_is_told() -> None:
    """One warning for each part that does nothing; UTF-8 is what text is, so there is nothing to say of it."""
    options = "ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"
    sql = f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) {options}"
    assert [(each.level, each.code, each.text) for each in ignored(parsed(sql))] == [
        ("Warning", Code.OPTION_IGNORED, "ENGINE = InnoDB is ignored: tables are Iceberg's"),
        ("Warning", Code.OPTION_IGNORED, "AUTO_INCREMENT = 5 is ignored: values come from the source"),
        ("Warning", Code.OPTION_IGNORED, "COLLATE = utf8mb4_bin is ignored: text compares by its bytes"),
        ("Warning", Code.OPTION_IGNORED, "ROW_FORMAT = DYNAMIC is ignored: data files are Parquet"),
        ("Warning", Code.OPTION_IGNORED, "AUTO_INCREMENT of column 'id' is ignored: values come from the source"),
    ]
    assert len([*ignored(parsed("CREATE TABLE t (id INT) CHARSET=latin1"))]) == 1
    assert not [*ignored(parsed("CREATE TABLE t (id INT) ENGINE=iceberg"))]


def test_a_drop_says_that_files_stay() -> None:
    """Of a table, and of all tables of a database, if another table has the files of one."""
    tables = databases("d")
    catalog = Catalog(tables, lambda _db, _table: None)
    for name in ("t", "u", "v"):
        catalog.create_table(parsed(f"CREATE TABLE {name} (id INT)"), "d")
    tables.second_names = {"e.t": ("d", "t"), "e.u": ("d", "u")}
    [dropped] = syncsql.parse("DROP TABLE t")
    assert isinstance(dropped.statement, syncsql.DropTable)
    told = [*catalog.drop_table(dropped.statement, "d"), *catalog.drop_database("d", if_exists=False, force=True)]
    assert [(each.level, each.code) for each in told] == [("Warning", Code.FILES_KEPT)] * 2
    assert all(other in each.text for each, other in zip(told, ("e.t", "e.u"), strict=True))
