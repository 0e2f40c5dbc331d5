"""Which files are rewritten together."""

from hypothesis import given, settings
from hypothesis import strategies as st

from syncmgr.lake.upkeep.candidates import FEWEST_FILES as FEWEST
from syncmgr.lake.upkeep.candidates import SMALL_BYTES, CompactionCandidate, IdleTime, groups

KB = 1024
FEWEST_FILES = FEWEST[IdleTime.BUSY]
FEWEST_FILES_AT_REST = FEWEST[IdleTime.QUIET]


def file(number: int, size: int = 50 * KB, dead: int = 0, partition: str = "") -> CompactionCandidate:
    return CompactionCandidate(number=number, partition=partition, bytes=size, rows=100, dead=dead)


def numbers(files: list[CompactionCandidate]) -> list[list[int]]:
    return [sorted(each.number for each in group) for group in groups(files)]


def test_small_files_go_together() -> None:
    """Enough small files become one, and few are left alone."""
    assert numbers([file(n) for n in range(FEWEST_FILES)]) == [list(range(FEWEST_FILES))]
    assert numbers([file(n) for n in range(FEWEST_FILES - 1)]) == []


def test_partitions_stay_apart() -> None:
    """A file of one partition never meets those of another."""
    files = [file(n, partition=str(n % 2)) for n in range(2 * FEWEST_FILES)]
    assert numbers(files) == [list(range(0, 2 * FEWEST_FILES, 2)), list(range(1, 2 * FEWEST_FILES, 2))]


def test_a_big_file_waits_for_its_like() -> None:
    """Crumbs do not pull a bigger file into their rewrite, or each would be rewritten forever."""
    crumbs = [file(n) for n in range(FEWEST_FILES)]
    assert numbers([*crumbs, file(99, 20 * 1024 * KB)]) == [list(range(FEWEST_FILES))]


def test_dead_rows_are_worth_a_rewrite() -> None:
    """A big file with an eighth of its rows deleted is rewritten alone, one with a twelfth is not."""
    assert numbers([file(1, SMALL_BYTES, dead=13), file(2, SMALL_BYTES, dead=9)]) == [[1]]


def test_at_rest_fewer_files_are_worth_it() -> None:
    """While nobody commits, half as many small files become one; any fewer are left alone."""
    files = [file(n) for n in range(FEWEST_FILES_AT_REST)]
    assert [len(group) for group in groups(files, IdleTime.QUIET)] == [FEWEST_FILES_AT_REST]
    assert groups(files[1:], IdleTime.QUIET) == groups(files) == []


def test_an_idle_table_becomes_one_clean_file() -> None:
    """Where nobody commits, two files, or some dead rows, are worth a moment; not crumbs, and not many bytes."""
    young, old = file(1, 200 * KB), file(2, 8 * 1024 * KB)
    assert groups([young, old], IdleTime.QUIET) == []
    assert groups([young, old], IdleTime.IDLE) == [[young, old]]
    assert groups([file(2, dead=2)], IdleTime.IDLE) == [[file(2, dead=2)]]
    assert groups([file(1, 50 * KB), old], IdleTime.IDLE) == groups([file(2, dead=1)], IdleTime.IDLE) == []
    assert groups([file(n, 16 * 1024 * KB, dead=2) for n in range(3)], IdleTime.IDLE) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 300_000_000), st.integers(0, 100), st.sampled_from("ab")), max_size=40),
    st.sampled_from(IdleTime),
)
def test_no_file_is_in_two_groups(files: list[tuple[int, int, str]], calm: IdleTime) -> None:
    """Whatever the files, each is rewritten at most once, with files of its partition."""
    found = groups([file(n, size, dead, partition) for n, (size, dead, partition) in enumerate(files)], calm)
    chosen = [each.number for group in found for each in group]
    assert len(chosen) == len(set(chosen))
    assert all(len({each.partition for each in group}) == 1 for group in found)
