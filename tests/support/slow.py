"""Tests with many cases, of which a few are in every run.

Owns: the mark of the others, which are second proofs.
Must not know: what is tested.
"""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_slow(cases: Iterable[Any], *, always: Collection[Any]) -> list[Any]:
    """The cases, tuples of several arguments or one, as pytest's parameters; those that are not in `always` are slow.
    Each of `always` is a case.
    """
    listed = [case if isinstance(case, tuple) else (case,) for case in cases]
    kept = [case if isinstance(case, tuple) else (case,) for case in always]
    assert all(case in listed for case in kept)
    return [pytest.param(*case, marks=[] if case in kept else pytest.mark.slow) for case in listed]
