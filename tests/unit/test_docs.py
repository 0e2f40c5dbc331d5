import ast
import importlib.util
import itertools
import re
import sys
from pathlib import Path

import pytest

from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel.channel_state import BACK, STOP_ADVICE
from syncmgr.job.failure import TREATMENTS

ROOT = Path(__file__).parents[2]
LEFT_OUT = re.compile(r"mark\.(long|slow)\b")  # of a run of all tests
CHANGES = ("Upgrade", "Added", "Changed", "Fixed", "Security")
BY_SUBJECT = {"Added", "Fixed"}
SUBJECTS = (
    "Jobs and statements",
    "Snapshots, ADD TABLE and RESYNC TABLE",
    "MySQL and MariaDB as source",
    "Canal as source",
    "DDL of the source",
    "The lake",
    "Console, SELECT and clients",
    "Users and security",
    "Operation: SHOW, logs, backup, metadata",
    "Speed",
    "Install and packaging",
    "Documents and tests",
)


def test_generated_parts_are_fresh() -> None:
    """docs/*.md and conf/fe.conf say what the tables of the code say, and NOTICE what the packages that are installed
    say; `python docs/generate.py` renews them.
    """
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    stale = [str(path.relative_to(ROOT)) for path, text in module.generated().items() if path.read_text() != text]
    assert stale == []


def test_each_error_of_a_job_has_its_line_for_the_operator() -> None:
    """What you see, what happened, what to do: for every error that a job can meet."""
    text = (ROOT / "docs" / "operations.md").read_text()
    told = set[int]()
    for first, last in re.findall(r"\b(\d{4,5})(?: to (\d{5}))?\b", text):
        told |= set(range(int(first), int(last or first) + 1))
    assert [code for code in TREATMENTS if code.number not in told] == []


def test_each_advice_of_the_first_night_is_one_that_a_job_gets() -> None:
    """docs/first_night.md: the lines `advice:` are in the words that the tables of the code have today."""
    flags = itertools.product((False, True), repeat=4)
    kinds = [
        JobKind(has_rows=rows, has_others=others, runs=runs, shares=shares) for rows, others, runs, shares in flags
    ]
    given = {each.advice_for(kind) for each in TREATMENTS.values() for kind in kinds} | {
        *STOP_ADVICE.values(),
        BACK,
        "NULL",
    }
    shown = re.findall(r"^ *advice: (.*)$", (ROOT / "docs" / "first_night.md").read_text(), re.MULTILINE)
    assert shown
    assert [text for text in shown if text not in given] == []


def promises() -> list[str]:
    """The rows of the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.split("## What is promised")[1].split("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("|") and "test" in line][1:]


def files_of(promise: str) -> list[Path]:
    named = re.findall(r"`(?:tests/[\w/]*/)?(test_\w+\.py)`", promise)
    found = [list((ROOT / "tests").rglob(name)) for name in named]
    assert all(found), f"a file that does not exist: {promise}"
    return [path for paths in found for path in paths]


def runs_always(path: Path) -> bool:
    """Whether a test of the file is marked neither `long` nor `slow`, by itself or with all of them."""
    module = ast.parse(path.read_text())
    of_all = (ast.unparse(node) for node in module.body if isinstance(node, ast.Assign))
    if any(text.startswith("pytestmark") and LEFT_OUT.search(text) for text in of_all):
        return False
    tests = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    marks = {test.name: " ".join(map(ast.unparse, test.decorator_list)) for test in tests}
    return any(name.startswith("test_") and not LEFT_OUT.search(of) for name, of in marks.items())


@pytest.mark.parametrize("promise", promises())
def test_each_promise_has_a_test_that_runs(promise: str) -> None:
    """docs/architecture.md: the files that hold a promise exist, and a test of one of them runs always."""
    assert any(runs_always(path) for path in files_of(promise))


def test_each_term_of_the_glossary_names_a_module_that_exists() -> None:
    """docs/glossary.md: every term has one module, and the terms are in order."""
    lines = [line for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line.startswith("| ")][2:]
    rows = [re.fullmatch(r"\| ([^|]+) \| [^|]+ \| `([\w/]+\.py)` \|", line) for line in lines]
    terms = [(row[1], row[2]) for row in rows if row is not None]
    assert len(terms) == len(lines)
    assert sorted(terms) == terms
    assert [each for _, each in terms if not ((ROOT / "syncmgr" / each).is_file() or (ROOT / each).is_file())] == []


def parts_of(text: str, level: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The text before the first heading of the level, and under each; the headings are known and in order."""
    before, *rest = re.split(rf"^{level} (.+)\n", text, flags=re.MULTILINE)
    assert rest[::2] == [heading for heading in known if heading in rest[::2]]
    return before, dict(zip(rest[::2], rest[1::2], strict=True))


def has_bullets(text: str) -> bool:
    return re.search(r"^- ", text, re.MULTILINE) is not None


def versions() -> list[str]:
    return re.split(r"^## .+\n", (ROOT / "docs" / "changelog.md").read_text(), flags=re.MULTILINE)


def test_each_change_stands_under_its_heading() -> None:
    """docs/changelog.md: the headings are those of a fixed list, in order, and no bullet is outside of them."""
    title, *each_version = versions()
    assert not has_bullets(title)
    for version in each_version:
        before, changes = parts_of(version, "###", CHANGES)
        assert not has_bullets(before)
        for kind, text in changes.items():
            outside, subjects = parts_of(text, "####", SUBJECTS if kind in BY_SUBJECT else ())
            assert has_bullets(outside) == (kind not in BY_SUBJECT)
            assert all(map(has_bullets, subjects.values()))
