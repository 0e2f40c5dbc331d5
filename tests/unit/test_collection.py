import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import STARTS_SPARK, fault_of_marks
from tests.support import long_files, second_proofs
from tests.support.until import HANG_SECOND

ROOT = Path(__file__).parents[2]


def item(*fixtures: str, marked: bool = False, module: Any = None, path: str = "tests/contract/test_x.py") -> Any:
    mark = pytest.mark.spark if marked else None
    return SimpleNamespace(
        fixturenames=fixtures,
        module=module or SimpleNamespace(),
        location=(path, 1, "test_y"),
        get_closest_marker=lambda _: mark,
    )


@pytest.mark.parametrize("name", sorted(STARTS_SPARK))
def test_a_test_that_starts_a_jvm_needs_its_mark(name: str) -> None:
    """By a fixture or by what its module imports: without the mark it is an error, which says where."""
    for unmarked in (item("tmp_path", name), item(module=SimpleNamespace(**{name: object()}))):
        fault = fault_of_marks([item(), unmarked])
        assert fault == "tests that start a JVM need pytest.mark.spark: tests/contract/test_x.py"
    assert fault_of_marks([item("mysql_server"), item(name, marked=True)]) is None


def test_a_marked_test_is_in_a_part_of_the_run() -> None:
    """In another folder no part would have it, and nobody would know."""
    fault = fault_of_marks([item(), item(marked=True, path="tests/unit/test_z.py")])
    assert fault == "no part of the run has these tests with pytest.mark.spark: tests/unit/test_z.py"


def test_a_missing_mark_is_told_of_a_run_in_several_processes(tmp_path: Path) -> None:
    """The run is red, and its words are those of the run in one process."""
    (tmp_path / "pytest.ini").write_text("[pytest]")
    for name in ("test_bad.py", "test_good.py"):
        (tmp_path / name).write_text(f"{'new_lake = 1' if 'bad' in name else ''}\ndef test_it() -> None: ...\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-n",
        "1",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECOND, check=False)
    assert ended.returncode != 0
    assert "tests that start a JVM need pytest.mark.spark: test_bad.py" in ended.stdout
    assert "INTERNALERROR" not in ended.stdout


def test_the_longest_files_come_first() -> None:
    """tests/support/long_files.py: each of them exists, and the tests of a file keep their order."""
    assert [name for name in long_files.LONGEST_FIRST if not (ROOT / "tests" / name).is_file()] == []
    first, last = (f"tests/{long_files.LONGEST_FIRST[place]}" for place in (0, -1))
    paths = ["tests/unit/test_a.py", last, "tests/unit/test_b.py", last, first]
    items = [SimpleNamespace(location=(path, line, "test_y")) for line, path in enumerate(paths)]
    ordered: list[Any] = long_files.in_order(items)  # type: ignore[arg-type]
    assert [item.location[1] for item in ordered] == [4, 1, 3, 0, 2]


def test_second_proofs_are_of_tests_that_exist() -> None:
    """tests/support/second_proofs.py: a test that was renamed would run all of its cases again."""
    texts = {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    names = [key.split("::") for key in second_proofs.KEPT]
    assert [f"{file}::{test}" for file, test in names if f"def {test}(" not in texts.get(file, "")] == []


def test_a_kept_case_that_is_not_there_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise no case of the test would run."""
    monkeypatch.setitem(second_proofs.KEPT, "test_z.py::test_it", ("a", "b"))
    marked = list[str]()
    items: list[Any] = [
        SimpleNamespace(
            path=Path("test_z.py"), name=f"test_it[{case}]", add_marker=lambda _, case=case: marked.append(case)
        )
        for case in "ac"
    ]
    assert second_proofs.unknown(items) == ["test_z.py::test_it[b]"]
    second_proofs.mark(items)
    assert marked == ["c"]
