"""Every key of conf/fe.conf, in one table, and its reader.

Owns: names, types, defaults, units and words, by subject in the modules next to this one; conf/fe.conf,
docs/configuration.md and SHOW come from the table.
Must not know: who uses a value. Only fe.py reads settings; everything else takes plain arguments.
"""

import codecs
import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from syncmgr.config import catalog_keys, spark_keys
from syncmgr.config.alert_settings import ALERT_SETTINGS
from syncmgr.config.check_limits import CHECK_LIMITS
from syncmgr.config.checks import Setting, Value
from syncmgr.config.console_limits import CONSOLE_LIMITS
from syncmgr.config.frontend_settings import FRONTEND_SETTINGS
from syncmgr.config.http_settings import HTTP_SETTINGS
from syncmgr.config.job_limits import JOB_LIMITS
from syncmgr.config.source_limits import SOURCE_LIMITS
from syncmgr.errors import Code, SyncError
from syncmgr.host.private import is_secret

SETTINGS: Final[tuple[Setting, ...]] = (
    *FRONTEND_SETTINGS,
    *HTTP_SETTINGS,
    *JOB_LIMITS,
    *SOURCE_LIMITS,
    *CHECK_LIMITS,
    *CONSOLE_LIMITS,
    *ALERT_SETTINGS,
)

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}
SPARK_PREFIX: Final = "spark."
PASSED_ON: Final = (SPARK_PREFIX, catalog_keys.PREFIX)
_COMMENT: Final = re.compile(r"\s#")


def find(name: str) -> Setting:
    """The row of a key. Raises UNKNOWN_CONFIG with the nearest name."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise SyncError(Code.UNKNOWN_CONFIG, name=name, hint=did_you_mean(name, _BY_NAME)) from None


LONGEST_NAME: Final = 256  # characters of what is looked up among names: megabytes would take seconds


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The nearest of some names, whatever their case; "" if none is near, or it is too long to be a name."""
    if len(name) > LONGEST_NAME:
        return ""
    folded = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean '{folded[near[0]]}'?" if near else ""


def parse(setting: Setting, text: str) -> Value:
    """The value that a text stands for. Raises WRONG_CONFIG with the reason, and nothing of a secret."""
    value = _convert(setting, text)
    reason = setting.check(value)
    if reason:
        shown = "***" if setting.secret else text
        raise SyncError(Code.WRONG_CONFIG, name=setting.name, value=shown, reason=reason)
    return value


def _convert(setting: Setting, text: str) -> Value:
    try:
        if setting.kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if setting.kind is float:
            return _finite(text)
        return int(text.encode("ascii")) if setting.kind is int else text  # digits of other scripts are treated as text
    except (ValueError, KeyError):
        word = {bool: "true or false", int: "a whole number", float: "a number"}[setting.kind]
        raise SyncError(Code.WRONG_CONFIG, name=setting.name, value=text, reason=f"it must be {word}") from None


def _finite(text: str) -> float:
    value = float(text.encode("ascii"))
    if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN is the only value unlike itself
        raise ValueError(text)
    return value


class Settings:
    """The values in force: defaults, then conf/fe.conf, then ADMIN SET. Safe to read from any thread."""

    def __init__(
        self,
        values: Mapping[str, Value],
        spark: Mapping[str, str],
        file: Path,
        catalog: Mapping[str, str] | None = None,
    ) -> None:
        """`spark`, `catalog`: the keys that begin with these words."""
        self._values = {setting.name: setting.default for setting in SETTINGS} | dict(values)
        self._passed_on = {**spark, **(catalog or {})}
        self.spark = {**spark, **catalog_keys.spark_keys(_of_catalog(values), catalog or {})}
        self.file = file
        self._root = file.parent.parent

    def __getitem__(self, name: str) -> Value:
        return self._values[find(name).name]

    def text(self, name: str) -> str:
        return str(self[name])

    def number(self, name: str) -> int:
        return int(self[name])

    def seconds(self, name: str) -> float:
        return float(self[name])

    def folder(self, name: str) -> Path:
        """A folder setting as an absolute path; a relative one is relative to the parent of fe.conf's folder."""
        return (self._root / self.text(name)).resolve()

    def given(self) -> str:
        """What is not the default, for the log; no secrets, and of spark.* and catalog.* only the names, since values
        may contain some.
        """
        own = [s for s in SETTINGS if self._values[s.name] != s.default]
        shown = [f"{s.name} = {'***' if s.secret else show(self._values[s.name])}" for s in own]
        return ", ".join([*shown, *sorted(self._passed_on)]) or "nothing"

    def secrets(self) -> list[str]:
        """The keys that are set to secrets."""
        own = [s.name for s in SETTINGS if s.secret and self._values[s.name]]
        return own + sorted(name for name, value in self._passed_on.items() if value and is_secret(name))

    def set(self, texts: Mapping[str, str]) -> None:
        """ADMIN SET FRONTEND CONFIG: all of them, or none. Raises UNKNOWN_CONFIG, IMMUTABLE_CONFIG, WRONG_CONFIG."""
        self._values |= {name: parse(_mutable(name), text) for name, text in texts.items()}

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """SHOW FRONTEND CONFIG: Key, Value, Type, IsMutable, MasterOnly, Comment."""
        return [
            (
                setting.name,
                "********" if setting.secret and self[setting.name] else show(self[setting.name]),
                setting.kind.__name__,
                str(setting.mutable).lower(),
                "false",
                setting.doc,
            )
            for setting in sorted(SETTINGS, key=lambda s: s.name)
        ]


def _mutable(name: str) -> Setting:
    setting = find(name)
    if not setting.mutable:
        raise SyncError(Code.IMMUTABLE_CONFIG, name=name)
    return setting


def show(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def read(path: Path) -> Settings:
    """The settings of a conf file. Raises BAD_CONFIG with every mistake and its line, all at once."""
    try:
        return read_bytes(path.read_bytes(), path)
    except OSError as error:
        advice = (
            "; python -m syncmgr --print-conf prints one with every key" if isinstance(error, FileNotFoundError) else ""
        )
        raise SyncError(Code.BAD_CONFIG, message=f"{path}: {error.strerror}{advice}") from error


def read_bytes(data: bytes, path: Path) -> Settings:
    """The settings that a file at `path` with these bytes means. Raises BAD_CONFIG."""
    values: dict[str, Value] = {}
    passed_on: dict[str, str] = {}
    lines: dict[str, int] = {}
    mistakes = []
    for number, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(), 1):
        try:
            line = _decoded(raw)
            if not line or line.startswith("#"):
                continue
            name, value = _entry(line, lines)
        except SyncError as error:
            mistakes.append(f"{path}: line {number}: {error}")
            continue
        lines[name] = number
        if name.startswith(PASSED_ON):
            passed_on[name] = str(value)
        else:
            values[name] = value
    spark = {name: value for name, value in passed_on.items() if name.startswith(SPARK_PREFIX)}
    catalog = {name: value for name, value in passed_on.items() if name not in spark}
    own = _of_catalog(values)
    embedded = own.get("catalog_type", catalog_keys.EMBEDDED) == catalog_keys.EMBEDDED
    reasons = [
        spark_keys.catalog_fault(spark),
        spark_keys.cluster_fault(spark, embedded=embedded),
        *catalog_keys.faults(own, catalog, spark),
    ]
    mistakes += [f"{path}: {reason}" for reason in reasons if reason is not None]
    if mistakes:
        raise SyncError(Code.BAD_CONFIG, message="\n".join(mistakes))
    return Settings(values, spark, path.resolve(), catalog)


def _of_catalog(values: Mapping[str, Value]) -> dict[str, str]:
    return {name: str(values[name]) for name in catalog_keys.OWN_KEYS.values() if values.get(name)}


def _decoded(raw: bytes) -> str:
    """A line by itself, so that a mistake in one hides none in another."""
    try:
        return raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise SyncError(Code.BAD_CONFIG, message=f"byte {error.start + 1} is not UTF-8") from error


def _entry(line: str, lines: Mapping[str, int]) -> tuple[str, Value]:
    name, equals, text = (part.strip() for part in line.partition("="))
    if not equals:
        word = line.split(maxsplit=1)[0]  # what follows may be a password
        raise SyncError(Code.BAD_CONFIG, message=f"expected 'key = value', found '{word}'")
    if name in lines:
        raise SyncError(Code.BAD_CONFIG, message=f"key '{name}' is set twice, first in line {lines[name]}")
    if name.startswith(PASSED_ON):
        is_spark = name.startswith(SPARK_PREFIX)
        reason = spark_keys.fault(name, text) if is_spark else catalog_keys.key_fault(name)
        if reason is not None:
            raise SyncError(Code.WRONG_CONFIG, name=name, value="***" if is_secret(name) else text, reason=reason)
        return name, text
    if name not in _BY_NAME:
        raise SyncError(Code.BAD_CONFIG, message=f"unknown key '{name}'{did_you_mean(name, _BY_NAME)}")
    setting = _BY_NAME[name]
    reason = _misread(text)
    if reason is not None:
        raise SyncError(Code.WRONG_CONFIG, name=name, value="***" if setting.secret else text, reason=reason)
    return name, parse(setting, text)


def _misread(text: str) -> str | None:
    """Why a value hardly means what it says: as in Doris' fe.conf, quotes and # would be a part of it."""
    if _COMMENT.search(text):
        return "a comment is a line of its own, which begins with #"
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return "it is written without quotes, which would be a part of it" if is_quoted else None


CONF_HEAD: Final = """\
# conf/fe.conf: settings of the syncmgr frontend.
# Generated from the settings table: every key with its default, commented out.
# Folders that are not absolute are relative to the parent of the folder of this file.
# Keys that begin with spark. are passed on to Spark as they are; docs/configuration.md lists those that are refused.
# Keys that begin with catalog. are passed on to a catalog that is not the embedded one; docs/lake.md has examples.
"""


def conf_text() -> str:
    """conf/fe.conf as it is shipped."""
    return CONF_HEAD + "".join(_conf_entry(setting) for setting in SETTINGS)


def _conf_entry(setting: Setting) -> str:
    marks = [setting.unit]
    if setting.mutable:
        marks.append("mutable")
    if setting.job:
        marks.append("PROPERTIES of a job may override it")
    return f"\n# {setting.doc} ({'; '.join(marks)})\n#{setting.name} = {show(setting.default)}\n"
