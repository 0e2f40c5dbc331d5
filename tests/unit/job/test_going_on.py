import pytest

from syncmgr.job.going_on import SHOWN, gap
from syncmgr.job.position import GtidSet

A, B = "a" * 8 + "-0000-0000-0000-" + "0" * 12, "b" * 8 + "-0000-0000-0000-" + "0" * 12


def of(text: str) -> GtidSet:
    return GtidSet.parse(text)


@pytest.mark.parametrize(
    ("why", "executed", "purged", "told"),
    [
        ("the same server, further on", f"{A}:1-20", f"{A}:1-10", None),
        ("a replica that was promoted", f"{A}:1-10,{B}:1-7", "", None),
        ("nothing is missing that was read", f"{A}:1-20", f"{A}:1-5", None),
        ("a restored server", f"{A}:1-8", "", f"{A}:9-10, which that server never executed"),
        ("a server that was made anew", f"{B}:1-50", "", f"{A}:1-10, which that server never executed"),
        ("a replica that had not caught up", f"{A}:1-9,{B}:1-7", "", f"{A}:10, which that server never executed"),
        ("the binlog was purged", f"{A}:1-20", f"{A}:1-12", f"the binlog of {A}:11-12 was purged"),
        ("another server's part was purged", f"{A}:1-20,{B}:1-7", f"{B}:1-3", f"the binlog of {B}:1-3 was purged"),
    ],
)
def test_what_is_missing_is_named(why: str, executed: str, purged: str, told: str | None) -> None:
    """From where to where: rows that a server cannot send are never left out silently."""
    found = gap(of(f"{A}:1-10"), of(executed), of(purged))
    assert (found is None) is (told is None), why
    assert (told or "") in (found or ""), why


def test_a_long_set_is_cut() -> None:
    """A message stays readable."""
    many = of(",".join(f"{A}:{number}" for number in range(1, 900, 2)))
    assert len(gap(many, of(""), of("")) or "") < SHOWN + 300
