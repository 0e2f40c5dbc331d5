"""Other nodes in a tree of sqlglot, in time by the tree's size.

Owns: how one node takes the place of another; sqlglot numbers all nodes of a list again for each that it replaces.
Must not know: what a node means, and why it is replaced.
"""

from collections.abc import Callable

from sqlglot import exp


def replace(node: exp.Expr, by: exp.Expr) -> None:
    """Also by a node that holds it. Nothing happens to the root."""
    parent, key, index = node.parent, node.arg_key, node.index
    if by is node or parent is None or key is None:
        return
    if index is None:
        parent.set(key, by)
        return
    parent.args[key][index] = by
    by.parent, by.arg_key, by.index = parent, key, index


def replace_all(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> None:
    """Each node by what `change` makes of it, in which nothing is replaced again."""
    left = [tree]
    while left:
        node = left.pop()
        by = change(node)
        if by is node:
            left += node.iter_expressions()
        else:
            replace(node, by)
