"""Random tables, values and transactions for a real server, by a seed.

Owns: what a random column, value and statement look like in SQL.
Must not know: how changes are read, what is asserted.
"""

import json
import random
import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from pymysql.err import OperationalError

from syncmgr.job.types.charset import MAX_BYTES
from tests.support.servers.mysql import MysqlServer

ALPHABETS: Final = (  # first and last letter
    "az",
    "\u00c0\u00ff",
    "\u0391\u03c9",
    "\u0410\u044f",
    "\u3041\u3093",
    "\u4e00\u9fa0",
    "\uac00\ud7a0",
    "\U0001f600\U0001f64f",
)
TEXT_CHARSETS: Final = tuple(sorted(set(MAX_BYTES) - {"binary", "gb18030"}))  # MariaDB does not have the last one
ROW_TOO_LARGE: Final = 1118
Literal = Callable[[random.Random], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A column type and how a value of it is written."""

    sql: str
    literal: Literal


def quoted(text: str) -> str:
    """Every character as the statement's own charset has it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''").replace("\0", "\\0") + "'"


def words(dice: random.Random, most: int) -> str:
    first, last = map(ord, dice.choice(ALPHABETS))
    return "".join(chr(dice.randint(first, last)) for _ in range(dice.randint(0, most)))


def _integer(dice: random.Random) -> Kind:
    word, bits = dice.choice([("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64)])
    unsigned = dice.random() < 0.5
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return Kind(
        sql=word + " UNSIGNED" * unsigned,
        literal=lambda d: str(d.choice([low, high, 0, d.randint(low, high), d.randint(0, 9)])),
    )


def _decimal(dice: random.Random) -> Kind:
    digits = dice.randint(1, 65)
    scale = dice.randint(0, min(digits, 30))

    def literal(d: random.Random) -> str:
        size = d.randint(1, digits)
        number = str(d.choice([10**size - 1, d.randrange(10**size)])).rjust(scale + 1, "0")
        sign = d.choice(["", "-"])
        return f"{sign}{number[: len(number) - scale]}.{number[len(number) - scale :]}" if scale else sign + number

    return Kind(sql=f"DECIMAL({digits},{scale})", literal=literal)


def _floating(dice: random.Random) -> Kind:
    word, size, code = dice.choice([("FLOAT", 4, "<f"), ("DOUBLE", 8, "<d")])

    def literal(d: random.Random) -> str:
        (value,) = struct.unpack(code, d.randbytes(size))
        finite = value - value == 0
        return f"{value!r}" if finite and (value == 0 or abs(value) > 1e-37) else d.choice(["0", "-0.0", "0.1", "1e10"])

    return Kind(sql=word, literal=literal)


def _moment(dice: random.Random) -> Kind:
    digits = dice.randint(0, 6)
    word = dice.choice(["DATETIME", "TIMESTAMP", "TIME", "DATE", "YEAR"])

    def clock(d: random.Random, hour: int) -> str:
        return f"{hour:02d}:{d.randint(0, 59):02d}:{d.randint(0, 59):02d}.{d.randint(0, 10**6 - 1):06d}"

    def date(d: random.Random, first: int, last: int) -> str:
        return f"{d.randint(first, last):04d}-{d.randint(1, 12):02d}-{d.randint(1, 28):02d}"

    match word:
        case "DATE":
            return Kind(sql=word, literal=lambda d: f"'{date(d, 1000, 9999)}'")
        case "YEAR":
            return Kind(sql=word, literal=lambda d: str(d.choice([0, d.randint(1901, 2155)])))
        case "TIME":
            return Kind(
                sql=f"TIME({digits})", literal=lambda d: f"'{d.choice(['', '-'])}{clock(d, d.choice([0, 23, 837]))}'"
            )
        case "TIMESTAMP":
            text: Literal = lambda d: f"'{date(d, 1971, 2037)} {clock(d, d.randint(0, 23))}'"  # noqa: E731
            return Kind(sql=f"TIMESTAMP({digits})", literal=text)
        case _:
            return Kind(
                sql=f"DATETIME({digits})", literal=lambda d: f"'{date(d, 1000, 9998)} {clock(d, d.randint(0, 23))}'"
            )


def _text(dice: random.Random) -> Kind:
    size = dice.choice([1, 5, 30, 70, 200])
    word = dice.choice([f"CHAR({size})", f"VARCHAR({size})", f"VARCHAR({size * 3})", "TINYTEXT", "TEXT", "LONGTEXT"])
    most = 40 if word == "TINYTEXT" else size
    return Kind(
        sql=f"{word} CHARACTER SET {dice.choice(TEXT_CHARSETS)}",
        literal=lambda d: quoted(words(d, d.choice([3, most]))),
    )


def _bytes(dice: random.Random) -> Kind:
    size = dice.choice([1, 5, 100, 255])
    word = dice.choice([f"BINARY({size})", f"VARBINARY({size})", f"VARBINARY({size * 3})", "TINYBLOB", "BLOB"])
    return Kind(sql=word, literal=lambda d: f"x'{d.randbytes(d.randint(0, size)).hex()}'")


def _bit(dice: random.Random) -> Kind:
    bits = dice.randint(1, 64)
    return Kind(sql=f"BIT({bits})", literal=lambda d: f"b'{d.getrandbits(d.randint(1, bits)):b}'")


def _label(dice: random.Random) -> Kind:
    count = dice.choice([1, 7, 40, 64])
    charset = dice.choice(["utf8mb4", "cp1251", "gbk", "ucs2"])
    first = dice.choice(["\u0430", "a", "我" if charset != "cp1251" else "я"])
    members = [f"{first}{number}" for number in range(count if dice.random() < 0.5 else count * 5)]
    if dice.random() < 0.5:
        listed = ",".join(f"'{member}'" for member in members)
        return Kind(sql=f"ENUM({listed}) CHARACTER SET {charset}", literal=lambda d: f"'{d.choice([*members, ''])}'")
    members = members[:count]
    listed = ",".join(f"'{member}'" for member in members)
    return Kind(
        sql=f"SET({listed}) CHARACTER SET {charset}",
        literal=lambda d: "'" + ",".join(m for m in members if d.random() < 0.3) + "'",
    )


def _json_value(dice: random.Random, depth: int) -> object:
    kind = dice.randint(0, 9 if depth else 6)
    match kind:
        case 0:
            return None
        case 1:
            return dice.random() < 0.5
        case 2:
            return dice.choice([0, -1, 32768, -32769, 2**31, 2**63 - 1, 2**64 - 1, dice.randint(-(2**63), 2**64 - 1)])
        case 3:
            return dice.choice([0.5, 1e300, -1e-20, dice.random() * 10 ** dice.randint(-30, 30)])
        case 7:
            return {words(dice, 8): _json_value(dice, depth - 1) for _ in range(dice.choice([0, 3, 12]))}
        case 8 | 9:
            return [_json_value(dice, depth - 1) for _ in range(dice.choice([0, 3, 12]))]
        case _:
            return words(dice, dice.choice([3, 20, 150]))


def _json(_dice: random.Random) -> Kind:
    return Kind(sql="JSON", literal=lambda d: quoted(json.dumps(_json_value(d, 3), ensure_ascii=d.random() < 0.5)))


def _geometry(dice: random.Random) -> Kind:
    word = dice.choice(["POINT", "GEOMETRY"])
    return Kind(
        sql=word,
        literal=lambda d: f"ST_GeomFromText('POINT({d.randint(-90, 90)} {d.random()!r})', {d.choice([0, 4326])})",
    )


def _vector(dice: random.Random) -> Kind:
    size = dice.randint(1, 40)
    return Kind(sql=f"VECTOR({size})", literal=lambda d: f"TO_VECTOR('{[round(d.random(), 3) for _ in range(size)]}')")


def _identifier(dice: random.Random) -> Kind:
    word = dice.choice(["UUID", "INET6", "INET4"])

    def literal(d: random.Random) -> str:
        match word:
            case "UUID":
                return f"'{uuid.UUID(bytes=d.randbytes(16), version=d.choice([None, 1, 4]))}'"
            case "INET6":
                groups = [d.choice([0, 0, d.randrange(1 << 16)]) for _ in range(8)]
                return f"'{':'.join(f'{group:x}' for group in groups)}'"
            case _:
                return f"'{'.'.join(str(d.randrange(256)) for _ in range(4))}'"

    return Kind(sql=word, literal=literal)


COMMON: Final = (_integer, _decimal, _floating, _moment, _text, _text, _bytes, _bit, _label)
OF_MYSQL: Final = (_json, _geometry)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The columns of a table `(id BIGINT PRIMARY KEY, c0, c1, ...)`; `nullable` of each, `generated`: from id alone."""

    kinds: tuple[Kind, ...]
    nullable: tuple[bool, ...]
    generated: bool

    @property
    def names(self) -> list[str]:
        return [*self.written, *(["g"] if self.generated else [])]

    @property
    def written(self) -> list[str]:
        return [f"c{place}" for place in range(len(self.kinds))]

    def create(self, table: str) -> str:
        columns = [
            f"c{place} {kind.sql} {'NULL' if nullable else 'NOT NULL'}"
            for place, (kind, nullable) in enumerate(zip(self.kinds, self.nullable, strict=True))
        ]
        if self.generated:
            columns.append("g BIGINT AS (id * 2 + 1) STORED")
        return f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, {', '.join(columns)}) CHARACTER SET utf8mb4"


def shape(dice: random.Random, server: MysqlServer, most: int) -> Shape:
    makers = (*COMMON, *(OF_MYSQL if server.flavour == "mysql" else (_identifier,)))
    makers += (_vector,) if server.has_vectors else ()
    kinds = tuple(dice.choice(makers)(dice) for _ in range(dice.randint(1, most)))
    return Shape(kinds=kinds, nullable=tuple(dice.random() < 0.7 for _ in kinds), generated=dice.random() < 0.3)


def created(dice: random.Random, server: MysqlServer, table: str, most: int) -> Shape:
    """A table of a random shape, one that its server takes."""
    while True:
        made = shape(dice, server, most)
        try:
            server.run(made.create(table))
        except OperationalError as error:
            if error.args[0] != ROW_TOO_LARGE:
                raise
        else:
            return made


def statements(dice: random.Random, made: Shape, table: str, rows: int) -> Iterator[Sequence[str]]:
    """Transactions that write about so many row images."""
    left, top = rows, 0
    while left > 0:
        transaction = []
        for _ in range(dice.randint(1, 4)):
            size = min(dice.choice([1, 3, 40]), max(left, 1))
            left -= size
            transaction.append(_statement(dice, made, table, size, top))
            top += size
        yield transaction


def _statement(dice: random.Random, made: Shape, table: str, size: int, top: int) -> str:
    names = ", ".join(made.written)
    somewhere = dice.randint(0, max(top, 1))
    match dice.randint(0, 9):
        case 0:
            return f"DELETE FROM {table} WHERE id BETWEEN {somewhere} AND {somewhere + size // 4}"
        case 1:
            away = dice.randrange(10**9) * 10**6
            return f"UPDATE {table} SET id = id + {away} WHERE id BETWEEN {somewhere} AND {somewhere + size // 8}"
        case 2 | 3:
            place = dice.randrange(len(made.kinds))
            value = _value(dice, made, place)
            return f"UPDATE {table} SET c{place} = {value} WHERE id BETWEEN {somewhere} AND {somewhere + size}"
        case 4:
            return f"REPLACE INTO {table} (id, {names}) VALUES {_rows(dice, made, range(somewhere, somewhere + size))}"
        case _:
            made_rows = _rows(dice, made, range(top, top + size))
            return f"INSERT INTO {table} (id, {names}) VALUES {made_rows} ON DUPLICATE KEY UPDATE c0 = VALUES(c0)"


def _rows(dice: random.Random, made: Shape, ids: range) -> str:
    return ", ".join(
        f"({number}, {', '.join(_value(dice, made, place) for place in range(len(made.kinds)))})" for number in ids
    )


def _value(dice: random.Random, made: Shape, place: int) -> str:
    return "NULL" if made.nullable[place] and dice.random() < 0.15 else made.kinds[place].literal(dice)


def run(server: MysqlServer, transactions: Iterator[Sequence[str]], dice: random.Random) -> None:
    """One after the other; some are rolled back, in whole or to a savepoint."""
    with closing(server.connect(autocommit=False)) as connection, connection.cursor() as cursor:
        cursor.execute("SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = ''")
        for transaction in transactions:
            cursor.execute("BEGIN")
            for statement in transaction:
                cursor.execute("SAVEPOINT s")
                cursor.execute(statement)
                if dice.random() < 0.05:
                    cursor.execute("ROLLBACK TO SAVEPOINT s")
            cursor.execute("COMMIT" if dice.random() < 0.95 else "ROLLBACK")
