"""Statements as they may be shown.

Owns: the one rule that takes secrets out of SQL text.
Must not know: where the text is shown.
"""

import re
from typing import Final

STARS: Final = "'********'"

_GAP: Final = r"(?:\s|/\*.*?\*/|--[^\n]*\n|\#[^\n]*\n)*"
# an open literal is masked to the end: the text may have been cut
_LITERAL: Final = r"""(?:"(?:\\.|""|[^"\\])*(?:"|\\?\Z)|'(?:\\.|''|[^'\\])*(?:'|\\?\Z))"""
_KEY: Final = r"""["'`]?[\w.]*(?:password|passwd|secret)[\w.]*["'`]?"""
_SECRET: Final = re.compile(
    rf"({_KEY}{_GAP}={_GAP}|\bidentified\b.*?\bby\b{_GAP}|\bidentified\b.*?\bas\b{_GAP}){_LITERAL}",
    re.IGNORECASE | re.DOTALL,
)


def mask(sql: str) -> str:
    """The text with the value of every password in it replaced by stars."""
    return _SECRET.sub(rf"\g<1>{STARS}", sql)
