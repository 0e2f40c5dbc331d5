import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

import syncmgr.meta.store
from syncmgr.control.statement_text import pattern_of
from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import engine_of, sqlite_url
from syncmgr.meta.migrations.versions.v0013_patterns import newer, older, rewritten
from syncmgr.meta.store import Store
from syncsql import Channel, CreateSync, Shards, Tables, parse
from tests.support import metadata
from tests.unit.job.factories import make_job

CASES: Final = [
    tuple(block.split("\n", 1)[1].split("\n----\n"))
    for block in (Path(__file__).parent / "patterns_before.test").read_text().strip("\n").split("\n\n")
]
HEAD: Final = "CREATE SYNC `de(mo`.`FROM ``a%``.``b`` INTO `` (` (\n  {}\n)"
TAIL: Final = '\nFROM BINLOG ("type" = "mysql", "mysql.host" = "(FROM `a%`.`b` INTO `c`.*)", "mysql.user" = "\\"(")'


def statement(channels: Sequence[str]) -> str:
    return HEAD.format(",\n  ".join(channels)) + TAIL


def channels_of(text: str) -> tuple[Channel | Tables | Shards, ...]:
    [parsed] = parse(text)
    assert isinstance(parsed.statement, CreateSync)
    return parsed.statement.channels


@pytest.mark.parametrize(("old", "new"), CASES)
def test_a_channel_of_the_version_before_is_written_anew(old: str, new: str) -> None:
    """Patterns go into quotes, whatever looks like one stays, and today's parser reads the text as what it says."""
    text = rewritten(statement([old]), newer)
    assert text == statement([new])
    assert [channel.sql() for channel in channels_of(text)] == [new]


def test_only_the_list_of_channels_is_written_anew() -> None:
    """One after the other; names, properties and a job without channels stay as they are."""
    olds, news = zip(*CASES, strict=True)
    assert rewritten(statement(olds), newer) == statement(news)
    assert rewritten(statement([""]), newer) == statement([""])
    assert rewritten("CREATE SYNC", newer) == "CREATE SYNC"


def test_a_text_that_is_new_stays() -> None:
    """Should the number of the version be set back by hand, no pattern is read as a name."""
    patterns = [new for _, new in CASES if new.startswith("FROM TABLES ")]
    assert patterns
    assert rewritten(statement(patterns), newer) == statement(patterns)


@pytest.mark.parametrize(("old", "new"), CASES)
def test_the_version_before_gets_its_text_back(old: str, new: str) -> None:
    """In its own words, of which there may be several that mean the same."""
    before = rewritten(statement([new]), older)
    assert rewritten(before, newer) == statement([new])
    assert "TABLES LIKE" not in before


@pytest.mark.parametrize(
    "new",
    [
        r'FROM TABLES REGEXP "^a\\.b$" INTO `c`',
        r'FROM `a`.* INTO `b`.* EXCLUDE (REGEXP "x")',
        'FROM TABLES LIKE "a%.b" INTO `c` EXCLUDE (LIKE "a1.%")',
        "FROM `50%`.`b` INTO `c`",
        r'FROM TABLES LIKE "shop.o%" INTO `c`.* EXCLUDE (LIKE "%.tmp\\_%")',
        r'FROM `shop`.* INTO `c`.* EXCLUDE (LIKE "sho_.tmp\\_%")',
        r'FROM `shop`.* INTO `c`.* EXCLUDE (LIKE "crm.tmp\\_%")',
    ],
)
def test_what_the_version_before_cannot_say_stops_the_way_back(new: str) -> None:
    """Before a job could mean other tables there."""
    with pytest.raises(ValueError, match="has no words for"):
        rewritten(statement([new]), older)


def test_stored_jobs_are_written_anew_and_back(tmp_path: Path) -> None:
    """At the start of the frontend; back by alembic."""
    url, vault = sqlite_url(tmp_path), Vault(tmp_path / "secret.key")
    new = statement([new for _, new in CASES])
    store = metadata.opened(url, vault)
    job = store.jobs.add(make_job(statement=new), Position(), 0.0)
    config, engine = Config(), engine_of(url)
    config.set_main_option("script_location", str(Path(syncmgr.meta.store.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes.update(connection=connection, between=lambda _: None)
        command.downgrade(config, "0012")
    with engine.connect() as connection:
        stored = connection.execute(text("SELECT statement FROM jobs")).scalars().all()
    assert stored == [rewritten(new, older)]
    store.close()
    engine.dispose()
    again = metadata.opened(url, vault)
    assert again.jobs.by_id(job.id) == job
    again.close()


def version(store: Store) -> str:
    with store.database.reading() as connection:
        return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())


def set_back(store: Store, to: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(syncmgr.meta.store.__file__).parent / "migrations"))
    with store.database.engine.begin() as connection:
        config.attributes.update(connection=connection, between=lambda _: None)
        command.downgrade(config, to)


def test_the_texts_of_a_frontend_that_lives_stay(tmp_path: Path) -> None:
    """A newer frontend that waits beside it, or is refused, changes nothing; the one that takes over migrates."""
    url, vault = sqlite_url(tmp_path), Vault(tmp_path / "secret.key")
    living, waiting = metadata.opened(url, vault), Store(url, vault)
    assert living.database.take_over("one", None)
    set_back(living, "0012")
    waiting.close()
    waiting = Store(url, vault)
    assert version(waiting) == "0012"
    assert not waiting.database.take_over("two", None)
    assert version(waiting) == "0012"
    assert waiting.database.take_over("two", waiting.database.owner())
    waiting.database.migrate()
    assert version(waiting) > "0012"
    with pytest.raises(SyncError) as refused:
        living.database.migrate()
    assert refused.value.code is Code.META_OWNED
    living.close()
    waiting.close()


def old_matches(pattern: str, name: str) -> bool:
    """As the version before had it."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    made = "".join({"%": ".*", "_": "."}.get(part, re.escape(part[-1])) for part in parts)
    return re.fullmatch(made, name, re.DOTALL) is not None


NAMES: Final = ["a", "ab", "a_b", "a.b", "a\\", "a%", "_a_old", "b.a", "a\\.b"]


@pytest.mark.parametrize(
    "pattern", [*NAMES, "%", "a%", "a\\%", "a\\_b", "_", "%.b", "a\\\\", "%b\\", r"\_a\_old", "\\a.b"]
)
def test_a_pattern_means_the_tables_that_it_meant(pattern: str) -> None:
    """Of tables in a database, of what is left out, and of databases; what tools made is in none but by its name."""
    one, but, many = channels_of(
        rewritten(
            statement(
                [
                    f"FROM `a.b`.`{pattern}` INTO `c`.*",
                    f"FROM `a.b`.* INTO `c`.* EXCLUDE (`a.b`.`{pattern}`)",
                    f"FROM `{pattern}%`.`a.b%` INTO `d`",
                ]
            ),
            newer,
        )
    )
    assert isinstance(one, Tables)
    assert isinstance(but, Tables)
    assert isinstance(many, Shards)
    for name in NAMES:
        meant, made = old_matches(pattern, name), name == "_a_old"
        very = pattern in {name, "\\_a\\_old"}
        assert pattern_of(one).has(("a.b", name)) == (meant and (not made or very))
        assert pattern_of(but).has(("a.b", name)) == (not meant and not made)
        assert pattern_of(many).has((name, "a.b%")) == old_matches(pattern + "%", name)
        assert not pattern_of(one).has(("a", "b." + name))
        assert not pattern_of(many).has((name, "b%"))
