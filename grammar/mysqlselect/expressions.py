"""Expressions of MySQL in Spark's words, with their types.

Owns: that all nodes are in one table.
Must not know: any node, the clauses of a SELECT.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from mysqlselect.nodes import calls, comparisons, operators
from mysqlselect.nodes.compiler import Asked, Compiler, Nested, Node
from mysqlselect.scopes import Scope

NODES: Final[Mapping[type[exp.Expr], Node]] = {**operators.TABLE, **comparisons.TABLE, **calls.TABLE}


def compiler(scope: Scope, nested: Nested, asked: Asked) -> Compiler:
    return Compiler(NODES, scope, nested, asked)
