"""One key of conf/fe.conf, and the checks of its values.

Owns: what is known of a key; why a value is wrong.
Must not know: which keys there are, who uses them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from syncmgr.config import catalog_keys

Value = int | float | str | bool
_NO_URL = re.compile(r"[\x00-\x20\x7f]")


def at_least(minimum: float) -> Callable[[Value], str | None]:
    def check(value: Value) -> str | None:
        fits = not isinstance(value, str) and value >= minimum
        return None if fits else f"it must be at least {_typed(minimum)}"

    return check


def _typed(number: float) -> str:
    """As a user would type it."""
    return str(int(number)) if number == int(number) else f"{number:g}"


def between(minimum: float, maximum: float) -> Callable[[Value], str | None]:
    def check(value: Value) -> str | None:
        fits = not isinstance(value, str) and minimum <= value <= maximum
        return None if fits else f"it must be from {_typed(minimum)} to {_typed(maximum)}"

    return check


def port(value: Value) -> str | None:
    return None if isinstance(value, int) and 0 < value < 65536 else "a port is between 1 and 65535"


def port_or_none(value: Value) -> str | None:
    return None if isinstance(value, int) and 0 <= value < 65536 else "a port is between 1 and 65535, and 0 is none"


def anything(value: Value) -> str | None:  # noqa: ARG001 - the check of a value that cannot be wrong
    return None


def switch(value: Value) -> str | None:
    return None if value in {"ON", "OFF"} else "it must be ON or OFF"


def http_tls(value: Value) -> str | None:
    return None if value in {"AUTO", "ON", "OFF"} else "it must be AUTO, ON or OFF"


def audit_mode(value: Value) -> str | None:
    return None if value in {"OFF", "ON", "STRICT"} else "it must be OFF, ON or STRICT"


def log_level(value: Value) -> str | None:
    return None if value in {"DEBUG", "INFO", "WARNING", "ERROR"} else "it must be DEBUG, INFO, WARNING or ERROR"


def log_format(value: Value) -> str | None:
    return None if value in {"text", "json"} else "it must be text or json"


def log_target(value: Value) -> str | None:
    return None if value in {"file", "stderr"} else "it must be file or stderr"


def sql_dialect(value: Value) -> str | None:
    return None if value in {"mysql", "spark"} else "it must be mysql or spark"


def webhook(value: Value) -> str | None:
    text = str(value)
    if not text or (text.startswith(("https://", "http://")) and text.isascii() and not _NO_URL.search(text)):
        return None
    return "it must be an http:// or https:// URL, in ASCII and without blanks"


def folder(value: Value) -> str | None:
    """Of this machine."""
    if not value:
        return "it must not be empty"
    return "it must be a folder of this machine, not a URL" if "://" in str(value) else None


def lake_folder(value: Value) -> str | None:
    """Also that of a lake whose tables are elsewhere, by a catalog that is not the embedded one."""
    reason = folder(value)
    elsewhere = "a lake elsewhere has a catalog of its own: set catalog_type, catalog_uri and catalog_warehouse"
    return f"{reason}; {elsewhere}" if reason and "://" in str(value) else reason


def catalog_type(value: Value) -> str | None:
    words = (catalog_keys.EMBEDDED, *catalog_keys.TYPES)
    return None if value in words else f"it must be one of {', '.join(words)}"


def folder_or_empty(value: Value) -> str | None:
    return folder(value) if value else None


@dataclass(frozen=True, slots=True)
class Setting:
    """One key. `check` gives the reason why a value is wrong. `job`: PROPERTIES of a job may override it."""

    name: str
    default: Value
    unit: str
    doc: str
    check: Callable[[Value], str | None] = anything
    mutable: bool = False
    job: bool = False
    secret: bool = False

    @property
    def kind(self) -> type:
        return type(self.default)
