"""The data files of an epoch or a chunk: written by Arrow if possible, otherwise by Spark.

Owns: which of the two writes, and what a failure of either means.
Must not know: tokens, transactions, when files are deleted.
"""

from syncmgr.errors import SyncError
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.lake.commit import arrow_writer, rows
from syncmgr.lake.commit.plain_rows import PlainFiles
from syncmgr.lake.commit.uncommitted_files import WrittenFiles
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.index.keys import EpochKeys
from syncmgr.lake.spark.jvm import JAVA_ERRORS, text_of
from syncmgr.lake.storage_errors import of_lake

NumberedKeys = tuple[int, EpochKeys]  # with the seed by which they are numbered


def write(
    iceberg: Iceberg,
    channel: ChannelCommit,
    written: WrittenFiles,
    codec: str,
    keys: NumberedKeys | None,
    *,
    distinct: bool,
) -> None:
    """Into the folder of `written`. `distinct`: no key has two changes. A failure leaves files that nothing names.

    Raises SOURCE_VALUE, BAD_EXPRESSION, UNKNOWN_COLUMN, COLUMN_NOT_COVERED, LAKE_FULL, the errors of the source, and
    those of Java if Spark's message does not blame the rows.
    """
    try:
        if channel.chunk is not None:
            _write_chunk(iceberg, channel, channel.chunk, written, codec)
        elif not _write_plain(channel, written, codec, keys):
            rows.write(iceberg.spark, channel, written.layout, _spec(written, codec, distinct=distinct))
    except OSError as error:
        raise SyncError(of_lake(str(error)), reason=str(error)) from error
    except JAVA_ERRORS as error:
        bad = rows.value_error(text_of(error), channel, written.layout)
        if bad is None:
            raise
        raise bad from error


def _spec(written: WrittenFiles, codec: str, *, distinct: bool) -> rows.WriteSpec:
    return rows.WriteSpec(folder=written.folder, codec=codec, gone=written.gone, distinct=distinct)


def _write_chunk(iceberg: Iceberg, channel: ChannelCommit, chunk: ChunkRows, written: WrittenFiles, codec: str) -> None:
    """Its rows go from the source right into data files, or into files that Spark reads."""
    plain = None if written.gone else arrow_writer.plain(channel, written.layout, written.folder)
    if plain is not None:
        sink = PlainFiles(plain.columns, plain.folder(written.folder), codec)
        read = chunk.reader.read(chunk, sink)
        written.rows, written.dead = read.rows, read.dead
        return
    with chunk.reader.staged(chunk) as read:
        written.dead = read.dead
        rows.write(iceberg.spark, channel, written.layout, _spec(written, codec, distinct=True), read.files)


def _write_plain(channel: ChannelCommit, written: WrittenFiles, codec: str, numbered: NumberedKeys | None) -> bool:
    """Whether the epoch could be written without Spark."""
    seed, touched = numbered or (None, None)
    if channel.keys and (touched is None or written.gone or not touched.complete):
        return False
    plain = arrow_writer.plain(channel, written.layout, written.folder)
    if plain is None:
        return False
    if touched is None:
        written.rows = arrow_writer.write(channel, plain, None, written.folder, codec)
    else:
        which, keys = touched.images()
        written.rows = arrow_writer.write(channel, plain, which, written.folder, codec)
        written.keys, written.seed = [keys] if len(keys) else [], seed
    return True
