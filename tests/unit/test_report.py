from pathlib import Path

from tests.support.report import Outcome, lines, main, outcomes

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
