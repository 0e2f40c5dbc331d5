"""Values that a column may lose by a statement on it.

Owns: whether all values live through another type, AUTO_INCREMENT or NOT NULL in a session, and why not, in words.
Must not know: targets, what becomes of a job.
"""

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from syncmgr.job.ddl.alteration import Column, has_charset
from syncmgr.job.ddl.terms import Terms
from syncmgr.job.types.column_type import same_labels
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.keeping import has_other_texts, kept
from syncmgr.job.types.schema import LABELLED, TEXT, SourceColumn, TargetType
from syncmgr.job.types.target import CHARACTERS


def lost(column: Column, before: SourceColumn, charset: str | None, own: str | None, terms: Terms) -> str | None:
    """How values of a column may become others; None: they stay. `charset`: of the table. `own`: as of `numbered`.

    What becomes of NULL in a column that is NOT NULL from here on is left to `without_null`.
    """
    now, definition = column.now, column.definition
    if terms.empty and known(now):
        return None
    if definition is not None and definition.numbered:
        why = numbered(before, now, own, keeps_zeros=terms.keeps_zeros)
        if why is not None:
            return why
    if replace(now, name=before.name, key=before.key) != before:
        after = replace(now, charset=now.charset or charset) if has_charset(now) else now
        why = retyped(before, after, strict=terms.strict, pads=terms.pads)
        return why or relabelled(now, strict=terms.strict)
    return relabelled(now, strict=terms.strict) if definition is not None or column.recoded else None


def retyped(before: SourceColumn, now: SourceColumn, *, strict: bool, pads: bool) -> str | None:
    """None: every value stays what it was. Two charsets that are not known may differ."""
    unsure = now.type in TEXT and now.charset is None and not strict
    if known(now) and not unsure and kept(before, now, strict=strict, pads=pads):
        return None
    padded = " under PAD_CHAR_TO_FULL_LENGTH" * (pads and before.type == "char")
    return f"column '{now.name}' was {_apart(before, now)}, which may change its values{padded}"


def retexted(before: SourceColumn, now: SourceColumn, target: TargetType | None, terms: Terms) -> str | None:
    """Of a column whose values stay, in a target that has their texts; None: those stay, too."""
    if terms.empty or target is None or target.name not in CHARACTERS or not has_other_texts(before, now):
        return None
    return f"column '{now.name}' was {before.text} and becomes {now.text}, which changes its texts in the target"


def without_null(before: SourceColumn, now: SourceColumn, *, strict: bool, dated: bool) -> str | None:
    """None: it had no NULL, or the statement would have failed. `dated`: a NULL becomes the current time."""
    if not before.nullable or now.nullable or (strict and not dated):
        return None
    return f"column '{now.name}' becomes NOT NULL, which may change its values"


def numbered(before: SourceColumn, now: SourceColumn, own: str | None, *, keeps_zeros: bool) -> str | None:
    """Of a column that is AUTO_INCREMENT from here on; None: no row has another value. `own`: the column that was it
    before, whose zeros the server keeps; None: not known.
    """
    if own is not None and folded_name(own) == folded_name(before.name):
        return None
    if keeps_zeros and not before.nullable:
        return None
    unsure = ", if it was not before," * (own is None)
    return f"column '{now.name}' becomes AUTO_INCREMENT, which{unsure} numbers rows that have 0 or NULL there"


def relabelled(now: SourceColumn, *, strict: bool) -> str | None:
    """Of a column whose labels stay and whose collation may not; None: every value stays what it was."""
    if strict or now.type not in LABELLED or len({_plain(label) for label in now.members}) == len(now.members):
        return None
    return f"column '{now.name}' has labels that are alike in some collations, so that its values may change"


def confused(columns: Iterable[Column], keys: Collection[str]) -> Iterator[str]:
    """Why two rows of the source could share a key of the target from here on. `keys`: columns, folded."""
    for column in columns:
        why = same_labels(column.now) if folded_name(column.now.name) in keys else None
        if why is not None and (column.before is None or same_labels(column.before) is None):
            yield f"{why}, so that two rows could share a key"


def _plain(label: str) -> str:
    """As a collation may compare it: without case, accents and spaces at the end."""
    letters = unicodedata.normalize("NFKD", label.rstrip(" "))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def known(column: SourceColumn) -> bool:
    """Whether rows can carry it."""
    return derived(column) is not None


def _apart(before: SourceColumn, now: SourceColumn) -> str:
    """Both types in words, with the charsets if only those differ."""
    if before.text != now.text or before.charset == now.charset:
        return f"{before.text} and becomes {now.text}"
    return f"{before.text} in {before.charset} and becomes {now.text} in {now.charset or 'an unknown charset'}"
