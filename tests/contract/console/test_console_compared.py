"""Questions about metadata, asked of a MySQL server and of the console, on the same rows."""

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from pymysql.cursors import Cursor

from syncmgr.accounts.user import Account
from syncmgr.console.statements.local.local_select import SessionFacts, question
from syncmgr.console.statements.show.information_schema import Present, answer
from syncmgr.console.table_columns import NUMBERS, TABLES, TIMES
from syncmgr.errors import Code, SyncError
from tests.support.servers.mysql import MysqlServer

if TYPE_CHECKING:
    from syncmgr.console.ports import Catalog, History

pytestmark = pytest.mark.mysql

NOW: Final = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
COLUMNS: Final = TABLES["sync_ddl"]
ROWS: Final[Sequence[tuple[Any, ...]]] = (
    (1, "shop", "Job1", "T", "2026-01-01 00:00:00.000000", "p", "DONE", "ok", None),
    (2, "Shop", "job2", "Straße", "2026-01-02 10:00:00.500000", "", "PAUSED", "OK", "x"),
    (10, "SHOP", "job10", "t_1", "2026-01-10 00:00:00.000000", "1", "DONE", None, "1abc"),
    (9, "ünter", "ÄPFEL", "t%1", "2026-02-01 12:00:00.000000", "01", "SKIP", "", "10"),
    (100, "other", "äpfel", "b ", None, "1.0", "skip ", " lead", "abc"),
    (11, "éa", "EA", "B", None, "2", "Skip", "x\ty", "2abc"),
)
SAME: Final = r"""
job_name FROM sync_ddl WHERE job_schema = 'SHOP' ORDER BY job_id
job_id FROM sync_ddl WHERE table_name = 't' ORDER BY 1
job_id FROM sync_ddl WHERE table_name = 'b' ORDER BY 1
job_id FROM sync_ddl WHERE table_name = 'b   ' ORDER BY 1
job_id FROM sync_ddl WHERE table_name = 'strasse' ORDER BY 1
job_id FROM sync_ddl WHERE table_name = 'strase' ORDER BY 1
job_id FROM sync_ddl WHERE job_name = 'apfel' ORDER BY 1
job_id FROM sync_ddl WHERE job_schema = 'EA' ORDER BY 1
job_id FROM sync_ddl WHERE job_schema LIKE 'ea' ORDER BY 1
job_id FROM sync_ddl WHERE job_schema LIKE 'SH%' ORDER BY 1
job_id FROM sync_ddl WHERE table_name LIKE 'T\\_1' ORDER BY 1
job_id FROM sync_ddl WHERE table_name LIKE 't_1' ORDER BY 1
job_id FROM sync_ddl WHERE table_name LIKE 'B' ORDER BY 1
job_id FROM sync_ddl WHERE table_name NOT LIKE 'B%' ORDER BY 1
job_id FROM sync_ddl WHERE job_name LIKE '%ÄPF%' ORDER BY 1
job_id FROM sync_ddl WHERE table_name LIKE 't|%1' ESCAPE '|' ORDER BY 1
job_id FROM sync_ddl ORDER BY job_name, job_id
job_id FROM sync_ddl ORDER BY job_name DESC, job_id
job_id FROM sync_ddl ORDER BY statement, job_id
job_id FROM sync_ddl ORDER BY position, job_id
job_id FROM sync_ddl ORDER BY table_name, job_id
state, count(*) FROM sync_ddl GROUP BY state ORDER BY 2 DESC, 1
count(*) FROM sync_ddl GROUP BY job_schema ORDER BY 1
count(DISTINCT job_name) FROM sync_ddl
count(DISTINCT state) FROM sync_ddl
count(DISTINCT outcome) FROM sync_ddl
DISTINCT state FROM sync_ddl ORDER BY state
job_id FROM sync_ddl WHERE statement = 1 ORDER BY 1
job_id FROM sync_ddl WHERE statement = 2 ORDER BY 1
job_id FROM sync_ddl WHERE statement > 1 ORDER BY 1
job_id FROM sync_ddl WHERE statement = 0 ORDER BY 1
job_id FROM sync_ddl WHERE position = 1 ORDER BY 1
job_id FROM sync_ddl WHERE position = '1' ORDER BY 1
job_id FROM sync_ddl WHERE position < 2 ORDER BY 1
job_id FROM sync_ddl WHERE position IN (1, 2) ORDER BY 1
job_id FROM sync_ddl WHERE position IN ('1', '2') ORDER BY 1
job_id FROM sync_ddl WHERE position BETWEEN 1 AND 2 ORDER BY 1
job_id FROM sync_ddl WHERE job_id = '1' ORDER BY 1
job_id FROM sync_ddl WHERE job_id = '1abc' ORDER BY 1
job_id FROM sync_ddl WHERE job_id = '1.0' ORDER BY 1
job_id FROM sync_ddl WHERE job_id = ' 1' ORDER BY 1
job_id FROM sync_ddl WHERE job_id = '' ORDER BY 1
job_id FROM sync_ddl WHERE job_id > '9' ORDER BY 1
job_id FROM sync_ddl WHERE job_id > '9x' ORDER BY 1
job_id FROM sync_ddl WHERE job_id IN ('1', '10') ORDER BY 1
job_id FROM sync_ddl WHERE job_id IN ('1abc', '10') ORDER BY 1
job_id FROM sync_ddl WHERE job_id BETWEEN '9' AND '11' ORDER BY 1
job_id FROM sync_ddl WHERE job_id BETWEEN '9x' AND 11 ORDER BY 1
job_id FROM sync_ddl WHERE job_id LIKE '1%' ORDER BY 1
'1' = 1 AS a FROM sync_ddl LIMIT 1
'1abc' = 1 AS a FROM sync_ddl LIMIT 1
'abc' = 0 AS a FROM sync_ddl LIMIT 1
'a' = 'A' AS a FROM sync_ddl LIMIT 1
'a' = 'a ' AS a FROM sync_ddl LIMIT 1
1 = 1.0 AS a FROM sync_ddl LIMIT 1
'10' > '9' AS a FROM sync_ddl LIMIT 1
'10' > 9 AS a FROM sync_ddl LIMIT 1
TRUE = 1 AS a FROM sync_ddl LIMIT 1
TRUE AS a FROM sync_ddl LIMIT 1
NULL = NULL AS a FROM sync_ddl LIMIT 1
NULL <=> NULL AS a FROM sync_ddl LIMIT 1
job_id FROM sync_ddl WHERE statement <=> NULL ORDER BY 1
job_id FROM sync_ddl WHERE statement <=> 'ABC' ORDER BY 1
job_id FROM sync_ddl WHERE outcome = '' ORDER BY 1
job_id FROM sync_ddl WHERE position = '' ORDER BY 1
job_id FROM sync_ddl WHERE position = ' ' ORDER BY 1
job_id FROM sync_ddl WHERE outcome <> '' ORDER BY 1
job_id FROM sync_ddl WHERE outcome IS NULL ORDER BY 1
job_id FROM sync_ddl WHERE outcome <> 'OK' ORDER BY 1
job_id FROM sync_ddl WHERE NOT (outcome = 'OK') ORDER BY 1
job_id FROM sync_ddl WHERE outcome NOT IN ('ok', NULL) ORDER BY 1
job_id FROM sync_ddl WHERE state IN ('SKIP', 'done') ORDER BY 1
job_id FROM sync_ddl WHERE state IN ('SKIP', 1) ORDER BY 1
job_id FROM sync_ddl WHERE state IN (0) ORDER BY 1
job_id FROM sync_ddl WHERE position IN (1, '2', NULL) ORDER BY 1
job_id FROM sync_ddl WHERE job_schema NOT IN ('x', 1, NULL) ORDER BY 1
job_id FROM sync_ddl WHERE position NOT IN ('2', 7) ORDER BY 1
job_id FROM sync_ddl WHERE 'skip' = state ORDER BY 1
job_id FROM sync_ddl WHERE state BETWEEN 'p' AND 's' ORDER BY 1
job_id FROM sync_ddl WHERE state > 'DONE' ORDER BY 1
job_id FROM sync_ddl WHERE state >= 'skip' ORDER BY 1
count(*), max(job_id), min(state), sum(job_id) FROM sync_ddl WHERE job_id = 7
count(*) FROM sync_ddl WHERE FALSE
max(job_name) FROM sync_ddl
min(job_name) FROM sync_ddl
max(position) FROM sync_ddl
max(state) FROM sync_ddl WHERE state LIKE 'skip%'
count(outcome) FROM sync_ddl
sum(position) FROM sync_ddl
avg(job_id) FROM sync_ddl
job_id FROM sync_ddl WHERE ddl_time > '2026-01-02' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time = '2026-01-01' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time = '2026-01-01 00:00:00' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time >= '2026-01-02 10:00:00.5' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time < '2026-1-10' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time >= '2026-01-10T00:00:00' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time <= '20260110' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time BETWEEN '2026-01-01' AND '2026-01-10' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time IN ('2026-01-01', '2026-02-01 12:00:00') ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time < DATE '2026-01-10' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time = TIMESTAMP '2026-01-01 00:00:00' ORDER BY 1
job_id FROM sync_ddl WHERE date(ddl_time) = '2026-01-02' ORDER BY 1
job_id FROM sync_ddl WHERE ddl_time > 20260102 ORDER BY 1
job_id FROM sync_ddl ORDER BY job_id LIMIT 2
job_id FROM sync_ddl ORDER BY job_id LIMIT 1, 2
job_id FROM sync_ddl ORDER BY job_id LIMIT 2 OFFSET 3
job_id FROM sync_ddl ORDER BY job_id LIMIT 0
job_id FROM sync_ddl WHERE job_id ORDER BY 1
job_id FROM sync_ddl WHERE position ORDER BY 1
job_id FROM sync_ddl WHERE statement ORDER BY 1
job_id FROM sync_ddl WHERE NOT statement ORDER BY 1
job_id FROM sync_ddl WHERE job_id = TRUE ORDER BY 1
job_id FROM sync_ddl WHERE (state = 'done') = TRUE ORDER BY 1
job_id FROM sync_ddl WHERE (state = 'done') IS TRUE ORDER BY 1
IF(state = 'DONE', 'y', 'n') AS a FROM sync_ddl ORDER BY job_id
IF(statement, 'y', 'n') AS a FROM sync_ddl ORDER BY job_id
CASE state WHEN 'skip' THEN 1 ELSE 0 END AS a FROM sync_ddl ORDER BY job_id
job_id + '1' AS a FROM sync_ddl ORDER BY job_id LIMIT 2
position + 1 AS a FROM sync_ddl ORDER BY job_id
job_id / 4 AS a FROM sync_ddl ORDER BY job_id
job_id DIV 4 AS a FROM sync_ddl ORDER BY job_id
job_id % 4 AS a FROM sync_ddl ORDER BY job_id
job_id / 0 AS a FROM sync_ddl ORDER BY job_id LIMIT 1
CONCAT(job_name, NULL) AS a FROM sync_ddl LIMIT 1
CONCAT(job_id, '-', state) AS a FROM sync_ddl ORDER BY job_id
length(job_name) AS a FROM sync_ddl ORDER BY job_id
char_length(job_name) AS a FROM sync_ddl ORDER BY job_id
upper(job_name) AS a FROM sync_ddl ORDER BY job_id
lower(job_name) AS a FROM sync_ddl ORDER BY job_id
job_id FROM sync_ddl WHERE lower(job_name) = 'ÄPFEL' ORDER BY 1
job_id FROM sync_ddl WHERE BINARY state = 'SKIP' ORDER BY 1
job_id FROM sync_ddl WHERE state = BINARY 'SKIP' ORDER BY 1
job_id FROM sync_ddl WHERE state COLLATE utf8mb3_bin = 'SKIP' ORDER BY 1
job_id FROM sync_ddl WHERE nullif(state, 'done') IS NULL ORDER BY 1
ifnull(outcome, '-') AS a FROM sync_ddl ORDER BY job_id
coalesce(outcome, statement, '-') AS a FROM sync_ddl ORDER BY job_id
job_id FROM sync_ddl a JOIN (SELECT 'SHOP' AS s) b ON a.job_schema = b.s ORDER BY 1
a.job_id FROM sync_ddl a JOIN sync_ddl b ON a.job_schema = b.job_schema AND a.job_id < b.job_id ORDER BY 1, b.job_id
job_id FROM sync_ddl WHERE job_name IN (SELECT 'JOB1') ORDER BY 1
job_id FROM sync_ddl WHERE state = 'done' && job_id = 1 ORDER BY 1
job_id FROM sync_ddl WHERE state = 'done' || job_id = 2 ORDER BY 1
job_id FROM sync_ddl WHERE !(state = 'done') ORDER BY 1
job_id FROM sync_ddl WHERE state <> 'done' ORDER BY 1
group_concat(state ORDER BY job_id) AS a FROM sync_ddl
substring(job_name, 2, 2) AS a FROM sync_ddl ORDER BY job_id
instr(job_name, 'OB') AS a FROM sync_ddl ORDER BY job_id
locate('OB', job_name) AS a FROM sync_ddl ORDER BY job_id
replace(state, 'skip', 'x') AS a FROM sync_ddl ORDER BY job_id
field(state, 'skip', 'DONE') AS a FROM sync_ddl ORDER BY job_id
trim(outcome) AS a FROM sync_ddl ORDER BY job_id
greatest(job_id, 5) AS a FROM sync_ddl ORDER BY job_id
state = 'done' AS a FROM sync_ddl ORDER BY job_id
job_id > 5 AS a, state LIKE 'S%' AS b FROM sync_ddl ORDER BY job_id
job_id FROM sync_ddl HAVING job_id > 10 ORDER BY 1
state, count(*) AS n FROM sync_ddl GROUP BY state HAVING n > 1 ORDER BY 1
job_id FROM sync_ddl WHERE job_id <> '' ORDER BY 1
job_id FROM sync_ddl WHERE job_id != NULL ORDER BY 1
job_id FROM sync_ddl WHERE (job_id, state) = (1, 'done') ORDER BY 1
job_id FROM sync_ddl WHERE (job_id, state) IN ((1, 'done'), (9, 'SKIP')) ORDER BY 1
round(job_id / 3, 2) AS a FROM sync_ddl ORDER BY job_id
job_id FROM sync_ddl WHERE table_name = CONCAT('B', '') ORDER BY 1
job_id FROM sync_ddl WHERE CONCAT(state, '') = 'SKIP' ORDER BY 1
job_id FROM sync_ddl WHERE CONCAT(job_id) = '1' ORDER BY 1
cast(position AS SIGNED) AS a FROM sync_ddl ORDER BY job_id
cast(job_id AS CHAR) AS a FROM sync_ddl ORDER BY job_id
job_id FROM sync_ddl ORDER BY cast(job_id AS CHAR)
job_id FROM sync_ddl ORDER BY outcome, job_id
job_id FROM sync_ddl ORDER BY outcome DESC, job_id
job_id FROM sync_ddl ORDER BY state = 'done', job_id
job_id FROM sync_ddl ORDER BY CONCAT(job_name, ''), job_id
group_concat(job_id ORDER BY table_name SEPARATOR ';') AS a FROM sync_ddl WHERE job_id IN (1, 2, 10)
"""
REFUSED: Final = """
job_id FROM sync_ddl WHERE ddl_time + 0 > 20260102 ORDER BY 1
job_id FROM sync_ddl WHERE state = 'done' XOR job_id = 1 ORDER BY 1
group_concat(DISTINCT state ORDER BY state) AS a FROM sync_ddl
strcmp(state, 'skip') AS a FROM sync_ddl ORDER BY job_id
job_id FROM sync_ddl WHERE job_name REGEXP '^job' ORDER BY 1
job_id FROM sync_ddl ORDER BY 2
job_id FROM sync_ddl WHERE ddl_time > 'yesterday'
"""


class Told:
    """A history of those rows alone."""

    def rows(self, _name: str, _wanted: object) -> Iterator[tuple[Any, ...]]:
        return iter(ROWS)


@pytest.fixture(scope="module")
def server(mysql_server: MysqlServer) -> Iterator[Cursor]:
    """A table like that of information_schema, in its collation and with its types."""
    mysql_server.run("CREATE DATABASE compared CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci")
    kinds = (
        f"{name} {'BIGINT' if name in NUMBERS else 'DATETIME(6)' if name in TIMES else 'VARCHAR(200)'}"
        for name in COLUMNS
    )
    with closing(mysql_server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET NAMES utf8mb3 COLLATE utf8mb3_general_ci, sql_mode = ''")
        cursor.execute("USE compared")
        cursor.execute(f"CREATE TABLE sync_ddl ({', '.join(kinds)})")
        cursor.executemany(f"INSERT INTO sync_ddl VALUES ({', '.join(['%s'] * len(COLUMNS))})", ROWS)
        yield cursor
    mysql_server.run("DROP DATABASE compared")


def asked(sql: str) -> list[tuple[Any, ...]]:
    """What the console answers; it looks at neither the catalog nor who is there for such a table."""
    facts = SessionFacts(
        connection_id=1,
        user="root",
        account=Account(name="root", host="%"),
        host="localhost",
        db="information_schema",
        now=NOW,
        variable=lambda _: 0,
        user_variable=lambda _: None,
    )
    local = question(sql, facts)
    assert local is not None
    found = answer(local, cast("Catalog", None), cast("History", Told()), cast("Present", None), spill=1 << 20)[1]
    return [tuple(map(plain, row)) for row in found]


def plain(value: object) -> object:
    """1, 1.0 and true are one number."""
    return round(float(value), 4) if isinstance(value, Decimal | float | int) else value


@pytest.mark.parametrize("what", SAME.strip().splitlines())
def test_metadata_is_compared_as_mysql_compares_it(server: Cursor, what: str) -> None:
    """Texts without case, accents and spaces at their end; texts beside numbers as numbers, beside times as times."""
    sql = f"SELECT {what}"
    server.execute(sql)
    assert asked(sql) == [tuple(map(plain, row)) for row in server.fetchall()]


@pytest.mark.parametrize("what", REFUSED.strip().splitlines())
def test_what_cannot_be_answered_as_mysql_does_is_refused(what: str) -> None:
    """By an error that says what it stumbled on, and by no other answer."""
    with pytest.raises(SyncError) as refused:
        asked(f"SELECT {what}")
    assert refused.value.code is Code.QUERY_FAILED
