import pytest
from hypothesis import given
from hypothesis import strategies as st

from mysqlddl import nodes
from mysqlddl.reading import Modes, UnclearError, first_word, read
from mysqlddl.words import NAME, STRING, Words
from tests.grammar.mysqlddl.shown import Case, cases, outcome

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_corpus_holds(case: Case) -> None:
    """Every statement says what stands beside it."""
    assert outcome(case.sql, case.modes) == case.outcome


def test_the_corpus_is_large() -> None:
    """150 texts and more, among them some of every kind that cannot be read."""
    assert len({case.sql for case in CASES}) > 150
    assert sum(case.outcome.startswith("unclear") for case in CASES) > 15


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    """Whatever stands in a binlog is read or unclear."""
    for statement in (text, "ALTER TABLE t " + text, "ALTER TABLE t ADD c INT " + text, "CREATE TABLE t (" + text):
        try:
            assert read(statement) is not None
        except UnclearError as error:
            assert str(error)  # noqa: PT017 - either of the two may happen
    first_word(text)


WORDS = sorted({word for case in CASES for word in case.sql.split()})


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_no_mixture_of_its_words_breaks_it(words: list[str]) -> None:
    """Known words in any order are read or unclear."""
    try:
        read("ALTER TABLE t " + " ".join(words))
    except UnclearError:
        return


quoted = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(quoted, quoted)
def test_quotes_hide_what_is_in_them(name: str, text: str) -> None:
    """Names and strings with any character in them come out as they went in."""
    backticks = "`" + name.replace("`", "``") + "`"
    string = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    statement = read(f"ALTER TABLE t ADD {backticks} INT COMMENT {string}, DROP b")
    assert isinstance(statement, nodes.AlterTable)
    added, dropped = statement.clauses
    assert isinstance(added, nodes.AddColumn)
    assert (added.definition.column.name, added.definition.comment) == (name, text)
    assert dropped == nodes.DropColumn(name="b")


@given(quoted)
def test_backslashes_mean_nothing_where_the_mode_says_so(text: str) -> None:
    """NO_BACKSLASH_ESCAPES leaves them in a string."""
    words = Words("'" + text.replace("'", "''") + "'", Modes(no_backslash=True))
    assert (words.token.kind, words.token.text) == (STRING, text)


def test_double_quotes_are_names_where_the_mode_says_so() -> None:
    """ANSI_QUOTES makes names of them, else they are strings."""
    assert Words('"a"', Modes(ansi_quotes=True)).token.kind == NAME
    assert Words('"a"', Modes()).token.kind == STRING


def test_a_name_in_an_unknown_charset_is_unclear() -> None:
    """Bytes that were no UTF-8 may be any name; in a string they do no harm."""
    strange = b"\xb1\xed".decode("utf-8", "surrogateescape")
    with pytest.raises(UnclearError):
        read(f"TRUNCATE {strange}")
    assert read(f"ALTER TABLE t COMMENT '{strange}'") is not None
