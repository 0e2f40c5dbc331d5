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
    Each of `always` is a case.
    """
    listed = [case if isinstance(case, tuple) else (case,) for case in cases]
    kept = [case if isinstance(case, tuple) else (case,) for case in always]
    assert all(case in listed for case in kept)
    return [pytest.param(*case, marks=[] if case in kept else pytest.mark.slow) for case in listed]


def on_servers(*always: str, fixture: str = "any_server", among: Iterable[str] = SERVERS) -> pytest.MarkDecorator:
    """A test on each server that a fixture gives, of which those in `always` are in every run."""
    return pytest.mark.parametrize(fixture, some_slow(among, always=always), indirect=True)


def crossed(name: str, values: Iterable[Any], *, always: Collection[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """A test with each value on each server, of which the pairs in `always` are in every run."""
    pairs = itertools.product(SERVERS, values)
    return pytest.mark.parametrize(("any_server", name), some_slow(pairs, always=always), indirect=["any_server"])
