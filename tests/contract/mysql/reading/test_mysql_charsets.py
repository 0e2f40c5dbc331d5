"""Every code of every charset, as the servers themselves convert it."""

import itertools
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from typing import Any, Final

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import check_key_covers
from syncmgr.job.types.charset import EVERYWHERE, EXCHANGED, MAX_BYTES, ONE_TO_ONE, WITHOUT, is_exchanged
from syncmgr.job.types.schema import TargetTable
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.values import charsets
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers, some_slow

TEXTS: Final = sorted(set(MAX_BYTES) - {"binary"})
IN_EVERY_RUN: Final = ("armscii8", "cp932", "latin1", "tis620", "utf16", "utf8mb4")  # the hardest ones
STEP: Final = 97  # of the characters beyond the first 65536, and of the four-byte codes of gb18030
PART: Final = 8000
TWO: Final = b"??"  # what MySQL makes of a lead byte of EUC and something behind it


def codes(charset: str) -> Iterator[bytes]:
    """One character each, and some that are none."""
    match charset:
        case "utf16" | "utf16le" | "utf32" | "utf8mb3" | "utf8mb4" | "ucs2":
            codec = {"utf16": "utf-16-be", "ucs2": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}
            beyond = () if charset == "ucs2" else range(0x10000, 0x110000, STEP)
            numbers = [*range(0xD800), *range(0xE000, 0x10000), *beyond]
            yield from (chr(number).encode(codec.get(charset, "utf-8")) for number in numbers)
        case _:
            yield from (bytes([byte]) for byte in range(256))
            if MAX_BYTES[charset] > 1:
                yield from (bytes(pair) for pair in product(range(0x80, 256), range(256)))
            if charset in {"ujis", "eucjpms"}:
                yield from (b"\x8f" + bytes(pair) for pair in product(range(0xA0, 256), repeat=2))
            if charset == "gb18030":
                four = product(range(0x81, 0xFF), range(0x30, 0x3A), range(0x81, 0xFF), range(0x30, 0x3A))
                yield from (bytes(code) for number, code in enumerate(four) if number < 40_000 or not number % STEP)


def need_charset(server: MysqlServer, charset: str) -> None:
    if not server.run(f"SELECT 1 FROM information_schema.CHARACTER_SETS WHERE CHARACTER_SET_NAME = '{charset}'"):
        pytest.skip("the server has no such charset")


def converted(server: MysqlServer, charset: str, db: str) -> list[tuple[bytes, bytes]]:
    """Each well-formed code, and its UTF-8 by the server."""
    made = list(codes(charset))
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {db}.c (b VARBINARY(4))")
        for begin in range(0, len(made), PART):
            rows = ", ".join(f"(x'{code.hex()}')" for code in made[begin : begin + PART])
            cursor.execute(f"INSERT INTO {db}.c VALUES {rows}")
        text = f"CONVERT(b USING {charset})"
        cursor.execute(f"SELECT b, HEX({text}), HEX(CONVERT({text} USING utf8mb4)) FROM {db}.c")
        rows_of: list[tuple[Any, ...]] = list(cursor.fetchall())
        cursor.execute(f"DROP TABLE {db}.c")
    same_of = [(code, bytes.fromhex(same or ""), bytes.fromhex(text or "")) for code, same, text in rows_of]
    return [(code, text) for code, same, text in same_of if same == code and text not in {b"", TWO}]


@crossed(
    "charset",
    TEXTS,
    always=[*itertools.product(["mysql"], TEXTS), *itertools.product(["mariadb"], IN_EVERY_RUN)],
)
def test_every_code_is_what_the_server_says(any_server: MysqlServer, charset: str) -> None:
    """Each well-formed code becomes the character of the server's own conversion, its substitutes too."""
    need_charset(any_server, charset)
    with database(any_server) as db:
        told = converted(any_server, charset, db)
    assert len(told) >= 128
    wanted = [text.decode("utf-8", "replace") for _, text in told]
    shaped = [(code, text) for (code, _), text in zip(told, wanted, strict=True) if _is_one(charset, code)]
    found = charsets.decode(charset, pa.array([code for code, _ in shaped], pa.binary())).to_pylist()
    differ = [(code.hex(), mine, text) for (code, text), mine in zip(shaped, found, strict=True) if mine != text]
    assert differ == []


@on_servers("mysql")
@pytest.mark.parametrize("charset", some_slow(sorted(set(MAX_BYTES) - {"binary"}), always=IN_EVERY_RUN))
def test_a_key_takes_every_code_that_comes_back(any_server: MysqlServer, charset: str) -> None:
    """And none that the server's own conversion to Unicode and back makes another one, nor a substitute."""
    need_charset(any_server, charset)
    with database(any_server) as db:
        told = converted(any_server, charset, db)
        backs = dict(came_back(any_server, charset, db, [text for _, text in told]))
    own = {code for code, text in told if backs[text] == code and (text != SUBSTITUTE or charset in ONE_TO_ONE)}
    shaped = [code for code, _ in told if _is_one(charset, code) and charsets.is_text(charset, code)]
    taken = {code for code in shaped if charsets.is_text(charset, code, exact=True)}
    assert {code.hex() for code in taken} == {code.hex() for code in own & set(shaped)}
    assert charset not in ONE_TO_ONE or len(taken) == len(shaped)


SUBSTITUTE: Final = charsets.NO_CHARACTER.encode()


def came_back(server: MysqlServer, charset: str, db: str, texts: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each text, and its bytes in the charset."""
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {db}.c (b VARBINARY(8))")
        for begin in range(0, len(texts), PART):
            rows = ", ".join(f"(x'{text.hex()}')" for text in texts[begin : begin + PART])
            cursor.execute(f"INSERT INTO {db}.c VALUES {rows}")
        cursor.execute(f"SELECT b, HEX(CONVERT(CONVERT(b USING utf8mb4) USING {charset})) FROM {db}.c")
        yield from ((text, bytes.fromhex(back or "")) for text, back in cursor.fetchall())


TWICE: Final = {"cp932": ("FBFC", "EEE0"), "sjis": ("815F", "5C"), "ujis": ("5C", "A1C0"), "big5": ("41", "A15A")}


@on_servers("mysql")
@pytest.mark.parametrize("charset", TWICE)
def test_two_codes_of_one_character_are_no_two_keys(any_server: MysqlServer, charset: str) -> None:
    """The server has two rows where the target would have one: the code that does not come back stops the table."""
    first, second = TWICE[charset]
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id VARCHAR(9) CHARACTER SET {charset} PRIMARY KEY, v VARCHAR(9))")
        known = facts(any_server, [(db, "t")])
        wanted = {(db, "t"): Subscription(columns=("id", "v"), keys=("id",), schema=known.tables[0])}
        with reading(any_server, wanted, known.start) as reader:
            any_server.run(
                f"INSERT INTO {db}.t VALUES (0x{first}, 'kept')", f"INSERT INTO {db}.t VALUES (0x{second}, '')"
            )
            reader.until(latest(any_server))
            assert any_server.run(f"SELECT COUNT(*) FROM {db}.t") == [(2,)]
            with pytest.raises(SyncError) as caught:
                reader.rows((db, "t"))
    assert caught.value.code is Code.SOURCE_VALUE
    assert f"holds the bytes {second.lower()}, which the target cannot hold: in {charset} these" in str(caught.value)


def _is_one(charset: str, code: bytes) -> bool:
    """Not a part of a character, which MySQL's conversion takes for one where it stands alone at the end."""
    return len(code) > 1 or code[0] < 0x80 or charset not in charsets.MULTI_BYTE or charset in {"sjis", "cp932"}


NAMES: Final = ["таблица", "表", "größe", "a`b", "a b", "a'b", 'a"b', "%s", "ĳ", "İ", "naïve\u0301", "ﬁ"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@crossed("level", ["FULL", "MINIMAL"], always=[("mysql", "FULL"), ("mariadb", "MINIMAL")])
def test_foreign_names_are_those_of_the_rows(any_server: MysqlServer, level: str) -> None:
    """Names of databases, tables and columns in any alphabet, with marks that SQL quotes, lead to their values."""
    with database(any_server) as plain, any_server.global_variable("binlog_row_metadata", f"'{level}'"):
        db = f"{plain}_дб 中"
        any_server.run(f"CREATE DATABASE {quoted(db)} CHARACTER SET utf8mb4")
        try:
            for table in NAMES:
                columns = ", ".join(f"{quoted(name)} VARCHAR(20)" for name in NAMES)
                any_server.run(f"CREATE TABLE {quoted(db)}.{quoted(table)} (id INT PRIMARY KEY, {columns})")
            known = facts(any_server, [(db, table) for table in NAMES])
            wanted = {
                (db, table.name): Subscription(columns=("id", *NAMES), keys=("id",), schema=table)
                for table in known.tables
            }
            with reading(any_server, wanted, known.start) as reader:
                for table in NAMES:
                    values = ", ".join("%s" for _ in NAMES)
                    with closing(any_server.connect()) as connection, connection.cursor() as cursor:
                        row = [f"{table[:5]} {number}" for number in range(len(NAMES))]
                        target = f"{quoted(db)}.{quoted(table)}".replace("%", "%%")
                        cursor.execute(f"INSERT INTO {target} VALUES (1, {values})", row)
                reader.until(latest(any_server))
                for table in NAMES:
                    [row] = reader.rows((db, table))
                    assert [row[name] for name in NAMES] == [f"{table[:5]} {number}" for number in range(len(NAMES))]
        finally:
            any_server.run(f"DROP DATABASE {quoted(db)}")


def test_some_characters_are_in_every_charset(any_server: MysqlServer) -> None:
    """So that labels of them are the same ones whatever charset a column gets."""
    text = "".join(character for character in map(chr, range(128)) if EVERYWHERE.fullmatch(character))
    assert {*"azAZ09 _-.'"} <= {*text}
    names = [row[0] for row in any_server.run("SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS")]
    there = ", ".join(f"CONVERT(CONVERT(%s USING {name}) USING utf8mb4)" for name in names)
    with closing(any_server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {there}", [text] * len(names))
        assert {name for name, shown in zip(names, cursor.fetchone(), strict=True) if shown != text} == set()


@on_servers("mysql")
def test_which_characters_the_server_exchanges(any_server: MysqlServer) -> None:
    """Without an error, in strict mode too: in none but two charsets, and only those that are known."""
    every = [*map(chr, (*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x30000, STEP)))]
    names = {name for (name,) in any_server.run("SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS")}
    found: dict[str, set[str]] = {}
    with database(any_server) as db, closing(any_server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {db}.c (c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
        for begin in range(0, len(every), PART):
            rows = ", ".join(f"(_utf8mb4 x'{text.encode().hex()}')" for text in every[begin : begin + PART])
            cursor.execute(f"INSERT INTO {db}.c VALUES {rows}")
        for name in names & MAX_BYTES.keys() - {"binary"}:
            made, back = f"CONVERT(c USING {name})", f"CONVERT(CONVERT(c USING {name}) USING utf8mb4)"
            cursor.execute(f"SELECT c FROM {db}.c WHERE HEX({back}) NOT IN (HEX(c), HEX('?')) AND HEX({made}) <> ''")
            found[name] = {text for (text,) in cursor.fetchall()}
            held = f"SELECT COUNT(*) FROM {db}.c WHERE HEX({back}) = HEX(c)"
            for now, known in EXCHANGED.items():
                cursor.execute(f"{held} AND c IN ('\u6661')" if now == "cp932" else f"{held} AND LENGTH(c) = 4")
                assert name not in WITHOUT[now] or cursor.fetchone() == (0,), (name, known)
    assert {name for name, texts in found.items() if texts} == EXCHANGED.keys()
    assert all(is_exchanged(text, name) for name, texts in found.items() for text in texts)


@pytest.mark.parametrize(("kind", "shown"), [("ENUM('', 'x')", ["", "", "x"]), ("SET('', 'x')", ["", "", "x", "x"])])
def test_a_label_without_a_text_makes_two_rows_one(any_server: MysqlServer, kind: str, shown: list[str]) -> None:
    """The server has rows apart that print alike, so a key of such a column is refused; a label with a text is not."""
    with database(any_server) as db:
        with_text = kind.replace("''", "'y'")
        any_server.run(
            f"CREATE TABLE {db}.t (e {kind} PRIMARY KEY)",
            f"CREATE TABLE {db}.other (e {with_text} PRIMARY KEY)",
            f"INSERT IGNORE INTO {db}.t VALUES ({'), ('.join(map(str, range(len(shown))))})",
        )
        assert sorted(text for (text,) in any_server.run(f"SELECT CONCAT(e) FROM {db}.t")) == shown
        refused, taken = facts(any_server, [(db, "t"), (db, "other")]).tables
    held = TargetTable(db="demo", name="t", columns=(), keys=("e",), reserved_columns=frozenset())
    with pytest.raises(SyncError, match="'' is a label of column 'e'"):
        check_key_covers(refused, held, ["e"], [("e",)])
    check_key_covers(taken, held, ["e"], [("e",)])
