from dataclasses import replace

import pytest

from syncmgr.job.position import GtidSet, Position
from syncmgr.job.source_history.resumability import SHOWN, other_history, unsent, why_not_resumable

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
        ("a server that was created again", f"{B}:1-50", "", f"{A}:1-10, which that server never executed"),
        ("a replica that had not caught up", f"{A}:1-9,{B}:1-7", "", f"{A}:10, which that server never executed"),
        ("the binlog was purged", f"{A}:1-20", f"{A}:1-12", f"the binlog of {A}:11-12 was purged"),
        ("another server's part was purged", f"{A}:1-20,{B}:1-7", f"{B}:1-3", f"the binlog of {B}:1-3 was purged"),
    ],
)
def test_what_is_missing_is_named(why: str, executed: str, purged: str, told: str | None) -> None:
    """From where to where: rows that a server cannot send are never left out silently."""
    found = why_not_resumable(of(f"{A}:1-10"), of(executed), of(purged))
    assert (found is None) is (told is None), why
    assert (told or "") in (found or ""), why


def test_a_long_set_is_cut() -> None:
    """A message stays readable."""
    many = of(",".join(f"{A}:{number}" for number in range(1, 900, 2)))
    assert len(why_not_resumable(many, of(""), of("")) or "") < SHOWN + 300


READ = Position(gtids=f"{A}:1-10", file="binlog.000007", offset=500, server="s", created=1000)


@pytest.mark.parametrize(
    ("why", "sizes", "created", "told"),
    [
        ("the file grew", {"binlog.000007": 600}, 1000, None),
        ("nothing came since", {"binlog.000006": 9, "binlog.000007": 500}, 1000, None),
        ("the file was purged", {"binlog.000008": 9, "binlog.000009": 9}, 0, None),
        ("numbers of seven digits", {"binlog.1000000": 9}, 0, None),
        ("log_bin has another name", {"other.000001": 9}, 0, None),
        ("nothing is listed", {}, 0, None),
        ("another file of that name", {"binlog.000007": 900}, 1001, "binlog.000007 was made at"),
        ("an older file of that name", {"binlog.000007": 900}, 999, "binlog.000007 was made at"),
        ("fewer files", {"binlog.000001": 9, "binlog.000003": 9}, 0, "the newest one is binlog.000003"),
        ("fewer files, under a second name", {"other.000009": 9, "binlog.000003": 9}, 0, "one is binlog.000003"),
        ("its end is lost", {"binlog.000007": 499}, 1000, "binlog.000007 ends at 499, the job has read it to 500"),
    ],
)
def test_another_history_of_the_same_server(why: str, sizes: dict[str, int], created: int, told: str | None) -> None:
    """Files tell a restored server where its GTIDs have grown past the job's; what may be right is not refused."""
    found = other_history(READ, sizes, created)
    assert (found is None) is (told is None), why
    assert (told or "") in (found or ""), why


def test_a_position_without_its_files_birth_says_nothing() -> None:
    """It was stored by an older version."""
    assert other_history(replace(READ, created=0), {"binlog.000001": 9}, 0) is None


@pytest.mark.parametrize(
    ("refusal", "way_out"),
    [
        ("Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, at file", "gtid_mode = ON_PERMISSIVE"),
        ("Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file", "gtid_mode = ON_PERMISSIVE"),
        ("Cannot replicate GTID-transaction when @@GLOBAL.GTID_MODE = OFF, at file", "gtid_mode = OFF_PERMISSIVE"),
    ],
)
def test_what_a_mode_of_gtids_excludes_has_a_way_out(refusal: str, way_out: str) -> None:
    """The neighbouring mode sends both kinds."""
    assert way_out in unsent(refusal)
