"""What is said about a property that Iceberg cannot read."""

from contextlib import nullcontext

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.target.own_properties import refuse_no_removal, refuse_unreadable

BAD = {
    "commit.manifest.target-size-bytes": "8MB",
    "syncmgr.x": "8MB",
    "write.location-provider.impl": "a.B",
    "c.path": "1",
    "comment": "",
}
NUMBER = 'java.lang.NumberFormatException: For input string: "{}"'
CLASS = "Unable to find a constructor for implementation {} of interface org.apache.iceberg.io.LocationProvider."


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (NUMBER.format("8MB"), "commit.manifest.target-size-bytes"),
        (NUMBER.format("8MB") + " under radix 16", "commit.manifest.target-size-bytes"),
        (CLASS.format("a.B"), "write.location-provider.impl"),
        ("Property 'c.path' has been deprecated and will be removed", "c.path"),
    ],
)
def test_the_property_is_named(text: str, key: str) -> None:
    """By its value, which Java repeats; none of ours is removed."""
    with pytest.raises(SyncError) as caught:
        refuse_unreadable(text, "d", "t", lambda: BAD)
    assert caught.value.code is Code.FOREIGN_CHANGE
    assert str(caught.value).endswith(f"type in Spark: ALTER TABLE lake.`d`.`t` UNSET TBLPROPERTIES ('{key}')")


@pytest.mark.parametrize("text", [NUMBER.format("9MB"), NUMBER.format(""), CLASS.format("a.C"), "a number 8MB", ""])
def test_no_property_is_blamed_for_another_error(text: str) -> None:
    """Nothing is read for an error of another kind."""
    refuse_unreadable(text, "d", "t", lambda: BAD if text.startswith(("java", "Unable")) else {}["read"])


@pytest.mark.parametrize(("value", "refused"), [(None, False), ("TRUE", False), ("false", True), ("yes", True)])
def test_what_forbids_removal(value: str | None, *, refused: bool) -> None:
    """Java takes for true what is that word, and nothing else."""
    with pytest.raises(SyncError, match="enabled") if refused else nullcontext():
        refuse_no_removal("d", "t", lambda _key: value)
