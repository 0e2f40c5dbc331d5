"""Reads the statements about the connection and the server, and those that go to Spark as they are.

Owns: their syntax; of a SELECT only that its brackets balance.
Must not know: what a variable means, Spark's grammar.
"""

from collections.abc import Mapping
from typing import Final

from syncsql.budget import QUESTIONS
from syncsql.reading.cursor import Cursor
from syncsql.reading.lists import read_properties
from syncsql.reading.read_expression import read_balanced, source_text
from syncsql.reading.read_show import frontend_config
from syncsql.reading.read_user import set_password
from syncsql.statements.session import (
    AdminSetFrontendConfig,
    AdminTestAlert,
    ExplainSelect,
    Help,
    Kill,
    Scope,
    Select,
    Set,
    SetCharacterSet,
    SetItem,
    SetNames,
    SetTransaction,
    SetUserVariable,
    SetValue,
    SetVariable,
    ShowFrontendConfig,
    Transaction,
    TransactionVerb,
    ValueKind,
)
from syncsql.statements.table import DescribeTable, Use
from syncsql.statements.user import SetPassword
from syncsql.tokens import Kind, Token

_BRACKETS: Final[Mapping[str, str]] = {")": "(", "]": "[", "}": "{"}
_EXPLAIN_MODES: Final = ("EXTENDED", "FORMATTED", "COST", "CODEGEN")
_SCOPES: Final[Mapping[str, Scope]] = {
    **{scope.value: scope for scope in Scope},
    "LOCAL": Scope.SESSION,
}


def sees_question(at: Cursor) -> bool:
    """Whether there is a SELECT, WITH or VALUES here, in any number of brackets."""
    ahead = 0
    while at.sees_sign("(", ahead):
        ahead += 1
    return at.word(ahead) in QUESTIONS


def select(at: Cursor) -> Select:
    taken: list[Token] = []
    opened: list[Token] = []
    while (token := at.take_token()) is not None:
        taken.append(token)
        sign = token.text if token.kind is Kind.SIGN else ""
        if sign in _BRACKETS.values():
            opened.append(token)
        elif sign in _BRACKETS and (not opened or opened.pop().text != _BRACKETS[sign]):
            raise at.error("this bracket was never opened", token)
    if opened:
        raise at.error("this bracket is never closed", opened[-1])
    return Select(text=source_text(at, taken))


def describe(at: Cursor) -> DescribeTable | ExplainSelect:
    """After DESC, DESCRIBE or EXPLAIN."""
    ahead = 1 if at.word() in _EXPLAIN_MODES else 0
    if at.word(ahead) in QUESTIONS or at.sees_sign("(", ahead):
        mode = at.take_any(*_EXPLAIN_MODES)
        if not sees_question(at):
            raise at.error("expected SELECT")
        return ExplainSelect(mode=mode, select=select(at))
    return at.end(DescribeTable(table=at.name("a table name")))


def use(at: Cursor) -> Use:
    """After USE."""
    return at.end(Use(db=at.identifier("a database name")))


def kill(at: Cursor) -> Kill:
    """After KILL."""
    word = at.take_any("QUERY", "CONNECTION")
    return at.end(Kill(id=at.number("a connection id"), query=word == "QUERY"))


def admin(at: Cursor) -> AdminSetFrontendConfig | AdminTestAlert | ShowFrontendConfig:
    """After ADMIN."""
    if at.take("TEST"):
        at.expect("ALERT")
        return at.end(AdminTestAlert())
    if at.take("SHOW"):
        at.expect("FRONTEND")
        return at.end(frontend_config(at))
    at.expect("SET", "FRONTEND", "CONFIG")
    return at.end(AdminSetFrontendConfig(settings=read_properties(at)))


def help_topic(at: Cursor) -> Help:
    """After HELP: any words; a string counts as its words."""
    words: list[str] = []
    while (token := at.take_token()) is not None:
        words += token.text.split()
    return Help(topic=" ".join(words) or None)


def begin(at: Cursor) -> Transaction:
    """After BEGIN."""
    at.take("WORK")
    return at.end(Transaction(verb=TransactionVerb.BEGIN))


def start(at: Cursor) -> Transaction:
    """After START; the kind of transaction does not matter, since nothing is written in one."""
    at.expect("TRANSACTION")
    while at.take("READ", "ONLY") or at.take("READ", "WRITE") or at.take("WITH", "CONSISTENT", "SNAPSHOT"):
        if not at.take_sign(","):
            break
    return at.end(Transaction(verb=TransactionVerb.BEGIN))


def commit(at: Cursor) -> Transaction:
    """After COMMIT."""
    at.take("WORK")
    return at.end(Transaction(verb=TransactionVerb.COMMIT))


def rollback(at: Cursor) -> Transaction:
    """After ROLLBACK."""
    at.take("WORK")
    return at.end(Transaction(verb=TransactionVerb.ROLLBACK))


def set_(at: Cursor) -> Set | SetPassword:
    """After SET: items between commas."""
    if at.take("PASSWORD"):
        return set_password(at)
    items = [_set_item(at)]
    while at.take_sign(","):
        items.append(_set_item(at))
    return at.end(Set(items=tuple(items)))


def _set_item(at: Cursor) -> SetItem:
    if at.take("NAMES"):
        return SetNames(charset=_charset(at), collation=_charset(at) if at.take("COLLATE") else None)
    if at.take("CHARACTER", "SET") or at.take("CHARSET"):
        return SetCharacterSet(charset=_charset(at))
    if at.take_sign("@"):
        name = at.dotted("a variable name")
        return SetUserVariable(name=name, value=_set_value(at))
    return _set_variable(at)


def _set_variable(at: Cursor) -> SetItem:
    if at.take_sign("@@"):
        scope = _scope(at) if at.sees_sign(".", 1) else None
        if scope is not None:
            at.expect_sign(".", "after the scope")
        return SetVariable(scope=scope or Scope.SESSION, name=at.dotted("a variable name"), value=_set_value(at))
    scope = None if at.sees_sign("=", 1) or at.sees_sign(":=", 1) else _scope(at)
    if at.sees("TRANSACTION"):
        return _set_transaction(at, scope)
    return SetVariable(scope=scope or Scope.SESSION, name=at.dotted("a variable name"), value=_set_value(at))


def _scope(at: Cursor) -> Scope | None:
    word = at.take_any(*_SCOPES)
    return None if word is None else _SCOPES[word]


def _set_transaction(at: Cursor, scope: Scope | None) -> SetTransaction:
    at.expect("TRANSACTION")
    characteristics = [_characteristic(at)]
    while at.take_sign(","):
        characteristics.append(_characteristic(at))
    return SetTransaction(scope=scope, characteristics=tuple(characteristics))


_CHARACTERISTICS: Final = (
    ("READ", "ONLY"),
    ("READ", "WRITE"),
    ("ISOLATION", "LEVEL", "READ", "COMMITTED"),
    ("ISOLATION", "LEVEL", "READ", "UNCOMMITTED"),
    ("ISOLATION", "LEVEL", "REPEATABLE", "READ"),
    ("ISOLATION", "LEVEL", "SERIALIZABLE"),
)


def _characteristic(at: Cursor) -> str:
    for words in _CHARACTERISTICS:
        if at.take(*words):
            return " ".join(words)
    raise at.error("expected an isolation level, READ ONLY or READ WRITE")


def _charset(at: Cursor) -> str | None:
    token = at.peek()
    if token is not None and token.kind is Kind.STRING:
        return at.string("a character set")
    return None if at.take("DEFAULT") else at.identifier("a character set")


def _set_value(at: Cursor) -> SetValue:
    if not at.take_sign(":="):
        at.expect_sign("=", "after the variable name")
    taken = read_balanced(at)
    if not taken:
        raise at.error("expected a value")
    text = source_text(at, taken)
    if len(taken) == 1:
        return _single_value(taken[0], text)
    signed = taken[0].text in {"-", "+"} and len(taken) == 2 and taken[1].kind is Kind.NUMBER
    if signed:
        return SetValue(kind=ValueKind.NUMBER, text=taken[0].text.replace("+", "") + taken[1].text)
    return SetValue(kind=ValueKind.EXPRESSION, text=text)


def _single_value(token: Token, text: str) -> SetValue:
    match token.kind:
        case Kind.STRING:
            return SetValue(kind=ValueKind.STRING, text=token.text)
        case Kind.NUMBER:
            return SetValue(kind=ValueKind.NUMBER, text=token.text)
        case Kind.WORD:
            return SetValue(kind=ValueKind.WORD, text=token.text)
        case _:
            return SetValue(kind=ValueKind.EXPRESSION, text=text)
