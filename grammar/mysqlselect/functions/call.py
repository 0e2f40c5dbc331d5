"""One call of a function, and how a function is described.

Owns: the arguments that a function gets, its row in the table.
Must not know: any function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from mysqlselect import conversions
from mysqlselect.types import NotSupportedRefusal, ParameterCountRefusal, Type, Value

ANY: Final = 1000
Compile = Callable[[exp.Expr], Value]


@dataclass(frozen=True, slots=True)
class Call:
    """`nodes`: the arguments as typed. `value`: how one of them is translated."""

    name: str
    nodes: tuple[exp.Expr, ...]
    value: Compile
    distinct: bool = False

    def __len__(self) -> int:
        return len(self.nodes)

    def arg(self, place: int) -> Value:
        return self.value(self.nodes[place])

    @property
    def args(self) -> list[Value]:
        return [self.value(node) for node in self.nodes]

    def text(self, place: int) -> str:
        return conversions.text(self.arg(place)).sql

    def number(self, place: int) -> str:
        return conversions.number(self.arg(place)).sql

    def whole(self, place: int) -> str:
        """An integer, such as a length."""
        found = self.arg(place)
        constant = conversions.whole_constant(found)
        return str(constant) if constant is not None else f"CAST({conversions.integer(found).sql} AS INT)"

    def day(self, place: int) -> str:
        return conversions.day(self.arg(place)).sql

    def moment(self, place: int) -> str:
        return conversions.moment(self.arg(place)).sql

    def constant(self, place: int, what: str) -> str:
        """A literal. Raises NotSupportedRefusal."""
        found = self.arg(place).constant
        if found is None:
            raise NotSupportedRefusal(f"{self.name} with {what} that is not a literal")
        return str(found)

    def constant_number(self, place: int, default: int) -> int:
        """A literal that is an integer. Raises NotSupportedRefusal."""
        if place >= len(self.nodes):
            return default
        node = self.nodes[place]
        negative = isinstance(node, exp.Neg)
        found = conversions.whole_constant(self.value(node.this if negative else node))
        if found is None:
            raise NotSupportedRefusal(f"{self.name} with a number that is not a literal")
        return -found if negative else found


@dataclass(frozen=True, slots=True)
class Function:
    """`least` and `most`: how many arguments it takes."""

    build: Callable[[Call], Value]
    least: int
    most: int

    def of(self, call: Call) -> Value:
        """Raises Refusal."""
        if not self.least <= len(call) <= self.most:
            raise ParameterCountRefusal(call.name)
        return self.build(call)


def function(build: Callable[[Call], Value], least: int, most: int | None = None) -> Function:
    return Function(build, least, least if most is None else most)


def of_texts(template: str, type_: Type, count: int) -> Function:
    """`template` with the arguments, as texts, in place of {0}, {1} ..."""
    return function(lambda call: Value(template.format(*map(call.text, range(count))), type_), count)


def of_numbers(template: str, type_: Type, count: int) -> Function:
    return function(lambda call: Value(template.format(*map(call.number, range(count))), type_), count)


def of_day(template: str, type_: Type) -> Function:
    return function(lambda call: Value(template.format(call.day(0)), type_), 1)


def of_moment(template: str, type_: Type) -> Function:
    return function(lambda call: Value(template.format(call.moment(0)), type_), 1)
