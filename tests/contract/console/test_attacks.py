"""The attacks of the long tests send what they say, and count what they are answered."""

from pathlib import Path

import pytest

from tests.attacks.console import FINE, PASSWORD, Console
from tests.attacks.rounds import ATTACKS, run
from tests.unit.console.running import running


def test_a_refusal_ends_no_round(tmp_path: Path) -> None:
    """Whatever class the client gives the error: each statement is sent, and its answer counted."""
    with running(tmp_path, password=PASSWORD) as it:
        console = Console(port=it.port)
        console.ask("root", "USE nowhere", "SELECT (", "SHOW SYNC JOB FROM nowhere", "SHOW DATABASES")
    assert (console.sent, console.answers) == (4, {1049: 2, 1064: 1, FINE: 1})


def test_prepared_statements_and_cursors_are_counted(tmp_path: Path) -> None:
    """With their definitions read, so that the next command has its own answer; also where the rows come at once."""
    with running(tmp_path, password=PASSWORD, max_cursors=2) as it:
        console = Console(port=it.port)
        with console.as_user("root") as connection:
            for _ in range(4):
                statement = console.prepare(connection, "SELECT n FROM thousand")
                assert statement is not None
                console.open_cursor(connection, statement)
            assert console.prepare(connection, "SELECT (?") is not None
            assert console.prepare(connection, "SELECT ?, 1") is not None
    assert (console.sent, console.answers) == (10, {FINE: 10})


@pytest.mark.parametrize("name", ["brackets", "storms"])
def test_a_round_without_answers_is_broken(tmp_path: Path, name: str) -> None:
    """Nobody lets the attacker in: that is told, not passed over."""
    with running(tmp_path, password=PASSWORD) as it:
        assert name in ATTACKS
        assert "Access denied" in run(name, Console(port=it.port))


def test_every_attack_is_told() -> None:
    """docs/security.md lists what the long tests run."""
    told = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
    assert [name for name in ATTACKS if f"`{name}`" not in told] == []
