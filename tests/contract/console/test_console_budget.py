"""How much text a client may send: what is too much is refused in words, and costs the others nothing."""

import threading
from collections.abc import Iterator

import psutil
import pymysql
import pytest

from syncmgr.console.limits import KiB, MiB
from syncmgr.errors import Code
from syncsql import Parsed, parse
from tests.support.until import HANG_SECOND, until
from tests.unit.console.running import Running, running

TOO_LARGE = Code.STATEMENT_TOO_LARGE.number
NUMBERS = ",".join(map(str, range(100_000, 800_000)))  # 4.8 MB


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("tls")) as it:
        yield it


def refused(console: Running, sql: str) -> tuple[int, str]:
    """Number and words of the error; the connection goes on."""
    with console.connect(max_allowed_packet=64 * MiB) as connection, connection.cursor() as cursor:
        with pytest.raises(pymysql.err.MySQLError) as caught:
            cursor.execute(sql)
        connection.ping(reconnect=False)
    number, words = caught.value.args
    return number, words


def test_a_long_statement_is_refused_in_words(console: Running) -> None:
    """Its limit and what to do, in an error of its own; a longer one, up to max_allowed_packet, is not even kept."""
    for size in (5 * MiB, 40 * MiB):
        memory = psutil.Process().memory_info().rss
        number, words = refused(console, f"SET @a = '{'x' * size}'")
        assert (number, "more than 4194304 bytes" in words, "max_statement_bytes" in words) == (TOO_LARGE, True, True)
        assert psutil.Process().memory_info().rss - memory < 4 * size + 32 * MiB  # the client's own text is in it


def test_a_long_query_is_refused_in_words(console: Running) -> None:
    """A SELECT has a limit of its own, also behind another statement and in EXPLAIN; nothing of it reaches the lake."""
    before = len(console.frontend.queries.asked)
    query = f"SELECT * FROM demo.orders WHERE id IN ({NUMBERS[: 300 * KiB]}1)"
    for sql in (query, f"SET @a = 1; {query}", f"EXPLAIN {query}"):
        number, words = refused(console, sql)
        assert (number, "262144 bytes of a query" in words, "max_query_bytes" in words) == (TOO_LARGE, True, True)
    assert len(console.frontend.queries.asked) == before


def test_a_query_that_is_too_long_is_not_read(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused for its length costs no second of a parser, which would be everybody's."""
    read = list[str]()

    def noted(sql: str) -> tuple[Parsed, ...]:
        read.append(sql)
        return parse(sql)

    monkeypatch.setattr("syncmgr.console.statements.hints.parse", noted)
    for begin in ("SELECT ", "/* a */ ((select ", "WITH a AS (SELECT 1) SELECT "):
        end = ")" * begin.count("((") * 2
        assert refused(console, f"{begin}'{'x' * 300 * KiB}'{end}")[0] == TOO_LARGE
    assert not [text for text in read if len(text) > 300 * KiB]


def test_brackets_are_refused_in_words(console: Running) -> None:
    """Two hundred thousand in one another: MySQL's 1436 with the limit and what to do, before the lake sees them."""
    before = len(console.frontend.queries.asked)
    number, words = refused(console, f"SELECT {'(' * 200_000}1{')' * 200_000} FROM t")
    assert number == 1436
    assert "nested too deeply: more than 100 brackets" in words
    assert "write it flatter" in words
    assert len(console.frontend.queries.asked) == before


def test_long_lists_and_many_channels_are_read(console: Running) -> None:
    """What people do type: an IN list of 100 KB, a table of 3,000 columns, a job of 3,000 tables."""
    query = f"SELECT * FROM demo.orders WHERE id IN ({NUMBERS[: 100 * KiB]}1) AND 1 = 1 OR id IN (1) FROM orders"
    assert len(console.ask(query)) == 3
    assert console.frontend.queries.asked[-1][0] == query
    columns = ", ".join(f"column_number_{n} VARCHAR(200) COMMENT 'some words about it'" for n in range(3_000))
    console.ask(f"CREATE TABLE demo.wide ({columns})")
    channels = ", ".join(f"FROM shop.t{n} INTO t{n} (id, v = concat(a, b))" for n in range(3_000))
    console.ask(f'CREATE SYNC demo.much ({channels}) FROM BINLOG ("type" = "mysql")')
    assert len(console.frontend.jobs.nodes["demo", "much"].channels) == 3_000


def test_the_time_of_a_statement_begins_at_its_packet(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """max_execution_time ends a statement that is still being read, and one that waits for its turn at that."""
    slow = StandsStill()
    monkeypatch.setattr("syncmgr.console.statements.session.read", slow)
    with console.connect() as first, console.connect() as second:
        for connection in (first, second):
            with connection.cursor() as cursor:
                cursor.execute("SET max_execution_time = 100")
                with pytest.raises(pymysql.err.OperationalError) as caught:
                    cursor.execute(f"SELECT * FROM t WHERE id IN ({NUMBERS[: 50 * KiB]}1)")
                assert caught.value.args[0] == 3024
    slow.go_on.set()
    assert len(slow.texts) == 1  # the second one had no turn


class StandsStill:
    """A parser that stands still at long texts; `texts`: those that it was given."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.texts: list[str] = []

    def __call__(self, sql: str, _most_of_query: int) -> tuple[Parsed, ...]:
        if len(sql) < KiB:
            return parse(sql)
        self.texts.append(sql)
        self.go_on.wait(HANG_SECOND)
        return ()


def test_long_texts_of_one_account_hold_up_no_other(console: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends many long statements waits for his own: another account's long one has its turn behind the first."""
    console.ask("CREATE USER flood IDENTIFIED BY 'x'")
    slow = StandsStill()
    monkeypatch.setattr("syncmgr.console.statements.session.read", slow)
    waiting = console.console._workers._longer_texts._waiting

    def send(user: str, password: str) -> None:
        with console.connect(user=user, password=password) as connection, connection.cursor() as cursor:
            cursor.execute(f"SET @{user} = '{'x' * 40 * KiB}'")

    threads = [threading.Thread(target=send, args=("flood", "x")) for _ in range(6)]
    for thread in threads:
        thread.start()
    until(lambda: len(waiting.get("'flood'@'%'", ())) == 5, why="five that wait")
    threads.append(threading.Thread(target=send, args=("root", "")))
    threads[-1].start()
    until(lambda: "'root'@'%'" in waiting, why="the other account")
    slow.go_on.set()
    for thread in threads:
        thread.join(HANG_SECOND)
    assert [text[:9] for text in slow.texts].index("SET @root") == 2
