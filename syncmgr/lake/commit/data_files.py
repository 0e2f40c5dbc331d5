"""The data files of an epoch or a chunk: written by Arrow if possible, otherwise by Spark.

Owns: which of the two writes, and what a failure of either means.
Must not know: tokens, transactions, when files are deleted.
"""

from pathlib import Path

from syncmgr.errors import SyncError
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.lake.commit import arrow_writer, rows
from syncmgr.lake.commit.uncommitted_files import WrittenFiles
from syncmgr.lake.executors.row_sink import sink_for
from syncmgr.lake.executors.row_source import row_source
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.index.keys import EpochKeys
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java, text_of
from syncmgr.lake.storage_errors import of_lake
from syncmgr.lake.target.plain_rows import PlainFiles

NumberedKeys = tuple[int, EpochKeys]  # with the seed by which they are numbered


def write(
    iceberg: Iceberg,
    channel: ChannelCommit,
    written: WrittenFiles,
    table: Java,
    keys: NumberedKeys | None,
    *,
    distinct: bool,
) -> None:
    """Into the folder of `written`, for a `table`. `distinct`: no key has two changes. A failure leaves files that
    nothing names.

    Raises SOURCE_VALUE, BAD_EXPRESSION, UNKNOWN_COLUMN, COLUMN_NOT_COVERED, LAKE_FULL, the errors of the source, and
    those of Java if Spark's message does not blame the rows.
    """
    try:
        folder, codec = iceberg.storage.place(written.folder), iceberg.codec(table)
        if channel.chunk is not None:
            _write_chunk(iceberg, channel, channel.chunk, written, table)
        elif not _write_plain(channel, written, folder, codec, keys):
            spec = _spec(iceberg, channel, written, table, distinct=distinct)
            with row_source(iceberg, table, written.folder) as source:
                rows.write(source, channel, written.layout, spec)
    except OSError as error:
        raise SyncError(of_lake(str(error)), reason=str(error)) from error
    except JAVA_ERRORS as error:
        bad = rows.value_error(text_of(error), channel, written.layout)
        if bad is None:
            raise
        raise bad from error


def _spec(
    iceberg: Iceberg, channel: ChannelCommit, written: WrittenFiles, table: Java, *, distinct: bool
) -> rows.WriteSpec:
    written.sink = sink_for(iceberg, table, written.layout, written.folder, (channel.db, channel.table))
    return rows.WriteSpec(sink=written.sink, gone=written.gone, distinct=distinct)


def _write_chunk(
    iceberg: Iceberg, channel: ChannelCommit, chunk: ChunkRows, written: WrittenFiles, table: Java
) -> None:
    """Its rows go from the source right into data files, or into files that Spark reads."""
    plain = None if written.gone else arrow_writer.plain(channel, written.layout)
    if plain is not None:
        sink = PlainFiles(plain.columns, plain.folder(iceberg.storage.place(written.folder)), iceberg.codec(table))
        read = chunk.reader.read(chunk, sink)
        written.rows, written.dead = read.rows, read.dead
        return
    with chunk.reader.staged(chunk) as read:
        written.dead = read.dead
        spec = _spec(iceberg, channel, written, table, distinct=True)
        with row_source(iceberg, table, written.folder) as source:
            rows.write(source, channel, written.layout, spec, read.files)


def _write_plain(
    channel: ChannelCommit, written: WrittenFiles, folder: Path, codec: str, numbered: NumberedKeys | None
) -> bool:
    """Whether the epoch could be written without Spark, into a folder of the local disk."""
    seed, touched = numbered or (None, None)
    if channel.keys and (touched is None or written.gone or not touched.complete):
        return False
    plain = arrow_writer.plain(channel, written.layout)
    if plain is None:
        return False
    if touched is None:
        written.rows = arrow_writer.write(channel, plain, None, folder, codec)
    else:
        which, keys = touched.images()
        written.rows = arrow_writer.write(channel, plain, which, folder, codec)
        written.keys, written.seed = [keys] if len(keys) else [], seed
    return True
