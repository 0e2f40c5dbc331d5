import pytest

from syncsql import SqlSyntaxError
from syncsql.comparison import Comparison, Constant, ConstantKind, Every, Sign, Some, Test
from tests.grammar.test_expression import expression


def shown(test: Test) -> str:
    match test:
        case Comparison():
            return f"{test.column} {test.sign} {','.join(f'{v.kind}:{v.text}' for v in test.values)}".rstrip()
        case Every(parts=parts):
            return "all(" + "; ".join(map(shown, parts)) + ")"
        case Some(parts=parts):
            return "any(" + "; ".join(map(shown, parts)) + ")"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("5 < a", "a > NUMBER:5"),
        ("a = - 5.0", "a = NUMBER:-5.0"),
        ("NOT (a < 1 AND (b >= 2 OR NOT c <> 'x'))", "any(a >= NUMBER:1; all(b < NUMBER:2; c <> TEXT:x))"),
        ("a NOT BETWEEN 1 AND 2", "any(a < NUMBER:1; a > NUMBER:2)"),
        ("a BETWEEN 1 AND 2 AND b = 3", "all(all(a >= NUMBER:1; a <= NUMBER:2); b = NUMBER:3)"),
        ("NOT a IN (1, '2')", "a <> NUMBER:1,TEXT:2"),
        ("NOT NOT a IS NULL OR b IS NOT NULL", "any(a IS NULL; b IS NOT NULL)"),
        ("a = 0x4d OR a = X'4D'", "any(a = BYTES:4d; a = BYTES:4D)"),
        ("a = DATE '2024-02-29' AND b = TIMESTAMP '2024-02-29 01:00:00'",
         "all(a = MOMENT:2024-02-29; b = MOMENT:2024-02-29 01:00:00)"),
        ("a = 'it''s'", "a = TEXT:it's"),
    ],
)  # fmt: skip
def test_a_condition_is_comparisons_without_not(text: str, form: str) -> None:
    """The column stands first, and NOT has gone down to the signs."""
    assert shown(expression(text).comparisons()) == form


@pytest.mark.parametrize(
    "text",
    [
        *("a", "a = b", "a <=> 1", "a LIKE 'x'", "a + 1 = 2", "(a, b) = (1, 2)", "1 = 1", "a = NULL", "a = TRUE"),
        *("a IS TRUE", "a XOR b", "a = N'x'", "a = _utf8mb4'x'", "a = b'1'", "f(a) = 1", "a = 1 + 1", "! a = 1"),
        *("a = CAST('2024-02-29 01:00' AS DATE)", "a = TIMESTAMP('2024-02-29', '01:00')", "a = BINARY 'x'"),
    ],
)
def test_anything_else_is_none(text: str) -> None:
    """Whatever looks like one: both sides would have to agree on what it means."""
    with pytest.raises(SqlSyntaxError, match="only comparisons of a column with constants"):
        expression(text).comparisons()


def test_many_comparisons_are_one_list() -> None:
    """However long it is, nothing stands deeper."""
    test = expression(" OR ".join(f"a = {n}" for n in range(500))).comparisons()
    assert test == Some(
        parts=tuple(
            Comparison(column="a", sign=Sign.EQUAL, values=(Constant(kind=ConstantKind.NUMBER, text=str(n)),))
            for n in range(500)
        )
    )
