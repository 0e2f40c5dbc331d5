import importlib.util
import re
import sys
from pathlib import Path

from syncmgr.job.failure import TREATMENTS

ROOT = Path(__file__).parents[2]


def test_generated_parts_are_fresh() -> None:
    """docs/*.md and conf/fe.conf say what the tables of the code say; `python docs/generate.py` renews them."""
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


def test_each_promise_names_tests_that_exist() -> None:
    """docs/architecture.md: a table of promises, and the files that hold them."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`(?:tests/[\w/]*/)?(test_\w+\.py)`", text.split("## What is promised")[1].split("\n## ")[0])
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert named
    assert set(named) <= there
