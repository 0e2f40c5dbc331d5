from pathlib import Path

from syncmgr.lake.spark.queries.spilled import LOOK_SECOND, SpillSize


def test_all_that_is_below_the_folders_counts(tmp_path: Path) -> None:
    """Files at any depth, of every folder, each look anew; a folder that is gone has none."""
    now = [0.0]
    spilled = SpillSize([tmp_path / "a", tmp_path / "b", tmp_path / "gone"], clock=lambda: now[0])
    (tmp_path / "a" / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "deep" / "deeper" / "one").write_bytes(b"x" * 1000)
    (tmp_path / "b" / "two").write_bytes(b"x" * 24)
    (tmp_path / "b" / "link").symlink_to(tmp_path / "nowhere")
    spilled.look()
    assert 1024 <= spilled.bytes < 2000
    (tmp_path / "b" / "two").unlink()
    spilled.look()
    assert spilled.bytes >= 1024
    now[0] += LOOK_SECOND
    spilled.look()
    assert 1000 <= spilled.bytes < 1024 + len(str(tmp_path))
