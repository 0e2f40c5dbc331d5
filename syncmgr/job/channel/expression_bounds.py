"""Which expressions cost more than their rows can justify.

Owns: what can take unbounded time or memory, and what to write instead.
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

MOST_TIMES: Final = 100  # as much text as the column has
MOST_CONSTANT: Final = 1 << 20  # characters besides those of columns

_LIKE: Final = (
    "LIKE needs a written pattern with one % apart from those at its end, for it to take no longer than the value is;"
    " write a LIKE '%b%' AND a LIKE '%c%' for more"
)
_RLIKE: Final = (
    "a regular expression must be written, and take no longer than the value is: characters, classes, ^ and $, and"
    " behind ^ one of * + ? {n,m}; no groups and no |; write OR, or LIKE, for more"
)
_REGULAR: Final = "it reads a regular expression, which may take for ever; only RLIKE with a plain one is allowed"
_LAMBDA: Final = "it computes in a loop, which may take more memory than there is; write columns"
_LENGTH: Final = "its length must be a written number"
_REPLACEMENT: Final = "what is put into a text must be written, not computed"
_SQUARE: Final = "it takes the square of the value's length; compare texts at the source"
_XPATH: Final = "an XPath may take for ever on a short text; store the document, and evaluate it in a query"
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
_ONE_OF: Final = frozenset({"CaseWhen", "If", "Coalesce", "Greatest", "Least", "NullIf", "Nvl", "Nvl2", "IfNull"})
_CASTS: Final = frozenset({"Cast"})

_ONE: Final = r"(?:[^\\\[\](){}.*+?^$|]|\.|\\[dDwWsS]|\\[^A-Za-z0-9]|\[\^?(?:[^\\\[\]&^]|\\[dDwWsS]|\\[^A-Za-z0-9])+\])"
_FIXED: Final = rf"(?:{_ONE}(?:\{{\d{{1,2}}\}})?)*+"
_SOME: Final = rf"(?:{_ONE}(?:[*+?]|\{{\d{{1,2}},\d{{0,2}}\}}))?"
_LINEAR: Final = re.compile(rf"{_FIXED}\$?|\^(?:{_ONE}(?:\{{\d{{1,2}}\}})?)*{_SOME}{_FIXED}\$?", re.DOTALL)
LONGEST_PATTERN: Final = 200  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A part of an expression. `text`: of a constant, the name of a column; `escape`: of LIKE, empty if not known."""

    kind: str
    children: Sequence["Node"] = ()
    text: str | None = None
    escape: str = "\\"


class UnboundedError(Exception):
    """Why an expression is refused, and what to write."""


Size = Counter[str]  # how often it has a column's text; CONSTANT: characters of its own
CONSTANT: Final = ""


def unbounded(node: Node) -> str | None:
    """Why it may take unbounded time or memory; None: it does not."""
    nodes = list(_from_the_top(node))
    refused = next((each.kind for each in nodes if each.kind in _REFUSED), None)
    if refused is not None:
        return f"{_REFUSED[refused]} ({refused})"
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
    if node.kind in _TRUTHS:
        return Counter({CONSTANT: 200})
    if node.kind in _ONE_OF:
        return reduce(or_, parts, Counter[str]())
    return _times(sum(parts, Counter[str]()), _TIMES.get(node.kind, 1))


def _times(size: Size, times: int) -> Size:
    return Counter({name: count * times for name, count in size.items()})


def _literal(node: Node, _parts: Sequence[Size]) -> Size:
    return Counter({CONSTANT: len(node.text or "")})


def _column(node: Node, _parts: Sequence[Size]) -> Size:
    return Counter({node.text or "?": 1})


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


def _replace(node: Node, parts: Sequence[Size]) -> Size:
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
    return bare.rstrip("%").count("%") <= 1


def is_quick_pattern(pattern: str) -> bool:
    """Whether Java never tries a text twice: no choice is nested in a choice, and an unanchored pattern has none."""
    return len(pattern) <= LONGEST_PATTERN and _LINEAR.fullmatch(pattern) is not None


_SIZES: Final[Mapping[str, Callable[[Node, Sequence[Size]], Size]]] = {
    "Literal": _literal,
    "AttributeReference": _column,
    "StringRepeat": _repeat,
    "StringSpace": _space,
    "StringLPad": _pad,
    "StringRPad": _pad,
    "BinaryPad": _pad,
    "StringReplace": _replace,
    "ConcatWs": _concat_ws,
    "Like": _like,
    "ILike": _like,
    "RLike": _rlike,
}
