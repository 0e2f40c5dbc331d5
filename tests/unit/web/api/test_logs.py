import json
from pathlib import Path

from syncmgr.web.api.logs import LOOKED_BYTES, MOST_LINES, lines_of

JOB = "sales.shop"


def test_lines_that_name_the_job(tmp_path: Path) -> None:
    """By its thread or as a fact, as text and as JSON; not those of one whose name begins so."""
    own = [
        "10:00 INFO [job-sales.shop] syncmgr: begins",
        "10:01 WARNING [MainThread] syncmgr: retrying error=x job=sales.shop",
        "10:02 WARNING [MainThread] syncmgr: retrying job=sales.shop rows=4",
        json.dumps({"thread": "job-sales.shop", "msg": "a"}),
        json.dumps({"thread": "x", "job": JOB}),
    ]
    others = ["[job-sales.shop2] x", "y job=sales.shop2", json.dumps({"job": "sales.shop2"}), '{"job": "sales.sh', ""]
    file = tmp_path / "fe.log"
    file.write_text("\n".join([*others, *own, *others]))
    assert lines_of(file, JOB) == own


def test_it_is_bounded(tmp_path: Path) -> None:
    """Of a long log the end is looked through, and the newest lines are told."""
    file = tmp_path / "fe.log"
    line = "x" * 1000 + f" job={JOB}\n"
    file.write_text(line * (LOOKED_BYTES // len(line) * 2))
    assert len(lines_of(file, JOB)) == MOST_LINES
    assert lines_of(tmp_path / "none", JOB) == []
