from pathlib import Path

import pytest

from syncmgr.config.settings import read_bytes
from syncmgr.errors import Code, SyncError
from syncmgr.job.source import Can, SourceDescription
from syncmgr.sources.registry import KINDS, described, restored, source
from tests.unit.job.factories import make_canal, make_source

EXAMPLES = [make_source(start="snapshot"), make_canal()]


@pytest.mark.parametrize("description", EXAMPLES, ids=list(KINDS))
def test_what_a_source_can_do_is_there(description: SourceDescription, tmp_path: Path) -> None:
    """Its rules and its adapter agree: who has seen a capability finds the port of it, and nobody else does."""
    found = source(description, read_bytes(b"", tmp_path / "fe.conf"))
    assert (Can.READ_ROWS in description.can) == (found.rows is not None)
    assert (Can.LIST_TABLES in description.can) == (found.tables is not None)
    assert description.takes_snapshot <= (Can.READ_ROWS in description.can)


@pytest.mark.parametrize("description", EXAMPLES, ids=list(KINDS))
def test_a_source_is_restored_as_it_was_stored(description: SourceDescription) -> None:
    """A job of a frontend that starts again reads where it read before."""
    assert restored(description.kind, description.facts()) == description


def test_a_kind_that_is_not_known_is_refused() -> None:
    """A job of a later version is never taken for one of MySQL, nor is a statement."""
    with pytest.raises(SyncError) as stored:
        restored("POSTGRES", make_source().facts())
    assert stored.value.code is Code.SOURCE_KIND_UNKNOWN
    with pytest.raises(SyncError, match='it must be "mysql" or "canal"') as typed:
        described({"type": "postgres"})
    assert typed.value.code is Code.PROPERTY_WRONG
