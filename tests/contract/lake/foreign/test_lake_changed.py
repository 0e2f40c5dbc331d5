"""What other engines do to a table itself: its partition spec, its identifier, its time; and keys made to collide."""

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import heals
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.epoch import ChannelAlter, LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.index.indexing import IndexState
from syncmgr.lake.storage.locations import local
from syncmgr.lake.upkeep.compaction import Compaction
from syncmgr.lake.upkeep.fold import Fold
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, partitioned_by

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def off(table: LakeTable) -> None:
    table.indexing.give_up(ValueError("switched off by the test"))


SPECS = [
    pytest.param("", ("id:4",), id="buckets where there were none", marks=pytest.mark.slow),
    pytest.param("DISTRIBUTED BY HASH(id) BUCKETS 4", ("-id:4", "id:8"), id="more buckets"),
    pytest.param("", ("v",), id="by what is no key"),
]


@pytest.mark.parametrize(("place", "terms"), SPECS)
def test_a_changed_partition_spec_with_the_index(tables: Tables, place: str, terms: tuple[str, ...]) -> None:
    """Updates and deletes meet their rows wherever they lie."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    table.commit([(INS, key, 0) for key in range(8)])
    partitioned_by(table, *terms)
    table.commit([(UPD, 1, 1), (DEL, 2, 0), (INS, 8, 0)])
    table.commit([(UPD, 1, 2), (UPD, 8, 2)])
    expected = {key: 0 for key in range(9) if key != 2} | {1: 2, 8: 2}
    assert table.rows() == sorted(expected.items())


@pytest.mark.parametrize(("place", "terms"), SPECS)
def test_a_changed_partition_spec_without_the_index(tables: Tables, place: str, terms: tuple[str, ...]) -> None:
    """Nothing is committed that would double a row, until all files are of a spec that the key decides alone."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    off(table)
    table.commit([(INS, key, 0) for key in range(8)])
    partitioned_by(table, *terms)
    commit = table.prepared([(UPD, 1, 1), (DEL, 2, 0), (INS, 8, 0)])
    with pytest.raises(SyncError) as caught:
        table.apply(commit)
    assert caught.value.code is Code.SPEC_CHANGED
    assert table.rows() == [(key, 0) for key in range(8)]
    assert set() == table.stray_files()
    if terms == ("v",):
        partitioned_by(table, "-v")
    else:
        name = f"{table.db}.{table.name}"
        table.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    table.apply(commit)
    expected = {key: 0 for key in range(9) if key != 2} | {1: 1}
    assert table.rows() == sorted(expected.items())


@pytest.mark.parametrize("folded", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_removed_partition_spec_without_the_index(tables: Tables, *, folded: bool) -> None:
    """Deletes of a table without partitions reach the files of the spec that it had, for every reader, and a fold."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 4")
    off(table)
    table.commit([(INS, key, 0) for key in range(8)])
    partitioned_by(table, "-id:4")
    table.commit([(UPD, 1, 1), (DEL, 2, 0), (INS, 8, 0)])
    expected = {key: 0 for key in range(9) if key != 2} | {1: 1}
    if folded:
        lake = table.lake
        assert Fold(lake.iceberg(), lake.upkeep_session(), table.db, table.name, table.indexing).run() > 0
        assert table.files(2) == 0
    assert table.rows() == sorted(expected.items())
    table.commit([(UPD, 1, 2), (DEL, 3, 0)])
    expected[1] = 2
    del expected[3]
    assert table.rows() == sorted(expected.items())


def test_a_lost_identifier_is_named(tables: Tables) -> None:
    """Where it is why a changed spec cannot be written, the error says so; once it is back, so is the index."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
    table.commit([(INS, key, key) for key in range(5)])
    partitioned_by(table, "v")
    identified_by(table)
    commit = table.prepared([(UPD, 1, 11)])
    with pytest.raises(SyncError, match=r"no usable key index \(the table has no identifier fields\)") as caught:
        table.apply(commit)
    assert caught.value.code is Code.SPEC_CHANGED
    assert not heals(caught.value)
    identified_by(table, "id")
    table.apply(commit)
    assert table.rows() == [(0, 0), (1, 11), (2, 2), (3, 3), (4, 4)]
    assert table.indexing.standing().state is IndexState.READY


def identified_by(table: LakeTable, *names: str) -> None:
    iceberg = table.lake.iceberg()
    iceberg.load(table.db, table.name).updateSchema().setIdentifierFields(iceberg.strings(list(names))).commit()


def test_another_identifier_switches_the_index_off(tables: Tables) -> None:
    """Rows are found by the key of the job, and Status says what is wrong; with the old identifier it is back."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    table.commit([(INS, key, key) for key in range(5)])
    identified_by(table, "v")
    table.commit([(UPD, 1, 11), (DEL, 2, 2)])
    assert table.rows() == [(0, 0), (1, 11), (3, 3), (4, 4)]
    standing = table.indexing.standing()
    assert standing.state is IndexState.OFF
    assert standing.reason == "the table's identifier (v) is not the key of the job (id)"
    identified_by(table, "id")
    table.commit([(UPD, 3, 33)])
    assert table.rows() == [(0, 0), (1, 11), (3, 33), (4, 4)]
    assert (table.indexing.standing().state, table.files(2)) == (IndexState.READY, 0)


def test_a_clock_that_was_set_back_is_told(tables: Tables, tmp_path: Path) -> None:
    """The error has the seconds and the table; nothing is written, and commits go on when the clock is right."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    iceberg = table.lake.iceberg()
    loaded = iceberg.load(table.db, table.name)
    parser = iceberg.jvm.org.apache.iceberg.TableMetadataParser
    now, later = loaded.operations().current(), int((time.time() + 3600) * 1000)
    text = str(parser.toJson(now))
    for moment in {now.lastUpdatedMillis(), loaded.currentSnapshot().timestampMillis()}:
        text = text.replace(str(moment), str(later))
    ahead = parser.fromJson(text)
    loaded.operations().commit(now, ahead)
    commit = table.prepared([(INS, 2, 2)])
    with pytest.raises(SyncError, match=r"is 3[56]\d\d s behind the last commit of table") as caught:
        table.apply(commit)
    assert caught.value.code is Code.LAKE_CLOCK
    alter = ChannelAlter(
        token=table.token,
        epoch=2,
        fingerprint="f",
        db=table.db,
        table=table.name,
        changes=(AddField(name="w", type=TargetType(name="BIGINT")),),
        last=LastCommit(epoch=1, snapshot=table.last_snapshot),
    )
    with pytest.raises(SyncError, match=r"is 3[56]\d\d s behind the last commit of table"):
        table.lake.alter(alter)
    assert table.rows() == [(1, 1)]


SECRET = bytes.fromhex("b8fe6c3923a44bbe7c01812cf721ad1c")  # the first bytes of XXH3's own, which everybody knows


def colliding() -> tuple[bytes, bytes]:
    """Two keys of 300 bytes with one hash: what hides the halves of a lane in two stripes is made zero, so that only
    the sum of both counts.
    """
    found = []
    for first, second in ((97, 98), (98, 97)):
        key = bytearray(b"x" * 300)
        key[0:8] = bytes([first, 0, 0, 0]) + SECRET[4:8]
        key[64:72] = bytes([second, 0, 0, 0]) + SECRET[12:16]
        found.append(bytes(key))
    return found[0], found[1]


def test_keys_that_were_made_to_collide_are_two(tables: Tables) -> None:
    """Whoever can choose a key cannot make it delete somebody else's row."""
    mine, theirs = colliding()
    assert xxhash.xxh3_128_digest(mine) == xxhash.xxh3_128_digest(theirs)
    table = tables.make("(k BINARY NOT NULL, v BIGINT) UNIQUE KEY(k)", ("k", "v"), ("k",), types={"k": pa.binary()})
    table.commit([(INS, mine, 1)])
    table.commit([(INS, theirs, 2)])
    assert table.in_spark("v") == [(1,), (2,)]
    table.commit([(DEL, theirs, 2)])
    assert table.in_spark("v") == [(1,)]
    assert table.indexing.standing().state is IndexState.READY


CODECS = {  # as a table's property says, and what is written
    "lz4": "ZSTD",
    "BROTLI": "ZSTD",
    "nonsense": "ZSTD",
    "": "ZSTD",
    "ZSTD": "ZSTD",
    "UNCOMPRESSED": "UNCOMPRESSED",
    "Snappy": "SNAPPY",
    "gzip": "GZIP",
}


@pytest.mark.parametrize(
    ("word", "written", "by_spark"),
    some_slow(
        ((*codec, by_spark) for codec in CODECS.items() for by_spark in (False, True)),
        always=[
            ("lz4", "ZSTD", True),
            ("nonsense", "ZSTD", False),
            ("Snappy", "SNAPPY", False),
            ("gzip", "GZIP", True),
        ],
    ),
)
def test_a_codec_that_another_engine_sets(tables: Tables, word: str, written: str, *, by_spark: bool) -> None:
    """It is used where every writer and reader here has it, however it is written; zstd otherwise."""
    table = tables.make(expressions={"id": "`id`", "v": "abs(`v`)"} if by_spark else {})
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.parquet.compression-codec' = '{word}')")
    for key in range(8):
        table.commit([(INS, key, key)])
    assert codecs(table) == {written}
    assert table.rows() == [(key, key) for key in range(8)]
    assert Compaction(table.lake.iceberg(), table.db, table.name, table.indexing).run()
    assert codecs(table) == {written}
    assert table.rows() == [(key, key) for key in range(8)]


def codecs(table: LakeTable) -> set[str]:
    """How the data files of the table are compressed."""
    spark = table.lake.iceberg().spark
    found = spark.sql(f"SELECT file_path FROM lake.{table.db}.{table.name}.data_files").collect()
    return {pq.read_metadata(local(path)).row_group(0).column(0).compression for (path,) in found}


def inserted(table: LakeTable) -> None:
    table.sql("INSERT INTO {table} VALUES (500, -1)")


def expired(table: LakeTable) -> None:
    inserted(table)
    table.sql("CALL lake.system.expire_snapshots('{table}', TIMESTAMP '2999-01-01', 1)")


def rolled_back(table: LakeTable) -> None:
    first = table.last_snapshot
    table.commit([(INS, 2, 2)])
    table.sql(f"CALL lake.system.rollback_to_snapshot('{table.db}.{table.name}', {first})")


def replaced(table: LakeTable) -> None:
    table.sql("CREATE OR REPLACE TABLE {table} USING iceberg AS SELECT * FROM {table}")


def another_column(table: LakeTable) -> None:
    table.sql("ALTER TABLE {table} DROP COLUMN v")
    table.sql("ALTER TABLE {table} ADD COLUMN v BIGINT")


@pytest.mark.parametrize(
    ("change", "other"),
    [(inserted, False), (expired, False), (rolled_back, True), (replaced, True), (another_column, True)],
)
def test_a_table_that_lacks_what_was_committed_is_told(
    tables: Tables, change: Callable[[LakeTable], None], *, other: bool
) -> None:
    """Before a commit meets it, so that one RESYNC TABLE is enough; what others add, or expire, is no such thing."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    change(table)
    assert table.last_snapshot is not None
    assert table.lake.tables.is_other(table.db, table.name, table.token, table.last_snapshot) is other
