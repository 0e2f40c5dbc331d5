"""The result of all parts of a test run: the slowest tests, and how many passed.

Run: python -m tests.support.report FOLDER  It holds JUnit reports of pytest.  Returns 1 if a test failed or none ran.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

SLOWEST: Final = 20
OUTCOMES: Final = ("failure", "error", "skipped")


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


def lines(found: Sequence[Outcome]) -> Iterator[str]:
    """The last one is machine-readable."""
    counted = Counter(each.what for each in found)
    yield f"the slowest {SLOWEST}:"
    for each in sorted(found, key=lambda each: -each.second)[:SLOWEST]:
        yield f"  {each.second:6.1f} s  {each.name}"
    yield from (f"{each.what}: {each.name}" for each in found if each.what in {"failure", "error"})
    failed = counted["failure"] + counted["error"]
    yield f"{counted['passed']} passed, {failed} failed, {counted['skipped']} skipped"


def main(folder: str) -> int:
    found = [outcome for path in sorted(Path(folder).glob("*.xml")) for outcome in outcomes(path)]
    print("\n".join(lines(found)))
    if not any(each.what != "skipped" for each in found):
        print("no test ran: nothing was found, or all of it was skipped")
        return 1
    return 1 if any(each.what in {"failure", "error"} for each in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
