"""bin/test.sh, with programs in the place of Python and of lint that do nothing, or never end."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from tests.support import installed
from tests.support.until import HANG_SECOND, until

ROOT = Path(__file__).parents[2]
PROGRAM = """#!/bin/sh
case "$*" in
  *pytest*)
    echo $$ >"$XDG_CACHE_HOME/new" && mv "$XDG_CACHE_HOME/new" "$XDG_CACHE_HOME/pid"
    exec sleep 600
    ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Whose tests never end."""
    folder = tmp_path / "a clone"
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (folder / "tests" / "unit").mkdir(parents=True)
    shutil.copytree(ROOT / "bin", folder / "bin")
    for name in ("python", "ruff", "mypy", "lint-imports"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o700)
    for lock in (folder, programs.parent):
        (lock / "requirements-dev.lock").touch()
    return folder


FAILING = """#!/bin/sh
case "$*" in
  *pytest*)
    for last; do :; done
    case "$*" in
      */fast.xml*) result='<failure/>' status=1 ;;
      *) result=$ALONE status=0; echo "alone: $last" ;;
    esac
    report=$(echo "$*" | sed 's/.*--junitxml=\\([^ ]*\\).*/\\1/')
    case="<testcase classname='tests.unit.test_script' name='test_it'>$result</testcase>"
    echo "<testsuite>$case</testsuite>" >"$report"
    exit $status
    ;;
  *tests.support.report*) cd "$ROOT" && exec "$REAL" "$@" ;;
esac
"""


@pytest.mark.parametrize(("alone", "status", "says"), [("", 0, "unsteady: "), ("<failure/>", 1, "failure: ")])
def test_what_failed_is_run_alone_once(clone: Path, alone: str, status: int, says: str) -> None:
    """One that passes then is named and does not make the run red; one that fails again does."""
    (clone / ".venv" / "bin" / "python").write_text(FAILING)
    for name in ("ruff", "mypy", "lint-imports"):
        (clone / ".venv" / "bin" / name).write_text("#!/bin/sh\n")
    ended = subprocess.run(
        [clone / "bin" / "test.sh", "--fast"],
        env={**environment(clone), "ALONE": alone, "REAL": sys.executable, "ROOT": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HANG_SECOND,
        check=False,
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert "again: alone: tests/unit/test_script.py::test_it\n" in ended.stdout
    assert f"{says}tests/unit/test_script.py::test_it" in ended.stdout


def environment(cache: Path) -> Mapping[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(cache)}


def refused(clone: Path, *arguments: str, cache: Path | None = None) -> str:
    """What the script says when it ends before any test."""
    ended = subprocess.run(
        [clone / "bin" / "test.sh", *arguments],
        env=environment(cache or clone),
        capture_output=True,
        text=True,
        timeout=HANG_SECOND,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tests/unit"], "-m pytest tests/unit"),
        (["--fast", "-x", "./tests/unit::test_it"], "-m pytest ./tests/unit::test_it"),
        (["--long", "-m", "spark"], "-m pytest -m"),
        (["-k", "word", "--fast"], "usage: "),
        (["--help"], "usage: "),
    ],
)
def test_what_a_part_decides_is_no_argument(clone: Path, arguments: list[str], words: str) -> None:
    """A folder would be added to those of each part, and a mark would take the place of each part's: both are refused
    with what to type.
    """
    assert words in refused(clone, *arguments)


def test_a_cache_that_cannot_be_written_is_told(clone: Path, tmp_path: Path) -> None:
    """Of a user without a home, say: with the variable that helps."""
    (tmp_path / "file").touch()
    assert "Please set XDG_CACHE_HOME" in refused(clone, "--fast", cache=tmp_path / "file")


def test_the_tests_look_where_the_script_installs() -> None:
    """Also where XDG_CACHE_HOME says so, for a test that is run by itself."""
    program = f'source "{ROOT}/bin/environment.sh"; echo "$PRIVATE"'
    assert subprocess.check_output(["bash", "-c", program], text=True).strip() == str(installed.FOLDER)
    elsewhere = subprocess.check_output(
        [ROOT / ".venv" / "bin" / "python", "-c", "from tests.support.servers import mysql; print(mysql.TEMPLATES)"],
        env=environment(Path("/elsewhere")),
        cwd=ROOT,
        text=True,
    )
    assert elsewhere.strip() == "/elsewhere/syncmgr/data"


@pytest.mark.slow
def test_the_environment_holds_what_is_locked_alone(tmp_path: Path) -> None:
    """And pip, by which it came: what venv brings besides is no part of the locks, and is removed."""
    (tmp_path / "none.lock").touch()
    program = f'source "{ROOT}/bin/environment.sh"; PROJECT={tmp_path} PYTHON={tmp_path}/.venv/bin/python'
    program += '; make_python none.lock >&2 && "$PYTHON" -m pip list --disable-pip-version-check --format=freeze'
    listed = subprocess.check_output(["bash", "-c", program], text=True, cwd=ROOT)
    assert [line.partition("==")[0] for line in listed.split()] == ["pip"]


def has_ended(pid: int) -> bool:
    """Also where whoever has inherited it has yet to hear of that."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_run_that_is_told_to_end_ends_its_tests_alone(clone: Path) -> None:
    """Not who called it, and is of the same process group; it ends as after Ctrl-C."""
    run = subprocess.Popen(
        [clone / "bin" / "test.sh", "--fast"],
        env=environment(clone),
        process_group=0,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    bystander = subprocess.Popen(["sleep", "600"], process_group=run.pid)
    until((clone / "pid").exists, why="the tests have begun")
    run.terminate()
    try:
        assert run.wait(HANG_SECOND) == 130
        until(lambda: has_ended(int((clone / "pid").read_text())), why="the end of the tests")
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
