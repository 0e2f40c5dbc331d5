"""The tree of the product, as docs/architecture.md opens with it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ROOT / "syncmgr", ROOT / "grammar"
PACKAGES = sorted(path.parent for root in OURS for path in root.rglob("__init__.py") if "versions" not in path.parts)
MOST_FILES = 16


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_can_be_taken_in_at_a_glance(folder: Path) -> None:
    """At most 16 modules lie in one folder; one more means that it holds two subjects."""
    assert len(list(folder.glob("*.py"))) <= MOST_FILES


MODULES = sorted(
    path
    for root in OURS
    for path in root.rglob("*.py")
    if "versions" not in path.parts and not path.name.endswith("_pb2.py")
)
MOST_LINES, MOST_METHODS, MOST_FUNCTION_LINES, MOST_ATTRIBUTES = 400, 25, 50, 15


FOLDERS = sorted({module.parent for module in MODULES})
in_each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))


def modules(folder: Path) -> Iterator[tuple[str, str, ast.Module]]:
    """The name, the text and the tree of each."""
    for module in MODULES:
        if module.parent == folder:
            text = module.read_text()
            yield str(module.relative_to(ROOT)), text, ast.parse(text)


@in_each_folder
def test_a_module_can_be_read_in_one_sitting(folder: Path) -> None:
    """At most 400 lines, 25 methods a class, 50 lines a function."""
    for module, text, tree in modules(folder):
        assert len(text.splitlines()) <= MOST_LINES, module
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
                assert len(methods) <= MOST_METHODS, f"{module}:{node.name}"
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                assert node.end_lineno - node.lineno < MOST_FUNCTION_LINES, f"{module}:{node.name}"


def attributes(of: ast.ClassDef) -> set[str]:
    """What its methods assign to `self`, and what its body declares."""
    declared = {
        each.target.id
        for each in of.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and "ClassVar" not in ast.unparse(each.annotation)
    }
    assigned = {
        node.attr
        for node in ast.walk(of)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    return declared | assigned


# Frozen values, a field for each column, property or setting that they stand for.
RECORDS = {
    "syncmgr/console/limits.py:Limits": 28,
    "syncmgr/job/channel/description.py:ChannelDescription": 20,
    "syncmgr/sources/mysql/description.py:MysqlDescription": 17,
    "syncmgr/job/snapshot/chunk_rows.py:ChunkRows": 16,
    "syncmgr/job/sync_job.py:SyncJob": 18,
    "syncmgr/job/metrics/sample.py:JobSample": 16,
}


@in_each_folder
def test_what_a_class_remembers_can_be_kept_in_mind(folder: Path) -> None:
    """At most 15 attributes, but for six frozen values."""
    for module, _, tree in modules(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                name = f"{module}:{node.name}"
                assert len(attributes(node)) <= RECORDS.get(name, MOST_ATTRIBUTES), name


@in_each_folder
def test_a_module_says_what_it_owns_and_must_not_know(folder: Path) -> None:
    """Both lines are in the docstring at its top."""
    for module, _, tree in modules(folder):
        if not module.endswith("__init__.py"):
            said = ast.get_docstring(tree) or ""
            assert re.search(r"^Owns: ", said, re.MULTILINE), module
            assert re.search(r"^Must not know: ", said, re.MULTILINE), module


UNIT = ROOT / "tests" / "unit"
OF_NO_MODULE = {
    "console/statements/test_session_values.py": "small tables and functions of several modules",
    "job/ddl/test_dated.py": "one setting of a server, through all of job/ddl",
    "job/ddl/test_ported_ddl.py": "cases in files, through all of job/ddl",
    "job/test_advice_held.py": "which other tests hold the table of errors",
    "lake/test_iceberg_model.py": "commits and upkeep of a table beside another writer",
    "meta/test_resync_store.py": "jobs, loads and channels: tables that are read again",
    "pipeline/test_failure_domains.py": "committer, laggards and run: one table that cannot be committed",
    "pipeline/test_gathering.py": "committer and ledger: epochs that wait for a channel",
    "pipeline/test_reading_anew.py": "run, committer and snapshot: a table whose rows are read again",
    "pipeline/test_reshaped.py": "committer and snapshot: epochs of an earlier life of a table",
    "sources/canal/test_again.py": "sorter and history: canal connects again to a server",
    "sources/canal/test_away.py": "sorter and history: canal changes to another server",
    "sources/canal/test_proto.py": "the modules that protoc generates",
    "sources/canal/test_torn_elsewhere.py": "sorter and history: a torn transaction and another server",
    "sources/mysql/binlog/test_hostile_events.py": "every reader of bytes of a server",
    "sources/mysql/binlog/test_torn.py": "router and source: a transaction larger than a batch",
    "sources/mysql/test_garbage.py": "every reader of bytes of a server",
    "sources/mysql/values/test_charset_keys.py": "charsets and values: texts of a key",
    "sources/mysql/values/test_row_images.py": "decoder and table map: rows that lack columns",
    "sources/test_descriptions.py": "the descriptions of all sources",
    "test_collection.py": "tests/conftest.py",
    "test_docs.py": "docs/",
    "test_environment.py": "bin/start_fe.sh",
    "test_readme_state.py": "README.md",
    "test_report.py": "tests/support/report.py",
    "test_script.py": "bin/test.sh",
    "test_torture_figures.py": "tests/torture/figures.py",
    "test_tree.py": "the tree",
}


def test_unit_tests_mirror_the_product() -> None:
    """tests/unit/job/test_x.py is about syncmgr/job/x.py, but for those of several modules, and of none."""
    tests = {str(path.relative_to(UNIT)): path for path in UNIT.rglob("test_*.py")}
    product = ROOT / "syncmgr"
    astray = {
        name for name in tests if not (product / name).with_name(tests[name].name.removeprefix("test_")).is_file()
    }
    assert astray == OF_NO_MODULE.keys()
