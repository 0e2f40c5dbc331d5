"""Which unique keys a table has after an ALTER TABLE: none is missing, and one that is not certain stays."""

import pytest

from mysqlddl import nodes
from mysqlddl.reading import read
from syncmgr.job.ddl.unique_keys import altered_keys
from syncmgr.job.types.schema import UniqueKey

KEYS = (
    UniqueKey(name="u", columns=("a",)),
    UniqueKey(name="v", columns=("b", "c")),
    UniqueKey(name="", columns=("d",)),
)


def keys_after(clauses: str) -> list[str] | None:
    parsed = read(f"ALTER TABLE t {clauses}")
    assert isinstance(parsed, nodes.AlterTable)
    found = altered_keys(KEYS, parsed.clauses)
    return None if found is None else [f"{key.name}({', '.join(key.columns)})" for key in found]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("ADD e INT, ADD KEY k (e), MODIFY a BIGINT", ["u(a)", "v(b, c)", "(d)"]),
        ("DROP INDEX U", ["v(b, c)", "(d)"]),
        ("DROP KEY v, ADD UNIQUE v (b)", ["u(a)", "(d)", "v(b)"]),
        ("DROP CONSTRAINT u", ["u(a)", "v(b, c)", "(d)"]),
        ("DROP CHECK u", ["u(a)", "v(b, c)", "(d)"]),
        ("DROP INDEX d", ["u(a)", "v(b, c)", "(d)"]),
        ("DROP COLUMN B", ["u(a)", "v(c)", "(d)"]),
        ("DROP COLUMN a, DROP d", ["v(b, c)"]),
        ("RENAME COLUMN a TO z, CHANGE c a INT", ["u(z)", "v(b, a)", "(d)"]),
        ("RENAME INDEX u TO w", ["(a)", "(b, c)", "(d)"]),
        ("ADD e INT UNIQUE, MODIFY f INT UNIQUE", ["u(a)", "v(b, c)", "(d)", "(e)", "(f)"]),
        ("ADD CONSTRAINT x UNIQUE (e(10), f DESC)", ["u(a)", "v(b, c)", "(d)", "x(e, f)"]),
        ("ADD UNIQUE z (e, p WITHOUT OVERLAPS)", ["u(a)", "v(b, c)", "(d)", "z(e, )"]),
        ("ADD UNIQUE INDEX y ((lower(e)), f)", ["u(a)", "v(b, c)", "(d)", "y(, f)"]),
    ],
)
def test_unique_keys_follow_the_clauses(clauses: str, expected: list[str]) -> None:
    """By the names of their indexes, and those of their columns."""
    assert keys_after(clauses) == expected


def test_keys_that_nobody_has_told_stay_unknown() -> None:
    """Whatever is added or dropped."""
    parsed = read("ALTER TABLE t DROP INDEX u, ADD UNIQUE v (a)")
    assert isinstance(parsed, nodes.AlterTable)
    assert altered_keys(None, parsed.clauses) is None
