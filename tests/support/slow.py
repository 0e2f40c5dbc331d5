"""Tests with many cases, of which a few are in every run.

Owns: the mark of the others, which are second proofs.
Must not know: what is tested.
"""

import itertools
from collections.abc import Collection, Iterable
from typing import Any, Final

import pytest

SERVERS: Final = ("mysql", "mariadb")
DATABASES: Final = (*SERVERS, "postgres")  # that may keep metadata


def some_slow(cases: Iterable[Any], *, always: Collection[Any]) -> list[Any]:
    """The cases, tuples of several arguments or one, as pytest's parameters; those that are not in `always` are slow.
    Each of `always` is a case; one of `pytest.param` is named there by its id.
    """
    listed = [_parameters(case) for case in cases]
    names = [case.id or case.values for case in listed]
    kept = [case if isinstance(case, (str, tuple)) else (case,) for case in always]
    kept = [(case,) if isinstance(case, str) and case not in names else case for case in kept]
    assert all(case in names for case in kept), f"{kept} of {names}"
    return [
        case if name in kept else pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
        for case, name in zip(listed, names, strict=True)
    ]


def _parameters(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return case
    return pytest.param(*case) if isinstance(case, tuple) else pytest.param(case)


def on_servers(*always: str, fixture: str = "any_server", among: Iterable[str] = SERVERS) -> pytest.MarkDecorator:
    """A test on each server that a fixture gives, of which those in `always` are in every run."""
    return pytest.mark.parametrize(fixture, some_slow(among, always=always), indirect=True)


def crossed(name: str, values: Iterable[Any], *, always: Collection[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """A test with each value on each server, of which the pairs in `always` are in every run."""
    pairs = itertools.product(SERVERS, values)
    return pytest.mark.parametrize(("any_server", name), some_slow(pairs, always=always), indirect=["any_server"])
