import time

import pytest

from syncmgr.job.channel.expression_bounds import (
    LONGEST_PATTERN,
    Node,
    is_quick_like,
    is_quick_pattern,
    unbounded,
    uncheckable,
)

V = Node(kind="AttributeReference", text="v")
W = Node(kind="AttributeReference", text="w")


def said(text: object) -> Node:
    return Node(kind="Literal", text=str(text))


def call(kind: str, *children: Node) -> Node:
    return Node(kind=kind, children=children)


def repeated(kind: str, times: int) -> Node:
    """A function of itself."""
    found = V
    for _ in range(times):
        found = call(kind, found)
    return found


@pytest.mark.parametrize(
    "node",
    [
        V,
        call("Like", V, said("a%b")),
        call("Like", call("TypeOf", V), said("decimal%")),
        call("ILike", V, said("%a_b%%")),
        call("RLike", V, said("^[0-9]+$")),
        call("StringRepeat", V, said(3)),
        call("StringRepeat", said("ab"), call("Cast", said(1000))),
        call("StringLPad", V, said(20), said("0")),
        call("StringSpace", said(10)),
        call("StringReplace", V, said("a"), said("bb")),
        call("StringReplace", V, call("Chr", said(10)), said("")),
        call("StringInstr", V, call("Md5", W)),
        call("StringLocate", said("a"), V, said(1)),
        call("StringInstr", V, Node(kind="AttributeReference", text="n", type="integer")),
        Node(kind="Cast", type="decimal(10,2)", children=[Node(kind="AttributeReference", text="n", type="long")]),
        Node(kind="Cast", type="decimal(10,2)", children=[call("Add", V, W)]),
        Node(kind="Cast", type="decimal(10,2)", children=[call("Left", V, said(200))]),
        call("Substring", V, said(2), said(2_147_483_647)),
        Node(kind="Cast", type="bigint", children=[V]),
        call("Round", V, said(-2)),
        call("StringTrim", V),
        call("Concat", *[Node(kind="AttributeReference", text=f"c{n}") for n in range(3000)]),
        call("Concat", *[V] * 100),
        call("CaseWhen", *[call("EqualTo", V, said("x")), V] * 500),
        call("ConcatWs", said(","), *[V] * 20),
        call("In", V, *map(said, range(100_000))),
        repeated("Hex", 6),
        repeated("Cast", 5000),
    ],
)
def test_what_people_write_is_taken(node: Node) -> None:
    """Patterns in linear time, and results of a size that is known."""
    assert unbounded(node) is None


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (call("Like", V, W), "LIKE needs a literal pattern"),
        (call("Like", V, call("StringRepeat", said("%a"), said(60))), "LIKE needs a literal pattern"),
        (call("Like", V, said("%a%b")), "write a LIKE '%b%' AND a LIKE '%c%'"),
        (call("Not", call("ILike", V, said("%a%b"))), "LIKE needs"),
        (call("LikeAny", V), "LIKE needs"),
        (call("RLike", V, said("(a+)+b")), "a regular expression must be a literal"),
        (call("RLike", V, W), "a regular expression must be a literal"),
        (call("RegExpReplace", V, said("a"), said("b"), said(1)), "only RLIKE with a plain one is allowed"),
        (call("StringSplit", V, said(","), said(-1)), "only RLIKE"),
        (call("EqualTo", V, call("StringRepeat", V, said(2_000_000_000))), "100 times as long"),
        (call("StringRepeat", V, W), "must be a literal number"),
        (call("StringRepeat", said("a"), said(2_000_000_000)), "1048576 characters"),
        (call("StringSpace", said(2_000_000_000)), "1048576 characters"),
        (call("StringLPad", V, said(2_000_000_000), said("x")), "1048576 characters"),
        (call("StringRPad", V, call("Length", W), said("x")), "must be a literal number"),
        (call("StringReplace", V, said("a"), W), "must be a literal, not computed"),
        (
            call("StringReplace", call("StringReplace", V, said("a"), said("b" * 50)), said("b"), said("ccc")),
            "100 times",
        ),
        (call("Concat", *[V] * 101), "100 times as long"),
        (repeated("Hex", 7), "100 times as long"),
        (call("ArrayAggregate", V, V, call("LambdaFunction", V)), "in a loop"),
        (call("ArrayRepeat", V, said(3)), "as many elements as a number says"),
        (call("Sequence", said(1), said(3)), "as many elements as a number says"),
        (call("Levenshtein", V, W), "square"),
        (Node(kind="Cast", type="decimal(10,2)", children=[V]), "write CAST(LEFT(v, 200) AS DECIMAL(...))"),
        (Node(kind="Cast", type="decimal(10,2)", children=[call("Upper", V)]), "a text that becomes a DECIMAL"),
        (Node(kind="Cast", type="decimal(9,2)", children=[call("Substring", V, said(1), said(201))]), "a DECIMAL"),
        (call("Round", V, said(300_000_000)), "between -38 and 38"),
        (call("RoundCeil", V, call("Length", W)), "between -38 and 38"),
        (call("Like", V, said("a" * 201)), "LIKE needs a literal pattern"),
        (call("SomeFunctionOfALaterSpark", V), "none of the functions that an expression may use"),
        (call("StringReplace", V, W, said("")), "at most 200 characters"),
        (call("StringInstr", V, W), "at most 200 characters"),
        (call("StringLocate", said("a" * 201), V, said(1)), "at most 200 characters"),
        (call("SubstringIndex", V, call("Concat", V, V), said(1)), "at most 200 characters"),
        (call("StringTrim", V, W), "at most 200 characters"),
        (call("EqualTo", call("XPathString", V, said(3)), W), "an XPath may take forever"),
        (call("XPathBoolean", V, said(3)), "an XPath may take forever"),
        (call("FormatNumber", V, said(3)), "CAST to DECIMAL"),
        (call("Alias", call("Cast", call("Concat", call("FormatString", V, W)))), "CONCAT and LPAD"),
    ],
)
def test_what_may_never_end_is_refused(node: Node, reason: str) -> None:
    """Wherever it stands, with what to write instead."""
    assert reason in str(unbounded(node))


def test_a_like_is_quick_with_one_place_for_any_text() -> None:
    """The end does not count: what matches there matches at once."""
    for pattern in ("", "abc", "%abc%%%", "a_c%b_%", "%a\\%b\\%c%"):
        assert is_quick_like(pattern, "\\"), pattern
    for pattern in ("%%a", "%a%b", "%a%b%"):
        assert not is_quick_like(pattern, "\\"), pattern
    assert is_quick_like("%a|%b|%c", "|")
    assert not is_quick_like("%a\\%b", "|")
    assert not is_quick_like("%a|%b", "")


QUICK = (
    *("abc", "^abc$", "^[A-Z]{2}[0-9]+$", r"^\d{4}-\d{2}-\d{2}$", r"^.*\.com$", "[^a-z]", r"^[^\]]+x", "a{99}", ""),
    *("^a{1,3}", r"\.", "^x*$"),
)
SLOW = (
    *("a+", "[0-9]+x", "^a+b+", "^a?b?", "^(a)", "a|b", "(?i)a", r"^(a)\1", r"\Qa+\E", "^[a&&[b]]", "^a{1,3}b*"),
    *("^a{100}", "^a++", "a" * (LONGEST_PATTERN + 1)),
)


def test_a_regular_expression_is_quick_with_one_choice() -> None:
    """And that bound to the beginning; without any, anywhere."""
    for pattern in QUICK:
        assert is_quick_pattern(pattern), pattern
    for pattern in SLOW:
        assert not is_quick_pattern(pattern), pattern


def test_the_judgement_itself_is_quick() -> None:
    """Whatever the pattern is."""
    begun = time.thread_time()
    for pattern in ("^" + "[" * 198, "^" + "[a" * 99, "[a" * 100, "^" + "a" * 198 + "(", "^" + "[]" * 99, "\\" * 199):
        is_quick_pattern(pattern)
    assert time.thread_time() - begun < 1.0


def function(name: str, *children: Node) -> Node:
    return Node(kind="UnresolvedFunction", text=name, children=children)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (function("round", V, said(2)), None),
        (function("ROUND", V, call("UnaryMinus", said(2))), None),
        (function("extract", said("YEAR"), V), None),
        (function("upper", function("trim", V)), None),
        (function("bround", V, call("If", call("Like", W, V), said(1), said(2))), "must be a literal"),
        (function("floor", V, said(39)), "must be a literal"),
        (function("date_part", function("repeat", said("a"), said(9)), V), "first argument must be a literal"),
        (function("schema_of_csv", function("repeat", said("a"), said(2_000_000_000))), "(SCHEMA_OF_CSV)"),
        (function("upper", function("a.b.c", V)), "none of the functions"),
    ],
)
def test_what_the_analysis_would_compute_is_refused_before_it(node: Node, reason: str | None) -> None:
    """Of some arguments, before anything can look at its result."""
    found = uncheckable(node)
    assert found is None if reason is None else reason in str(found)
