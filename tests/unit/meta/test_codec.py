"""The stored forms that later versions read."""

from dataclasses import replace

from syncmgr.meta.codec import channel_json, channel_of
from tests.unit.job.factories import make_channel, with_history


def test_a_channel_is_stored_under_the_names_of_the_first_version() -> None:
    """Three fields have other names today; an earlier version still reads what this one has stored, and back."""
    channel = replace(with_history(make_channel(), kept_columns=("note",), source_dropped=True), takes_new_columns=True)
    stored = channel_json(channel)
    assert (stored["follows"], stored["left"], stored["gone"]) == (True, ("note",), True)
    assert not {"takes_new_columns", "kept_columns", "source_dropped"} & stored.keys()
    assert channel_of(stored) == channel
