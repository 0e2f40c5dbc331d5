from datetime import UTC, datetime

import pytest

from syncmgr.job.ddl.session_zone import SessionZone, ZoneError

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "system", "local"),
    [
        ("+00:00", "", "2024-07-01 12:00:00"),
        ("+05:30", "", "2024-07-01 17:30:00"),
        ("-11:00", "", "2024-07-01 01:00:00"),
        ("UTC", "", "2024-07-01 12:00:00"),
        ("Europe/Berlin", "", "2024-07-01 14:00:00"),
        ("SYSTEM", "UTC", "2024-07-01 12:00:00"),
        ("SYSTEM", "Asia/Shanghai", "2024-07-01 20:00:00"),
    ],
)
def test_a_moment_has_a_local_time(name: str, system: str, local: str) -> None:
    """By offset, by name, or by what the server calls its own zone; and that time means the moment again."""
    zone = SessionZone(name=name, system=system)
    assert str(zone.local(NOON)) == local
    assert zone.moment(datetime.fromisoformat(local)) == NOON


@pytest.mark.parametrize(
    ("name", "system", "why"),
    [
        ("", "UTC", "is not in the binlog"),
        ("SYSTEM", "", "no name of one zone"),
        ("SYSTEM", "CET", "the server calls 'CET', and that is no name of one zone"),
        ("SYSTEM", "GMT", "no name of one zone"),
        ("SYSTEM", "UTC, where 2000-01-01 20:00:00 is 2000-01-01 12:00:00 in UTC", "no name of one zone"),
        ("Europe/Atlantis", "", "'Europe/Atlantis' is not known here"),
        ("Europe", "", "'Europe' is not known here"),
        ("right/Europe/Berlin", "", "is not known here"),
        ("../etc/passwd", "", "is not known here"),
    ],
)
def test_a_zone_that_is_not_certain_is_not_guessed(name: str, system: str, why: str) -> None:
    """What a server calls CET may be any of a dozen zones."""
    with pytest.raises(ZoneError, match=why):
        SessionZone(name=name, system=system).local(NOON)


@pytest.mark.parametrize("local", ["2024-10-27 02:30:00", "2024-03-31 02:30:00"])
def test_an_hour_that_came_twice_or_never_means_no_moment(local: str) -> None:
    """When the clocks are changed."""
    with pytest.raises(ZoneError, match="twice or never"):
        SessionZone(name="Europe/Berlin").moment(datetime.fromisoformat(local))
