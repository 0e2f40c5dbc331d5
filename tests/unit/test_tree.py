"""The tree of the product, as docs/architecture.md opens with it."""

import ast
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
LARGE = {"syncmgr/errors.py": 605}  # one table, a row an error


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_a_module_can_be_read_in_one_sitting(module: Path) -> None:
    """At most 400 lines, but for the table of errors, 25 methods a class, 50 lines a function."""
    text = module.read_text()
    name = str(module.relative_to(ROOT))
    assert len(text.splitlines()) <= LARGE.get(name, MOST_LINES)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            assert len(methods) <= MOST_METHODS, node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < MOST_FUNCTION_LINES, node.name


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
RECORDS = {"Limits": 27, "ChannelDescription": 20, "MysqlDescription": 17, "SyncJob": 17, "ChannelCommit": 16}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_what_a_class_remembers_can_be_kept_in_mind(module: Path) -> None:
    """At most 15 attributes, but for five frozen values."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ClassDef):
            assert len(attributes(node)) <= RECORDS.get(node.name, MOST_ATTRIBUTES), node.name
