from syncmgr.crash import CrashPoint, passing


def test_nobody_dies_unasked() -> None:
    """Without the variable every point is passed."""
    for point in CrashPoint:
        passing(point)


def test_points_are_names_of_files() -> None:
    """A point is armed by a file of its name, so no two have the same one and none has a slash."""
    assert len({point.value for point in CrashPoint}) == len(CrashPoint)
    assert not any("/" in point for point in CrashPoint)
