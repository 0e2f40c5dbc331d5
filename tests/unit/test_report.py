from pathlib import Path

from tests.support.report import Outcome, lines, main, merged, outcomes, run_again

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_good[1]" time="0.5"/>
<testcase classname="tests.unit.test_a" name="test_bad" time="2"><failure message="no"/></testcase>
<testcase classname="tests.unit.test_b" name="test_broken" time="1"><error message="no"/></testcase>
<testcase classname="tests.unit.test_b" name="test_left_out" time="0"><skipped message="no server"/></testcase>
</testsuite></testsuites>"""


def test_a_report_names_the_slowest_and_what_failed(tmp_path: Path) -> None:
    """The slowest test comes first, failures and errors are named, and the last line counts all of it."""
    report = tmp_path / "a.xml"
    report.write_text(REPORT)
    told = list(lines(list(outcomes(report))))
    assert told[1].split() == ["2.0", "s", "tests/unit/test_a.py::test_bad"]
    assert told[-3:] == [
        "failure: tests/unit/test_a.py::test_bad",
        "error: tests/unit/test_b.py::test_broken",
        "1 passed, 2 failed, 1 skipped",
    ]
    assert main(str(tmp_path)) == 1


def test_a_run_without_a_test_is_red(tmp_path: Path) -> None:
    """No report, or nothing but skipped tests, is no success; a run whose tests passed is one."""
    report = tmp_path / "a.xml"
    assert main(str(tmp_path)) == 1
    report.write_text('<testsuite><testcase classname="a" name="b"><skipped/></testcase></testsuite>')
    assert main(str(tmp_path)) == 1
    report.write_text('<testsuite><testcase classname="a" name="b"/></testsuite>')
    assert main(str(tmp_path)) == 0


def test_only_the_slowest_are_told() -> None:
    """Twenty of them, however many ran."""
    many = [Outcome(name=str(number), second=number, what="passed") for number in range(30)]
    assert [line.split()[-1] for line in lines(many)][1:-1] == [str(number) for number in range(29, 9, -1)]


def failing(*names: str) -> list[Outcome]:
    return [Outcome(name=name, second=1, what="failure") for name in names]


def test_a_few_failures_are_tried_once_more() -> None:
    """Alone; not many, nor a failure that is no test, nor a proof that must never fail."""
    here = "tests/unit/test_report.py"
    few = [f"{here}::test_{number}[a]" for number in range(3)]
    assert run_again([*failing(*few), Outcome(name=f"{here}::test_good", second=1, what="passed")]) == few
    assert run_again(failing(*few, f"{here}::test_4")) == []
    assert run_again(failing(few[0], ".py::tests.unit.test_report")) == []
    assert run_again(failing(few[0], "tests/acceptance/test_torture.py::test_the_lake")) == []


def test_what_passes_alone_is_named(tmp_path: Path) -> None:
    """It counts as passed; what fails again has failed, and so has a part that failed without a test that did."""
    (tmp_path / "a.xml").write_text(REPORT)
    again = '<testcase classname="tests.unit.test_a" name="test_bad"/>'
    broken = '<testcase classname="tests.unit.test_b" name="test_broken"><error/></testcase>'
    (tmp_path / "again.xml").write_text(f"<testsuite>{again}{broken}</testsuite>")
    assert main(str(tmp_path)) == 1
    found = merged(list(outcomes(tmp_path / "a.xml")), list(outcomes(tmp_path / "again.xml")))
    assert list(lines(found))[-3:] == [
        "error: tests/unit/test_b.py::test_broken",
        "unsteady: tests/unit/test_a.py::test_bad failed beside the others and passed alone",
        "2 passed, 1 failed, 1 skipped",
    ]
    (tmp_path / "again.xml").write_text(f"<testsuite>{again}{broken.replace('<error/>', '')}</testsuite>")
    assert main(str(tmp_path)) == 0
    (tmp_path / "b.xml").write_text(f"<testsuite>{again}</testsuite>")
    (tmp_path / "b.failed").touch()
    assert main(str(tmp_path)) == 1
