"""What the frontend prints, into a file as bin/start_fe.sh makes it."""

import subprocess
import sys
from pathlib import Path

from syncmgr.host import log_output

PRINTS = """
import os, subprocess, sys
from syncmgr.host import log_output
log_output.append_only()
for number in range(40):
    os.write(2, b"x" * 999_999 + b"\\n")
    subprocess.run(["sh", "-c", "echo of a child"])  # which has inherited the file
    log_output.bound()
os.write(1, b"the last\\n")
"""


def test_what_is_printed_is_bounded(tmp_path: Path) -> None:
    """The file has its end alone once it is too large, without a hole, whoever writes to it."""
    with (tmp_path / "fe.out").open("wb") as out:
        subprocess.run([sys.executable, "-c", PRINTS], stdout=out, stderr=subprocess.STDOUT, check=True)
    text = (tmp_path / "fe.out").read_bytes()
    assert len(text) < log_output.OUT_BYTES + 2 * log_output.KEPT_BYTES
    assert text.startswith(b"(what was printed before was cut off)\n")
    assert text.endswith(b"of a child\nthe last\n")
    assert b"\0" not in text
