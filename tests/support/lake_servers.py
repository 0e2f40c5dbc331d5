"""The servers of a lake elsewhere, for bin/demo_s3.sh: an object store, and a REST catalog on PostgreSQL.

Run: python -m tests.support.lake_servers FOLDER

Owns: their life, which ends with SIGTERM, and FOLDER/fe.conf: the settings by which a frontend reaches them, there as
soon as they answer.
Must not know: what is stored in them.
"""

import signal
import sys
from pathlib import Path

from tests.support.lakes import rest_lake


def serve(folder: Path) -> None:
    with rest_lake(folder) as lake:
        lines = (f"{key} = {value}\n" for key, value in lake.settings.items())
        unfinished = folder / "fe.conf.new"
        unfinished.write_text("".join(lines))
        unfinished.rename(folder / "fe.conf")
        while True:
            signal.pause()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # each server is stopped on the way out
    serve(Path(sys.argv[1]))
