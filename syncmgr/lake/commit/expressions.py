"""The expressions of a channel, checked by Spark before a job is created, and those of older jobs before they are
computed.

Owns: what a column expression or WHERE may be.
Must not know: rows, epochs, statements.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription, quoted
from syncmgr.job.channel.expression_bounds import Node, unbounded, uncheckable
from syncmgr.job.channel.expression_moments import momentary
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.types.schema import SourceColumn, arrow_type
from syncmgr.lake.commit import rows
from syncmgr.lake.executors.row_source import on_this_machine
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark import jvm
from syncmgr.lake.spark.segment import spark_type

_MOMENTARY: Final = re.compile(
    r"\b(current_timestamp|current_date|current_time|localtimestamp|now|current_user|session_user|unix_timestamp)\(",
)


_OLDER: Final = "the job was made before such were refused"
_AT_WORK: Final = f"{_OLDER}; unbounded_expressions = ON in conf/fe.conf takes them"


class Bounds:
    """Of what commits compute: jobs of earlier versions were not checked. `trusts`: also what takes unbounded time or
    memory, but nothing that depends on when it is computed.

    From any thread; simultaneous calls check twice.
    """

    def __init__(self, *, trusts: bool) -> None:
        self._trusts = trusts
        self._known: dict[str, tuple[str, ...]] = {}  # channels with bounded expressions, by token

    def check(self, session: SparkSession, channel: ChannelCommit) -> None:
        """Raises BAD_EXPRESSION. Each channel is checked once, if it computes anything."""
        all_of_it = (*(mapped.expression for mapped in channel.columns), channel.where)
        computed = tuple(each for each in all_of_it if each and not rows.PLAIN_COLUMN.fullmatch(each))
        if not computed or channel.empty or self._known.get(channel.token) == computed:
            return
        relation = rows.changes(on_this_machine(session), channel)
        for each in computed:
            reason = self._refused(relation, each)
            if reason is not None:
                raise SyncError(Code.BAD_EXPRESSION, expression=each, reason=reason)
        self._known[channel.token] = computed

    def _refused(self, relation: DataFrame, expression: str) -> str | None:
        costs = None if self._trusts else _uncheckable(relation.sparkSession, expression)
        if costs is None:
            plan = jvm.analyzed(relation.selectExpr(f"({expression}) AS x"))
            costs = None if self._trusts else _unbounded(plan, expression)
            present = _present(plan)
            if present is not None:
                return f"{present}; {_OLDER}"
        return None if costs is None else f"{costs}; {_AT_WORK}"


def check_expressions(session: SparkSession, channel: ChannelDescription, layout: Layout, *, trusts: bool) -> None:
    """Raises BAD_EXPRESSION, UNKNOWN_COLUMN. Runs nothing. `trusts`: also accepts what takes unbounded time or
    memory.
    """
    read = (column for column in channel.source.columns if column.name in channel.reads)
    nulls = ", ".join(f"CAST(NULL AS {_type(column)}) AS {quoted(column.name)}" for column in read)
    relation = session.sql(f"SELECT {nulls}")
    for mapped in channel.columns:
        field = layout.field(mapped.target)
        if field is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=mapped.target, where=f"{channel.target_db}.{channel.target}")
        _check(relation, mapped.expression, rows.spark_type(field), trusts=trusts)
    if channel.where is not None:
        _check(relation, channel.where, "BOOLEAN", trusts=trusts)


def _type(column: SourceColumn) -> str:
    return spark_type(arrow_type(column))


def _check(relation: DataFrame, expression: str, kind: str, *, trusts: bool = False) -> None:
    try:
        reason = None if trusts else _uncheckable(relation.sparkSession, expression)
        reason = reason or _of_plan(relation, expression, kind, trusts=trusts)
    except jvm.JAVA_ERRORS as error:
        _, message = jvm.condition_and_message(error)
        raise SyncError(Code.BAD_EXPRESSION, expression=expression, reason=message) from error
    if reason:
        raise SyncError(Code.BAD_EXPRESSION, expression=expression, reason=reason)


def _of_plan(relation: DataFrame, expression: str, kind: str, *, trusts: bool) -> str | None:
    plan = jvm.analyzed(relation.selectExpr(f"CAST({expression} AS {kind}) AS x"))
    if plan.operators[:2] != ("Project", "Project") or "subquery" in plan.text:
        return "it must be computed from one row: no aggregate, window, generator or subquery"
    if not plan.deterministic or _MOMENTARY.search(plan.text):
        return "it must give the same value whenever it is computed"
    return _present(plan) or (None if trusts else _unbounded(plan, expression))


def _present(plan: jvm.AnalyzedPlan) -> str | None:
    return next(filter(None, (momentary(node_of(each, "")) for each in plan.computed)), None)


def _uncheckable(session: SparkSession, expression: str) -> str | None:
    return uncheckable(node_of(jvm.parsed(session, expression), ""))


def _unbounded(plan: jvm.AnalyzedPlan, expression: str) -> str | None:
    escape = "" if "ESCAPE" in expression.upper() else "\\"  # which one is not known
    return next(filter(None, (unbounded(node_of(each, escape)) for each in plan.computed)), None)


def node_of(text: str, escape: str) -> Node:
    """An expression as Spark's JSON has it: its parts in a list, each before its children. `escape`: of each LIKE,
    which the JSON leaves out.
    """
    built: list[Node] = []
    for part in reversed(json.loads(text)):  # no recursion: a sum of a thousand columns is a thousand levels deep
        children = [built.pop() for _ in range(part["num-children"])]
        kind = str(part["class"]).rpartition(".")[2]
        stored = part.get("dataType")
        type_ = stored if isinstance(stored, str) else ""
        built.append(Node(kind=kind, children=children, text=_text(kind, part), type=type_, escape=escape))
    return built[0]


def _text(kind: str, part: Mapping[str, Any]) -> str | None:
    match kind:
        case "UnresolvedFunction":
            names = part["nameParts"]
            return ".".join(names) if isinstance(names, list) else str(names).strip("[]")
        case "Literal":
            text = part.get("value")
        case _:
            text = part.get("name")
    return None if text is None else str(text)
