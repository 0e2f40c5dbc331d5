import pickle
import string

import pytest

from syncmgr.errors import Code, SyncError


@pytest.mark.parametrize("code", list(Code))
def test_every_row_is_whole(code: Code) -> None:
    """A number, a five-letter SQLSTATE and words; ours are numbers that no client library keeps for itself."""
    assert len(code.sqlstate) == 5
    assert code.template
    assert 1000 <= code.number < 5000 or 20000 <= code.number < 32768


def test_no_number_is_used_twice() -> None:
    """A number tells one error."""
    assert len({code.number for code in Code}) == len(Code)


def test_an_error_crosses_processes() -> None:
    """A worker's error reaches the frontend as it was raised."""
    error = SyncError(Code.UNKNOWN_JOB, job="j", db="d")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, str(copy)) == (Code.UNKNOWN_JOB, "Unknown sync job 'j' in database 'd'")
    assert str(pickle.loads(pickle.dumps(error.saying("; or so")))) == f"{error}; or so"


def test_every_template_can_be_filled() -> None:
    """Templates name their facts; none is positional."""
    for code in Code:
        assert all(name != "" for _, name, _, _ in string.Formatter().parse(code.template) if name is not None)
