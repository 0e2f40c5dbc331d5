"""Properties as statements give them: `"key" = "value"`.

Owns: how a table of properties is filled in, and how one value is parsed.
Must not know: what a property means.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from syncmgr.config.settings import did_you_mean
from syncmgr.errors import Code, SyncError

LONGEST_VALUE: Final = 64 << 10  # characters: a filter of canal or a list of hosts; each SHOW has all of them

SHOWN_VALUE: Final = 100  # characters of one in a message
SET_SOURCE: Final = "SET SOURCE"

Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True, slots=True)
class Property:
    """One key of FROM BINLOG or PROPERTIES. `default` None: the key must be given."""

    name: str
    default: str | None
    doc: str


def filled(properties: Mapping[str, str], table: Sequence[Property], where: str) -> dict[str, str]:
    """Each property of the table, with its default. Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    names = [p.name for p in table]
    for name, text in properties.items():
        if name not in names:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=where, hint=did_you_mean(name, names))
        if len(text) > LONGEST_VALUE:  # which may be a password, so nothing of it is shown
            raise wrong_property(name, "...", f"it has {len(text)} characters, and at most {LONGEST_VALUE} are taken")
    values = {}
    for entry in table:
        value = properties.get(entry.name, entry.default)
        if value is None:
            raise SyncError(Code.PROPERTY_MISSING, name=entry.name, where=where)
        values[entry.name] = value
    return values


def refuse_fixed(properties: Mapping[str, str], table: Sequence[Property], changing: Collection[str]) -> None:
    """Of a source that jobs read: only `changing` may be altered. Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    for name, text in properties.items():
        if name not in changing and any(name == each.name for each in table):
            shown = text if len(text) <= SHOWN_VALUE else "..."
            raise wrong_property(name, shown, f"SET SOURCE does not change it, but {', '.join(sorted(changing))}")
        if name not in changing:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=SET_SOURCE, hint=did_you_mean(name, list(changing)))


def refuse_elsewhere(properties: Mapping[str, str], password: str, *, stored: str, moves: bool) -> None:
    """A stored password is sent to no other server than the one for which it was given, nor with less proof of who that
    is: whoever may alter a job need not know it. Raises PROPERTY_MISSING.
    """
    if moves and stored and password not in properties:
        raise SyncError(Code.PROPERTY_MISSING, name=password, where=SET_SOURCE).saying(
            "; it must be given again where the server, or the proof of its identity, changes"
        )


def given(name: str, values: Mapping[str, str]) -> str:
    """One that must not be empty. Raises PROPERTY_WRONG, like the following ones."""
    if not values[name]:
        raise wrong_property(name, "", "it must not be empty")
    return values[name]


def one_of(name: str, value: str, choices: Sequence[Choice]) -> Choice:
    found = next((choice for choice in choices if choice == value), None)
    if found is None:
        raise wrong_property(name, value, f"it must be one of {', '.join(choices)}")
    return found


def flag(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise wrong_property(name, text, "it must be true or false")
    return text.lower() == "true"


def whole(name: str, text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise wrong_property(name, text, f"it must be a whole number from {least} to {most}")
    return int(text)


def wrong_property(name: str, value: str, reason: str) -> SyncError:
    return SyncError(Code.PROPERTY_WRONG, name=name, value=value, reason=reason)
