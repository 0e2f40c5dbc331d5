"""The result of all parts of a test run: the slowest tests, and how many passed.

Run: python -m tests.support.report FOLDER  It holds JUnit reports of pytest.  Returns 1 if a test failed or none ran.
     python -m tests.support.report --again FOLDER  Prints the tests that are to be run once more, a line each.

A test that failed beside the others and passes alone is unsteady: it counts as passed, and is named.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

SLOWEST: Final = 20
OUTCOMES: Final = ("failure", "error", "skipped")
FAILED: Final = frozenset({"failure", "error"})
UNSTEADY: Final = "unsteady"
AGAIN: Final = "again.xml"  # the report of those that ran once more
MOST_AGAIN: Final = 3  # more than these have a cause
PROOFS: Final = frozenset({"test_torture.py", "test_crash_points.py"})  # whose one failure among many runs is a fault


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Of one test; `second` with its fixtures."""

    name: str
    second: float
    what: str


def outcomes(path: Path) -> Iterator[Outcome]:
    for case in ET.parse(path).iter("testcase"):
        found = {child.tag for child in case}
        yield Outcome(
            name=f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}",
            second=float(case.get("time", 0)),
            what=next((tag for tag in OUTCOMES if tag in found), "passed"),
        )


def run_again(found: Sequence[Outcome]) -> list[str]:
    """The few tests that failed, to be run alone; none if they are many, or if one of them proves a fault."""
    failed = [each.name for each in found if each.what in FAILED]
    files = [Path(name.partition("::")[0]) for name in failed]
    is_tried = len(failed) <= MOST_AGAIN and all(file.is_file() and file.name not in PROOFS for file in files)
    return failed if is_tried else []


def merged(found: Sequence[Outcome], again: Sequence[Outcome]) -> list[Outcome]:
    """What failed and passed alone is unsteady."""
    passed = {each.name for each in again if each.what == "passed"}
    return [replace(each, what=UNSTEADY) if each.what in FAILED and each.name in passed else each for each in found]


def lines(found: Sequence[Outcome]) -> Iterator[str]:
    """The last one is machine-readable."""
    counted = Counter(each.what for each in found)
    yield f"the slowest {SLOWEST}:"
    for each in sorted(found, key=lambda each: -each.second)[:SLOWEST]:
        yield f"  {each.second:6.1f} s  {each.name}"
    yield from (f"{each.what}: {each.name}" for each in found if each.what in FAILED)
    yield from (f"unsteady: {each.name} failed beside the others and passed alone" for each in found if _unsteady(each))
    failed = sum(counted[what] for what in FAILED)
    yield f"{counted['passed'] + counted[UNSTEADY]} passed, {failed} failed, {counted['skipped']} skipped"


def _unsteady(each: Outcome) -> bool:
    return each.what == UNSTEADY


def main(folder: str, *, again: bool = False) -> int:
    """`again`: prints what is to be run once more."""
    reports = [path for path in sorted(Path(folder).glob("*.xml")) if path.name != AGAIN]
    found = [outcome for path in reports for outcome in outcomes(path)]
    if again:
        print("".join(f"{name}\n" for name in run_again(found)), end="")
        return 0
    second = Path(folder) / AGAIN
    unnamed = [path.stem for path in Path(folder).glob("*.failed") if not _has_failed(path.with_suffix(".xml"))]
    found = merged(found, list(outcomes(second)) if second.is_file() else [])
    print("\n".join(lines(found)))
    if not any(each.what != "skipped" for each in found):
        print("no test ran: nothing was found, or all of it was skipped")
        return 1
    for name in unnamed:
        print(f"{name}: pytest failed, and no test of it did")
    return 1 if unnamed or any(each.what in FAILED for each in found) else 0


def _has_failed(report: Path) -> bool:
    return any(each.what in FAILED for each in outcomes(report))


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1], again="--again" in sys.argv))
