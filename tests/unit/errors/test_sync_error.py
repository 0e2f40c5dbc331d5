import pickle

from syncmgr.errors import Code, SyncError


def test_an_error_crosses_processes() -> None:
    """A worker's error reaches the frontend as it was raised."""
    error = SyncError(Code.UNKNOWN_JOB, job="j", db="d")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, str(copy)) == (Code.UNKNOWN_JOB, "Unknown sync job 'j' in database 'd'")
    assert str(pickle.loads(pickle.dumps(error.saying("; or so")))) == f"{error}; or so"


def test_a_text_of_others_is_cut() -> None:
    """A source may write what it likes into its errors, which are stored, logged and shown; also after more was said,
    and on the way from a worker.
    """
    error = SyncError(Code.SOURCE_UNREACHABLE, address="db:3306", reason="x" * 100_000)
    assert len(str(error)) < 9000
    assert str(error).endswith("xxx... (100000 characters)")
    said = pickle.loads(pickle.dumps(error.saying("y" * 100_000)))
    assert len(str(said)) < 18_000
    assert str(said).startswith(str(error))
