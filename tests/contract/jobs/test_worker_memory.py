"""What a worker process has for itself."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc
import numpy as np
import pyarrow as pa
from syncmgr.pipeline import worker_process
from syncmgr.sources.mysql import factory

def own():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

def work(to):
    before = own()
    pa.array(np.arange(10))
    np.ma.array([1])
    gc.collect()
    to.send(own() - before)

if __name__ == "__main__":
    worker_process.preload(factory.__name__)
    answer, to = worker_process.FORK_SERVER.Pipe(duplex=False)
    worker_process.FORK_SERVER.Process(target=work, args=(to,)).start()
    print(answer.recv())
"""


def test_workers_share_their_modules(tmp_path: Path) -> None:
    """500 resting jobs have their own memory 500 times: a forked worker loads none, and its garbage collections leave
    those that are there shared.
    """
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    answer = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert int(answer.stdout) < 3072  # KiB; 13 MiB where they are copied, 14 where it loads what is loaded late
