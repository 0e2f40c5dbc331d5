"""Values that a column may lose by a statement on it.

Owns: whether all values survive a change of type or NOT NULL in a session, and why not, in words.
Must not know: targets, policies, what becomes of a job.
"""

from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.keeping import kept
from syncmgr.job.types.schema import TEXT, SourceColumn


def retyped(before: SourceColumn, now: SourceColumn, *, strict: bool, pads: bool) -> str | None:
    """None: every value stays what it was. Two charsets that are not known may differ."""
    unsure = now.type in TEXT and now.charset is None and not strict
    if known(now) and not unsure and kept(before, now, strict=strict, pads=pads):
        return None
    padded = " under PAD_CHAR_TO_FULL_LENGTH" * (pads and before.type == "char")
    return f"column '{now.name}' was {_apart(before, now)}, which may change its values{padded}"


def without_null(before: SourceColumn, now: SourceColumn, *, strict: bool, dated: bool) -> str | None:
    """None: it had no NULL, or the statement would have failed. `dated`: a NULL becomes the current time."""
    if not before.nullable or now.nullable or (strict and not dated):
        return None
    return f"column '{now.name}' becomes NOT NULL, which may change its values"


def known(column: SourceColumn) -> bool:
    """Whether rows can carry it."""
    return derived(column) is not None


def _apart(before: SourceColumn, now: SourceColumn) -> str:
    """Both types in words, with the charsets if only those differ."""
    if before.text != now.text or before.charset == now.charset:
        return f"{before.text} and becomes {now.text}"
    return f"{before.text} in {before.charset} and becomes {now.text} in {now.charset or 'an unknown charset'}"
