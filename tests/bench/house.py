"""Sizes of the code, and the arrows inside its folders: python -m tests.bench.house [checkout]."""

import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {
    "syncmgr": Path(),
    "syncsql": Path("grammar"),
    "mysqlddl": Path("grammar"),
}  # by place in a checkout
GENERATED = "_pb2.py"
MIGRATIONS = "versions"  # one file each, none of which is ever changed


@dataclass(frozen=True)
class Module:
    name: str
    folder: str
    lines: int
    tree: ast.Module


def modules(checkout: Path) -> Iterator[Module]:
    for package, place in PACKAGES.items():
        root = checkout / place
        for path in sorted((root / package).rglob("*.py")):
            if MIGRATIONS in path.parts or path.name.endswith(GENERATED):
                continue
            text = path.read_text()
            dotted = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            folder = ".".join(path.parent.relative_to(root).parts)
            yield Module(dotted, folder, len(text.splitlines()), ast.parse(text))


def imported(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def rooms(found: list[Module]) -> dict[str, tuple[int, int]]:
    """By folder: how many modules and folders lie in it, and how many arrows there are between these."""
    known = {module.name for module in found}
    inside: dict[str, set[str]] = {}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for module in found:
        parts = module.name.split(".")
        for depth in range(1, len(parts)):
            inside.setdefault(".".join(parts[:depth]), set()).add(parts[depth])
        for name in known.intersection(imported(module)):
            others = name.split(".")
            depth = next((at for at, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b), 0)
            if depth:
                pairs.setdefault(".".join(parts[:depth]), set()).add((parts[depth], others[depth]))
    return {folder: (len(children), len(pairs.get(folder, ()))) for folder, children in inside.items()}


def main(checkout: str = ".") -> None:
    found = list(modules(Path(checkout)))
    nodes = [node for module in found for node in ast.walk(module.tree)]
    functions = [
        (node.end_lineno or node.lineno) - node.lineno
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    methods = {
        node.name: sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    folders = Counter(module.folder for module in found)
    print(f"{len(found)} modules in {len(folders)} folders, the largest has {max(folders.values())}")
    for folder, (count, between) in sorted(rooms(found).items(), key=lambda each: -each[1][1])[:5]:
        print(f"  {folder}: {count} modules and folders, {between} arrows between them")
    lines = [module.lines for module in found]
    print(f"lines: {sum(lines)}, of a module {statistics.median(lines):g} (median) and {max(lines)} at most")
    print(f"lines after the first of a function: {statistics.median(functions):g} (median), {max(functions)} at most")
    print("methods of the largest classes:", sorted(methods.values())[-5:])


if __name__ == "__main__":
    main(*sys.argv[1:])
