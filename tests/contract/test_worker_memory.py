"""What a worker process has for itself."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc
from syncmgr.pipeline import worker_process
from syncmgr.sources.mysql import factory

def own():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

def collect(to):
    before = own()
    gc.collect()
    to.send(own() - before)

if __name__ == "__main__":
    worker_process.preload(factory.__name__)
    answer, to = worker_process.FORK_SERVER.Pipe(duplex=False)
    worker_process.FORK_SERVER.Process(target=collect, args=(to,)).start()
    print(answer.recv())
"""


def test_garbage_collections_copy_nothing_that_workers_share(tmp_path: Path) -> None:
    """500 resting jobs have their memory 500 times: a collection of a forked worker leaves the modules shared."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    answer = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert int(answer.stdout) < 2048  # KiB; 13 MiB where they are copied
