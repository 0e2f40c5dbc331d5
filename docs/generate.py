"""Writes the reference parts of the documentation from the tables of the code.

Owns: the blocks between `<!-- generated: NAME -->` and `<!-- end -->` in docs/*.md, conf/fe.conf, and NOTICE.
Run `python docs/generate.py` after changing a table; the tests fail where a block is stale.
"""

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import PackageMetadata, metadata
from pathlib import Path
from typing import Any, Final, get_args

from mysqlselect.functions.table import GROUPS
from syncmgr.config import settings
from syncmgr.config.spark_keys import HELD, NEVER
from syncmgr.errors import Code
from syncmgr.errors.concern import CONCERNS, Phase, Whom, whom
from syncmgr.job.channel.channel_state import CHANNEL_TRANSITIONS
from syncmgr.job.ddl_policy import Kind, OnDdl, meaning
from syncmgr.job.failure import TREATMENTS
from syncmgr.job.job_properties import JOB_PROPERTIES
from syncmgr.job.metrics.metric import METRICS
from syncmgr.job.property import Property
from syncmgr.job.source_history.logged import ASKED, HEEDED
from syncmgr.job.state import TRANSITIONS
from syncmgr.job.types.column_type import source_column
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.schema import SourceColumn, arrow_type
from syncmgr.job.types.target import TYPE_NAMES, parse_type
from syncmgr.lake.spark.jars import OF_CATALOGS, OF_THE_LAKE
from syncmgr.sources.registry import KINDS
from syncmgr.web.api.recent import Recent
from syncmgr.web.api.route import PREFIX
from syncmgr.web.api.table import routes
from syncsql import MetaKind, Statement

ROOT: Final = Path(__file__).parent.parent
BLOCK: Final = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def _mysql_functions() -> str:
    """Of a SELECT."""
    rows = ((group, ", ".join(f"`{name}`" for name in sorted(functions))) for group, functions in GROUPS.items())
    return _table(("About", "Functions"), rows)


def _settings() -> str:
    rows = (
        (
            f"`{s.name}`",
            f"`{settings.show(s.default)}`" if s.default != "" else "",
            s.unit,
            "yes" if s.mutable else "no",
            "yes" if s.job else "no",
            s.doc,
        )
        for s in settings.SETTINGS
    )
    return _table(["Key", "Default", "Unit", "Changes live", "Per job", "Meaning"], rows)


def _metrics() -> str:
    rows = ((f"`{m.name}`", m.kind, ", ".join(f"`{label}`" for label in m.labels), m.doc) for m in METRICS)
    return _table(["Metric", "Type", "Labels", "Meaning"], rows)


def _routes() -> str:
    """Of the API of HTTP."""
    nothing: Any = None
    rows = routes(nothing, Recent(), nothing, 0, Path())
    return _table(
        ("Route", "For", "Answer", "Statement"),
        (
            (f"`{row.method} {PREFIX}{row.path}`", row.who, row.summary, f"`{row.statement}`" if row.statement else "")
            for row in rows
        ),
    )


def _errors() -> str:
    rows = ((str(c.number), c.sqlstate, c.template) for c in sorted(Code, key=lambda c: c.number))
    return _table(["Number", "SQLSTATE", "Message"], rows)


def _remedies() -> str:
    ordered = sorted(TREATMENTS.items(), key=lambda row: row[0].number)
    rows = (
        (str(code.number), code.name, row.remedy.value, "yes" if row.by_person else "", row.whole)
        for code, row in ordered
    )
    return _table(["Number", "Error", "Who fixes it", "Needs an operator", "What to do"], rows)


def _concerns() -> str:
    """An error of a table is in the row of each phase in which it concerns that one alone."""
    read, copied = (
        {code for code, each in CONCERNS.items() if each.whom is Whom.TABLE and phase in each.alone}
        for phase in (Phase.READ, Phase.COPY)
    )
    rows = {
        "every job": {code for code in CONCERNS if whom(code) is Whom.FRONTEND},
        "the job": {code for code in CONCERNS if whom(code) is Whom.JOB},
        "one table, while its changes are read": read,
        "one table, while its existing rows are read": copied,
        "one table, only while its rows are committed": {
            code for code in CONCERNS if whom(code) is Whom.TABLE and code not in read | copied
        },
    }
    found = (
        (said, ", ".join(str(number) for number in sorted(code.number for code in of))) for said, of in rows.items()
    )
    return _table(["Concerns", "Errors"], found)


def _properties(table: Iterable[Property]) -> str:
    rows = ((f"`{p.name}`", "" if p.default is None else f"`{p.default}`", p.doc) for p in table)
    return _table(["Property", "Default", "Meaning"], rows)


def _asked() -> str:
    rows = (
        (
            *(
                ", ".join(f"`{name}`" for name in asked.setting.split(", ")),
                f"`{asked.wanted}`" if asked.wanted else "empty",
            ),
            asked.matters,
            f"{asked.code.number}",
            "at CREATE SYNC and ADD TABLE" + (", and at each connection" if asked.at_connect else ""),
            asked.why,
        )
        for asked in ASKED
    )
    return _table(["Setting", "Required", "Applies to", "Otherwise error", "Checked", "Why"], rows)


def _heeded() -> str:
    rows = ((f"`{each.setting}`", each.value, each.servers, each.does) for each in HEEDED)
    return _table(["Setting", "Value", "Servers", "What a job does"], rows)


def _states() -> str:
    rows = (
        (f"{state.value}", event.value, target.value)
        for state, row in TRANSITIONS.items()
        for event, target in row.items()
    )
    return _table(["State", "Event", "Next state"], rows)


def _channel_states() -> str:
    rows = (
        (state.value, event.value, target.value)
        for state, row in CHANNEL_TRANSITIONS.items()
        for event, target in row.items()
        if target is not state
    )
    return _table(["State", "Event", "Next state"], rows)


def _tree() -> str:
    """Each folder of the product with the first line of its package."""
    packages = sorted(
        (path for root in ("grammar", "syncmgr") for path in (ROOT / root).rglob("__init__.py")),
        key=lambda path: path.parent.parts,
    )
    rows = ((f"`{path.parent.relative_to(ROOT)}/`", _first_line(path)) for path in packages)
    return _table(["Folder", "What it holds"], rows)


def _first_line(path: Path) -> str:
    return str(ast.get_docstring(ast.parse(path.read_text()))).partition("\n")[0]


def _layers() -> str:
    """The contract that import-linter holds."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    lines = next(contract["layers"] for contract in contracts if contract["name"] == "layers")
    return "```\n" + "".join(f"{line}\n" for line in lines) + "```\n"


def _statements() -> str:
    """The first line of every node's docstring, up to what it says besides."""
    said = (str(node.__doc__).splitlines()[0].partition(";")[0] for node in get_args(Statement))
    lines = [line if line.endswith("...") else line.removesuffix(".") for line in said]
    kinds = ", ".join(f"`{kind}`" for kind in MetaKind)
    return "```\n" + "".join(f"{line}\n" for line in lines) + f"```\n\nThe kinds of the last `SHOW`: {kinds}.\n"


def _clients() -> str:
    """What the tests of the clients have seen."""
    record = json.loads((ROOT / "tests" / "acceptance" / "clients" / "matrix.json").read_text())
    checks = list(dict.fromkeys(check for each in record.values() for check in each["checks"]))
    rows = (
        [name, each["version"], *("yes" if check in each["checks"] else "" for check in checks)]
        for name, each in record.items()
    )
    return _table(["Client", "Version", *checks], rows)


def _jars() -> str:
    rows = ((f"`{one.name}`", f"`{one.file}`", f"`{one.sha256}`") for one in (*OF_THE_LAKE, *OF_CATALOGS))
    return _table(["Package", "File", "SHA-256"], rows)


def _ddl() -> str:
    rows = ((kind.value, *(meaning(kind, policy) for policy in OnDdl)) for kind in Kind)
    return _table(["DDL on a synced table", *(f"`{policy}`" for policy in OnDdl)], rows)


_TYPES: Final = (  # as MySQL writes them
    *(f"{word}{sign}" for sign in ("", " unsigned") for word in ("tinyint", "smallint", "mediumint", "int", "bigint")),
    *("decimal(18,4)", "decimal(18,0)", "decimal(65,30)", "float", "double", "bit(1)", "bit(64)", "year"),
    *("date", "datetime(6)", "timestamp(6)", "time(6)", "char(20)", "varchar(20)", "tinytext", "text", "mediumtext"),
    *("longtext", "enum('a','b')", "set('a','b')", "json", "binary(20)", "varbinary(20)", "tinyblob", "blob"),
    *("mediumblob", "longblob", "geometry", "vector", "uuid", "inet6", "inet4"),
)


def _types() -> str:
    """What each type travels as, where it goes by itself, and into which types else."""
    rows = []
    for text in _TYPES:
        column = source_column("c", text, charset="utf8mb4")
        kind = derived(column)
        assert kind is not None, text
        whole, checked = _families(column)
        travels = str(arrow_type(column))
        rows.append(
            (f"`{column.text.upper()}`", f"`{travels}`", f"`{kind.text}`", ", ".join(whole), ", ".join(checked))
        )
    head = ["MySQL", "Travels as (Arrow)", "Closest target", "Hold every value", "Hold some, checked one by one"]
    return _table(head, rows)


def _families(column: SourceColumn) -> tuple[list[str], list[str]]:
    """Target types, of those with a size the widest and the narrowest, that hold every value, and that hold some."""
    found = {Fit.WHOLE: [], Fit.CHECKED: [], Fit.NEVER: []}
    for name in TYPE_NAMES:
        widest = {
            "DECIMAL": f"DECIMAL(38,{column.scale})",
            "CHAR": "CHAR(255)",
            "VARCHAR": "VARCHAR(65533)",
            "DATETIME": "DATETIME(6)",
            "TIMESTAMP": "TIMESTAMP(6)",
        }.get(name, name)
        narrowest = {
            "DECIMAL": "DECIMAL(1,0)",
            "CHAR": "CHAR(1)",
            "VARCHAR": "VARCHAR(1)",
            "DATETIME": "DATETIME(0)",
            "TIMESTAMP": "TIMESTAMP(0)",
            "BINARY": "BINARY(1)",
        }.get(name, name)
        for how in dict.fromkeys(fit(column, parse_type(text))[0] for text in (widest, narrowest)):
            found[how].append(name)
    return found[Fit.WHOLE], found[Fit.CHECKED]


def _spark_keys() -> str:
    held = ([f"`{key}`", f"`{value}`", why] for key, (value, why) in HELD.items())
    never = ([f"`{begin}*`", "", why] for begin, why in NEVER.items())
    return _table(["Key", "Always", "Otherwise"], [*held, *never])


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "metrics": _metrics,
    "routes": _routes,
    "settings": _settings,
    "spark-keys": _spark_keys,
    "errors": _errors,
    "concerns": _concerns,
    "remedies": _remedies,
    **{f"{name}-properties": partial(_properties, kind.properties) for name, kind in KINDS.items()},
    "job-properties": lambda: _properties(JOB_PROPERTIES),
    "asked": _asked,
    "heeded": _heeded,
    "tree": _tree,
    "layers": _layers,
    "states": _states,
    "channel_states": _channel_states,
    "mysql-functions": _mysql_functions,
    "types": _types,
    "statements": _statements,
    "clients": _clients,
    "ddl": _ddl,
    "jars": _jars,
    "grammar": lambda: "```lark\n" + (ROOT / "grammar" / "sync_job.lark").read_text() + "```\n",
}


_NOTICE: Final = """syncmgr
The licence of syncmgr itself is the Apache License, Version 2.0 (see LICENSE).

syncmgr is distributed without the components below; they are fetched where it is installed or runs.
Anyone who redistributes them with it, for instance in an image, must comply with their licences.


Python packages (requirements.lock), with the licences that their metadata declare:

{packages}
pyspark contains Apache Spark and the jars that it needs, whose licences are in the folder of the package.


Jars that are fetched at the first start, with the licences that their POMs declare:

{jars}
iceberg-spark-runtime contains other libraries, whose licences are in the jar.


Jars that are fetched if the lake is in S3, or its catalog in Glue or PostgreSQL (see docs/lake.md):

{catalogs}
iceberg-aws-bundle contains Amazon's and other libraries, whose licences are in the jar.
"""


def _notice() -> str:
    names = sorted(set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)))
    return _NOTICE.format(
        packages=_listed((name, _licence(metadata(name))) for name in names),
        jars=_listed((package.name, package.licence) for package in OF_THE_LAKE),
        catalogs=_listed((package.name, package.licence) for package in OF_CATALOGS),
    )


def _listed(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {licence}\n" for name, licence in rows)


def _licence(told: PackageMetadata) -> str:
    return str(told["License-Expression"] if "License-Expression" in told else told["License"])


def generated() -> dict[Path, str]:
    """Every file with generated parts, as it should read."""
    pages = {page: BLOCK.sub(_fill, page.read_text()) for page in sorted((ROOT / "docs").glob("*.md"))}
    return pages | {ROOT / "conf" / "fe.conf": settings.conf_text(), ROOT / "NOTICE": _notice()}


def _fill(block: re.Match[str]) -> str:
    return block[1] + BLOCKS[block[2]]() + block[3]


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
