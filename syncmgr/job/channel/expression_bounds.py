"""Which expressions cost more than their rows can justify.

Owns: what can take unbounded time or memory, and what to write instead; which functions are taken at all is a table.
Must not know: SQL, Spark's classes beyond their names, when it is called.

Expressions and WHERE of jobs run in the same JVM as the commits of all jobs, and java.util.regex ignores interrupts. So
the time that a pattern takes may grow only with the length of the value, and a result only with the length of the row.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from syncmgr.job.channel.expression_functions import NAMES, SHORT_RESULTS, TAKEN

MOST_TIMES: Final = 100  # as much text as the column has
MOST_CONSTANT: Final = 1 << 20  # characters besides those of columns
LONGEST_SEARCHED: Final = 200  # characters

_LIKE: Final = (
    "LIKE needs a literal pattern with at most one % besides those at its end, so that its time is bounded by the"
    " length of the value; write a LIKE '%b%' AND a LIKE '%c%' for more"
)
_RLIKE: Final = (
    "a regular expression must be a literal whose time is bounded by the length of the value: characters, classes, ^"
    " and $, and after ^ one of * + ? {n,m}; no groups and no |; write OR, or LIKE, for more"
)
_REGULAR: Final = "it reads a regular expression, which may take forever; only RLIKE with a plain one is allowed"
_LAMBDA: Final = "it computes in a loop, which may take more memory than there is; write columns"
_LENGTH: Final = "its length must be a literal number"
_REPLACEMENT: Final = "what is put into a text must be a literal, not computed"
_SEARCHED: Final = (
    f"what is searched for in a text must have at most {LONGEST_SEARCHED} characters, whatever the row is, since"
    " the time of a search is the product of both lengths; write a literal instead of a column"
)
_UNKNOWN: Final = (
    "it is none of the functions that an expression may use, see 'Expressions that are refused' in docs/sql.md"
)
_SQUARE: Final = "its time is the square of the value's length; compare texts at the source"
_XPATH: Final = "an XPath may take forever on a short text; store the document, and evaluate it in a query"
_DIGITS: Final = (
    f"a text that becomes a DECIMAL must have at most {LONGEST_SEARCHED} characters, whatever the row is: its time is"
    f" the square of its length; write CAST(LEFT(v, {LONGEST_SEARCHED}) AS DECIMAL(...))"
)
_MOST_SCALE: Final = 38
_SCALE: Final = f"the digits to which a number is rounded must be a literal between -{_MOST_SCALE} and {_MOST_SCALE}"
_LITERAL: Final = "its first argument must be a literal"
_ROUNDING: Final = frozenset({"round", "bround", "ceil", "ceiling", "floor"})
_HINTED: Final = frozenset(
    {
        *("regexp_count", "regexp_extract", "regexp_extract_all", "regexp_instr", "regexp_replace", "regexp_substr"),
        *("split", "str_to_map", "sentences", "parse_url", "try_parse_url", "reduce", "aggregate", "transform"),
        *("sequence", "array_repeat", "format_number", "levenshtein", "format_string", "xpath_string", "xpath"),
    }
)  # refused with what to write instead, after an analysis that computes nothing of them
_PARTS_OF_TIMES: Final = frozenset({"extract", "date_part", "datepart"})
_SHORT_TYPES: Final = ("byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "boolean")
_ARRAYS: Final = "it makes as many elements as a number says; write columns"
_REFUSED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("LikeAll", "LikeAny", "NotLikeAll", "NotLikeAny"), _LIKE),
    **dict.fromkeys(("RegExpCount", "RegExpExtract", "RegExpExtractAll", "RegExpInStr"), _REGULAR),
    **dict.fromkeys(("RegExpReplace", "RegExpSubStr", "StringSplit", "StringToMap", "Sentences"), _REGULAR),
    **dict.fromkeys(("ParseUrl", "TryParseUrl"), _REGULAR),
    **dict.fromkeys(("LambdaFunction", "ArrayAggregate"), _LAMBDA),
    **dict.fromkeys(("Sequence", "ArrayRepeat"), _ARRAYS),
    **dict.fromkeys(("XPathBoolean", "XPathString", "XPathList", "XPathInt", "XPathLong", "XPathShort"), _XPATH),
    **dict.fromkeys(("XPathFloat", "XPathDouble"), _XPATH),
    "FormatNumber": "as many digits as a number says may take any memory; use ROUND, or CAST to DECIMAL",
    "Levenshtein": _SQUARE,
    "FormatString": "a width in its format may take any memory; use CONCAT and LPAD",
}
_TIMES: Final[Mapping[str, int]] = {
    "Hex": 2,
    "Base64": 2,
    "Quote": 2,
    "UrlEncode": 9,
    "Encode": 4,
    "StringDecode": 3,
    "Upper": 3,
    "Lower": 3,
    "InitCap": 3,
    "StructsToJson": 6,
    "StructsToCsv": 4,
    "StructsToXml": 9,
}
_TRUTHS: Final = frozenset(
    {
        *(
            "EqualTo",
            "EqualNullSafe",
            "LessThan",
            "LessThanOrEqual",
            "GreaterThan",
            "GreaterThanOrEqual",
            "In",
            "InSet",
        ),
        *("Like", "ILike", "RLike", "IsNull", "IsNotNull", "And", "Or", "Not", "Contains", "StartsWith", "EndsWith"),
        *("Length", "OctetLength", "BitLength", "StringInstr", "StringLocate", "Ascii", "Md5", "Sha1", "Sha2", "Crc32"),
        *("TypeOf", "FindInSet"),
    }
)  # whatever they read, their result is short
_SHORT: Final = 200
_ONE_OF: Final = frozenset({"CaseWhen", "If", "Coalesce", "Greatest", "Least", "NullIf", "Nvl", "Nvl2", "IfNull"})
_CASTS: Final = frozenset({"Cast"})

_ONE: Final = r"(?:[^\\\[\](){}.*+?^$|]|\.|\\[dDwWsS]|\\[^A-Za-z0-9]|\[\^?(?:[^\\\[\]&^]|\\[dDwWsS]|\\[^A-Za-z0-9])+\])"
_FIXED: Final = rf"(?:{_ONE}(?:\{{\d{{1,2}}\}})?)*+"
_SOME: Final = rf"(?:{_ONE}(?:[*+?]|\{{\d{{1,2}},\d{{0,2}}\}}))?"
_LINEAR: Final = re.compile(rf"{_FIXED}\$?|\^(?:{_ONE}(?:\{{\d{{1,2}}\}})?)*{_SOME}{_FIXED}\$?", re.DOTALL)
LONGEST_PATTERN: Final = 200  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A part of an expression. `text`: of a constant, the name of a column or a function; `type`: in Spark's words,
    empty if not known; `escape`: of LIKE, empty if not known.
    """

    kind: str
    children: Sequence["Node"] = ()
    text: str | None = None
    type: str = ""
    escape: str = "\\"


class UnboundedError(Exception):
    """Why an expression is refused, and what to write."""


def uncheckable(node: Node) -> str | None:
    """Why an expression may not even be analyzed, of its tree before that: Spark computes some arguments then, such as
    the digits of ROUND. None: it may.
    """
    for each in _from_the_top(node):
        if each.kind != "UnresolvedFunction":
            continue
        name = (each.text or "").lower()
        if name not in NAMES and name not in _HINTED:
            return f"{_UNKNOWN} ({name.upper()})"
        if name in _ROUNDING and len(each.children) > 1 and not _is_scale(each.children[1]):
            return f"{_SCALE} ({name.upper()})"
        if name in _PARTS_OF_TIMES and each.children and each.children[0].kind != "Literal":
            return f"{_LITERAL} ({name.upper()})"
    return None


def _is_scale(node: Node) -> bool:
    number = node.children[0] if node.kind == "UnaryMinus" else node
    digits = (number.text or "").removeprefix("-")
    return number.kind == "Literal" and digits.isdecimal() and int(digits) <= _MOST_SCALE


Size = Counter[str]  # how often it has a column's text; CONSTANT: characters of its own
CONSTANT: Final = ""


def unbounded(node: Node) -> str | None:
    """Why it may take unbounded time or memory; None: it does not."""
    nodes = list(_from_the_top(node))
    kinds = [each.kind for each in nodes]
    refused = [kind for kind in kinds if kind in _REFUSED] or [kind for kind in kinds if kind not in TAKEN]
    if refused:
        return f"{_REFUSED.get(refused[0], _UNKNOWN)} ({refused[0]})"
    sizes: dict[int, Size] = {}
    try:
        for each in reversed(nodes):
            sizes[id(each)] = _size(each, [sizes[id(child)] for child in each.children])
    except UnboundedError as error:
        return str(error)
    return None


def _from_the_top(node: Node) -> Iterator[Node]:
    """All its parts, each before its children. Without recursion: a sum of a thousand columns is a thousand levels
    deep.
    """
    waiting = [node]
    while waiting:
        yield (each := waiting.pop())
        waiting += each.children


def _size(node: Node, parts: Sequence[Size]) -> Size:
    """The maximum of its result."""
    size = _SIZES.get(node.kind, _of_other)(node, parts)
    if any(count > (MOST_TIMES if name else MOST_CONSTANT) for name, count in size.items()):
        raise UnboundedError(
            f"it may become more than {MOST_TIMES} times as long as its columns, or than {MOST_CONSTANT} characters"
            f" ({node.kind})"
        )
    return size


def _of_other(node: Node, parts: Sequence[Size]) -> Size:
    """All its parts, once or several times."""
    if node.kind in _TRUTHS or node.kind in SHORT_RESULTS:
        return Counter({CONSTANT: _SHORT})
    if node.kind in _ONE_OF:
        return reduce(or_, parts, Counter[str]())
    return _times(sum(parts, Counter[str]()), _TIMES.get(node.kind, 1))


def _times(size: Size, times: int) -> Size:
    return Counter({name: count * times for name, count in size.items()})


def _literal(node: Node, _parts: Sequence[Size]) -> Size:
    return Counter({CONSTANT: len(node.text or "")})


def _column(node: Node, _parts: Sequence[Size]) -> Size:
    if node.type.startswith(_SHORT_TYPES):
        return Counter({CONSTANT: _SHORT})
    return Counter({node.text or "?": 1})


def _cast(node: Node, parts: Sequence[Size]) -> Size:
    if node.type.startswith("decimal"):
        _refuse_long(parts[0], _DIGITS)
    return Counter({CONSTANT: _SHORT}) if node.type.startswith(_SHORT_TYPES) else parts[0]


def _rounded(node: Node, _parts: Sequence[Size]) -> Size:
    if len(node.children) > 1 and not _is_scale(node.children[1]):
        raise UnboundedError(f"{_SCALE} ({node.kind})")
    return Counter({CONSTANT: _SHORT})


def _part(node: Node, parts: Sequence[Size]) -> Size:
    """The first or last characters of a text, as many as the last child says."""
    length = node.children[-1] if len(node.children) == (3 if node.kind == "Substring" else 2) else None
    if length is None or length.kind != "Literal" or not (length.text or "").isdecimal():
        return parts[0]
    characters = int(str(length.text))
    return Counter({CONSTANT: characters}) if characters <= LONGEST_SEARCHED else parts[0]


def _number(node: Node) -> int:
    while node.kind in _CASTS and len(node.children) == 1:
        node = node.children[0]
    if node.kind != "Literal" or not (node.text or "").isdecimal():
        raise UnboundedError(f"{_LENGTH} (REPEAT, SPACE, LPAD, RPAD)")
    return int(str(node.text))


def _repeat(node: Node, parts: Sequence[Size]) -> Size:
    return _times(parts[0], _number(node.children[1]))


def _space(node: Node, _parts: Sequence[Size]) -> Size:
    return Counter({CONSTANT: _number(node.children[0])})


def _pad(node: Node, _parts: Sequence[Size]) -> Size:
    return Counter({CONSTANT: _number(node.children[1])})


def _searching(place: int, *, found: bool) -> Callable[[Node, Sequence[Size]], Size]:
    """`place`: of the text that is searched for. `found`: the result is a place in the text, else a part of it."""

    def size(node: Node, parts: Sequence[Size]) -> Size:
        _refuse_long_search(node, parts, place)
        return Counter({CONSTANT: _SHORT}) if found else parts[0]

    return size


def _refuse_long_search(node: Node, parts: Sequence[Size], place: int) -> None:
    _refuse_long(parts[place] if place < len(parts) else Size(), f"{_SEARCHED} ({node.kind})")


def _refuse_long(read: Size, reason: str) -> None:
    if any(name != CONSTANT or size > LONGEST_SEARCHED for name, size in read.items()):
        raise UnboundedError(reason)


def _replace(node: Node, parts: Sequence[Size]) -> Size:
    _refuse_long_search(node, parts, 1)
    by = node.children[2]
    if by.kind != "Literal":
        raise UnboundedError(f"{_REPLACEMENT} (REPLACE)")
    return _times(parts[0], max(1, len(by.text or "")))


def _concat_ws(_node: Node, parts: Sequence[Size]) -> Size:
    return sum(parts[1:], _times(parts[0], len(parts)))


def _like(node: Node, _parts: Sequence[Size]) -> Size:
    pattern = node.children[1]
    if pattern.kind != "Literal" or not is_quick_like(pattern.text or "", node.escape):
        raise UnboundedError(_LIKE)
    return Counter()


def _rlike(node: Node, _parts: Sequence[Size]) -> Size:
    pattern = node.children[1]
    if pattern.kind != "Literal" or not is_quick_pattern(pattern.text or ""):
        raise UnboundedError(_RLIKE)
    return Counter()


def is_quick_like(pattern: str, escape: str) -> bool:
    """Whether a wildcard for any text occurs at most once, apart from the end: each further one is a loop inside the
    one before.

    Without an escape character every % counts, whatever precedes it.
    """
    bare = re.sub(re.escape(escape) + r".", "x", pattern, flags=re.DOTALL) if escape else pattern
    return len(pattern) <= LONGEST_PATTERN and bare.rstrip("%").count("%") <= 1


def is_quick_pattern(pattern: str) -> bool:
    """Whether Java never tries a text twice: no choice is nested in a choice, and an unanchored pattern has none."""
    return len(pattern) <= LONGEST_PATTERN and _LINEAR.fullmatch(pattern) is not None


_SIZES: Final[Mapping[str, Callable[[Node, Sequence[Size]], Size]]] = {
    "Literal": _literal,
    "AttributeReference": _column,
    "Cast": _cast,
    **dict.fromkeys(("Round", "BRound", "RoundCeil", "RoundFloor"), _rounded),
    **dict.fromkeys(("Substring", "Left", "Right"), _part),
    "StringRepeat": _repeat,
    "StringSpace": _space,
    "StringLPad": _pad,
    "StringRPad": _pad,
    "BinaryPad": _pad,
    "StringReplace": _replace,
    "StringInstr": _searching(1, found=True),
    "StringLocate": _searching(0, found=True),
    "Contains": _searching(1, found=True),
    "SubstringIndex": _searching(1, found=False),
    "StringTrim": _searching(1, found=False),
    "StringTrimLeft": _searching(1, found=False),
    "StringTrimRight": _searching(1, found=False),
    "ConcatWs": _concat_ws,
    "Like": _like,
    "ILike": _like,
    "RLike": _rlike,
}
