"""Databases and tables, from CREATE to DROP, in a real lake."""

from pathlib import Path

import pytest

import syncsql
from syncmgr.control.catalog import Catalog, defined
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TableSize
from syncmgr.lake.drops import Drops
from syncmgr.lake.iceberg.layout import BYTES, CHANGES, ROWS
from tests.support.spark_session import SPARK, Tables, statement
from tests.unit.lake.iceberg_model import REPEATS

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
WHOLE = """CREATE TABLE `{db}`.`All Words` (
  `id` LARGEINT NOT NULL,
  `name` VARCHAR(16) NOT NULL COMMENT "it's \\"the\\" name",
  `a` TINYINT NULL, `b` SMALLINT NULL, `c` BOOLEAN NULL, `d` DECIMAL(12, 2) NULL, `e` DATETIME(3) NULL,
  `f` TIMESTAMP NULL, `g` JSON NULL, `h` CHAR(3) NULL, `i` BINARY(4) NULL, `j` FLOAT NULL, `k` DATE NULL
)
UNIQUE KEY (`name`, `id`)
COMMENT "ünïcode"
PARTITION BY (TRUNCATE(2, `name`))
DISTRIBUTED BY HASH (`id`) BUCKETS 4
PROPERTIES ("write.parquet.compression-codec" = "snappy")"""


def code_of(call: object, *arguments: object, **named: object) -> Code:
    with pytest.raises(SyncError) as caught:
        call(*arguments, **named)  # type: ignore[operator]
    return caught.value.code


def dropped(sql: str) -> syncsql.DropTable:
    [parsed] = syncsql.parse(sql)
    assert isinstance(parsed.statement, syncsql.DropTable)
    return parsed.statement


def test_show_create_table_gives_the_statement_back(tables: Tables) -> None:
    """Every word of a statement survives the lake, and what is printed makes the same table."""
    node = statement(WHOLE.format(db=tables.db))
    tables.catalog.create_table(node, None)
    assert node.sql() == tables.catalog.create_table_text(tables.db, "All Words")


def test_how_often_iceberg_repeats_a_commit_is_its_own_choice(tables: Tables) -> None:
    """No table is made with other repeats than those by which the model of its rules tests our commits."""
    iceberg, table = tables.lake.iceberg(), tables.make()
    properties = iceberg.properties(iceberg.load(table.db, table.name))
    assert [name for name in properties if name.startswith("commit.retry.")] == []
    assert iceberg.jvm.org.apache.iceberg.TableProperties.COMMIT_NUM_RETRIES_DEFAULT == REPEATS


def test_a_table_says_how_large_it_is(tables: Tables) -> None:
    """By the count of its last commit, the same whether Spark is asked or the metadata are read without it; rows that
    were updated or deleted count once or not at all.
    """
    table, iceberg = tables.make(), tables.lake.iceberg()
    assert tables.lake.tables.describe(table.db, table.name).size == TableSize(rows=0, bytes=0)
    table.commit([(INS, key, 1) for key in range(10)])
    table.commit([(UPD, 1, 2), (DEL, 2, 0)])
    size = tables.lake.tables.describe(table.db, table.name).size
    told = iceberg.properties(iceberg.load(table.db, table.name))
    assert size == TableSize(rows=9, bytes=int(told[BYTES]))
    assert told[ROWS] == "9"


def forgiven(notes: tuple[Diagnostic, ...]) -> list[Code]:
    return [note.code for note in notes]


def test_databases_come_and_go(tables: Tables) -> None:
    """With the errors that MySQL has for it."""
    catalog, name = tables.catalog, f"{tables.db}_x"
    assert catalog.create_database(name, if_not_exists=False) == ()
    assert name in catalog.databases()
    assert code_of(catalog.create_database, name, if_not_exists=False) is Code.DATABASE_EXISTS
    assert forgiven(catalog.create_database(name, if_not_exists=True)) == [Code.DATABASE_EXISTS]
    catalog.create_table(statement("CREATE TABLE t (id INT)"), name)
    assert code_of(catalog.drop_database, name, if_exists=False, force=False) is Code.DATABASE_NOT_EMPTY
    assert catalog.drop_database(name, if_exists=False, force=True) == ()
    assert name not in catalog.databases()
    assert code_of(catalog.drop_database, name, if_exists=False, force=False) is Code.DROP_NO_DATABASE
    assert forgiven(catalog.drop_database(name, if_exists=True, force=False)) == [Code.DROP_NO_DATABASE]


def test_tables_come_and_go(tables: Tables) -> None:
    """A dropped table takes its files with it, and one of the same name begins empty."""
    table = tables.make(name="t")
    table.commit([(0, 1, 1)])
    location = Path(str(tables.lake.iceberg().load(tables.db, "t").location()))
    catalog = tables.catalog
    assert code_of(catalog.create_table, statement("CREATE TABLE t (id INT)"), tables.db) is Code.TABLE_EXISTS
    node = statement("CREATE TABLE IF NOT EXISTS t (id INT)")
    assert forgiven(catalog.create_table(node, tables.db)) == [Code.TABLE_EXISTS]
    assert catalog.drop_table(dropped("DROP TABLE t"), tables.db) == ()
    assert list(location.rglob("*.parquet")) == []
    assert code_of(catalog.drop_table, dropped("DROP TABLE t"), tables.db) is Code.UNKNOWN_TABLE
    assert forgiven(catalog.drop_table(dropped("DROP TABLE IF EXISTS t"), tables.db)) == [Code.UNKNOWN_TABLE]
    again = tables.make(name="t")
    assert again.rows() == []


def test_no_file_of_a_dropped_table_goes_before_the_catalog_is_on_the_disk(tables: Tables) -> None:
    """After a power failure the catalog may name the table again, which must have its files then."""
    table = tables.make()
    table.commit([(0, 1, 1)])
    iceberg = tables.lake.iceberg()
    location = Path(str(iceberg.load(tables.db, table.name).location()))
    files = sorted(location.rglob("*"))

    def lose() -> None:
        assert table.name not in tables.catalog.tables(tables.db)
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        iceberg.drop_table(tables.db, table.name, Drops(folder=tables.folder / "dropped", sync=lose, tables=dict))
    assert files
    assert sorted(location.rglob("*")) == files


def test_views_of_another_engine_are_left_alone(tables: Tables) -> None:
    """A view is no table, and a database that has one is dropped with all its tables or not at all."""
    table = tables.make()
    table.commit([(0, 1, 1)])
    table.sql(f"CREATE VIEW lake.{tables.db}.v AS SELECT id FROM {{table}}")
    assert tables.catalog.tables(tables.db) == [table.name]
    assert tables.lake.iceberg().views(tables.db) == ["v"]
    assert code_of(tables.catalog.table, tables.db, "v") is Code.NO_SUCH_TABLE
    drop = tables.catalog.drop_database
    assert code_of(drop, tables.db, if_exists=False, force=True) is Code.DATABASE_HAS_VIEWS
    assert table.rows() == [(1, 1)]
    table.sql(f"DROP VIEW lake.{tables.db}.v")
    drop(tables.db, if_exists=False, force=True)
    assert tables.db not in tables.catalog.databases()


def test_a_target_is_not_dropped(tables: Tables) -> None:
    """A table that a job writes to is refused by the job's name, alone and with its database."""
    tables.make(name="t")
    catalog = Catalog(tables.lake.tables, lambda _db, _table: "job1")
    assert code_of(catalog.drop_table, dropped("DROP TABLE t"), tables.db) is Code.TABLE_BUSY
    assert code_of(catalog.drop_database, tables.db, if_exists=False, force=True) is Code.TABLE_BUSY
    assert catalog.tables(tables.db) == ["t"]


def test_names_that_are_not_there(tables: Tables) -> None:
    """Unknown databases and tables, and none in use."""
    catalog = tables.catalog
    assert code_of(catalog.tables, "nowhere") is Code.UNKNOWN_DATABASE
    assert code_of(catalog.table, "nowhere", "t") is Code.UNKNOWN_DATABASE
    assert code_of(catalog.table, tables.db, "nothing") is Code.NO_SUCH_TABLE
    assert code_of(catalog.create_table, statement("CREATE TABLE t (id INT)"), None) is Code.NO_DATABASE
    assert code_of(catalog.create_table, statement("CREATE TABLE nowhere.t (id INT)"), None) is Code.UNKNOWN_DATABASE


def test_names_that_cannot_be(tables: Tables) -> None:
    """What would leave the lake's folder, or mean two things, is refused."""
    for name in ("a/b", "..", "a.b", "", "x" * 65, " a"):
        assert code_of(tables.catalog.create_database, name, if_not_exists=False) is Code.BAD_NAME


def test_a_table_of_somebody_else_is_described(tables: Tables) -> None:
    """In the nearest of Doris' words."""
    spark = tables.lake.iceberg().spark
    spark.sql(f"CREATE TABLE lake.{tables.db}.o (id BIGINT NOT NULL, at TIMESTAMP) PARTITIONED BY (days(at))")
    assert "TIMESTAMP" in tables.catalog.create_table_text(tables.db, "o")
    assert tables.catalog.table(tables.db, "o").partition == ("day(at)",)


def test_who_has_written_of_late_is_told(tables: Tables) -> None:
    """The tokens of channels that have committed rows, whoever's they are; not those of long ago, nor other writers."""
    table = tables.make()
    table.commit([(ChangeKind.INSERT, 1, 1)])
    table.sql("INSERT INTO {table} VALUES (2, 2)")
    assert table.lake.tables.writers(table.db, table.name, 300.0) == {table.token}
    assert table.lake.tables.writers(table.db, table.name, -1.0) == frozenset()


def test_a_target_is_spare_until_somebody_changes_it(tables: Tables) -> None:
    """As the files of the catalog say, and as Iceberg does; one that was made with rows in it never is."""
    catalog, iceberg = tables.catalog, tables.lake.iceberg()
    node = statement("CREATE TABLE t (id INT NOT NULL) UNIQUE KEY(id)")
    target = catalog.make(defined(node, tables.db))
    assert catalog.table(tables.db, "t").is_spare
    assert target.uuid == iceberg.uuid(iceberg.load(tables.db, "t"))
    iceberg.spark.sql(f"INSERT INTO lake.{tables.db}.t VALUES (1)").collect()
    iceberg.spark.sql(f"CREATE TABLE lake.{tables.db}.full USING iceberg AS SELECT 1 AS id").collect()
    for name in ("t", "full"):
        assert not catalog.table(tables.db, name).is_unused
        assert iceberg.properties(iceberg.load(tables.db, name))[CHANGES] != "0"
    catalog.unmake(target)
    assert catalog.tables(tables.db) == ["full", "t"]


def test_a_target_that_nobody_used_is_unmade(tables: Tables) -> None:
    """With its folder; a table that has taken its name meanwhile stays."""
    catalog, iceberg = tables.catalog, tables.lake.iceberg()
    node = statement("CREATE TABLE t (id INT NOT NULL) UNIQUE KEY(id)")
    target = catalog.make(defined(node, tables.db))
    found = iceberg.load(tables.db, "t")
    assert iceberg.properties(found)[CHANGES] == "0"
    again = catalog.make(target)
    assert again.uuid != target.uuid
    assert not list(Path(str(found.location())).rglob("*.json"))
    catalog.unmake(target)
    assert catalog.table(tables.db, "t").uuid == again.uuid
    catalog.unmake(again)
    assert catalog.tables(tables.db) == []
