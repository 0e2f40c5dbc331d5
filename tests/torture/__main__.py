"""A real server, a real frontend, two jobs of six tables, and somebody who kills them at random: is the lake right?

Run: python -m tests.torture [--minutes 5] [--seed 1] [--folder FOLDER] [--figures FILE]
     python -m tests.torture --kills worker=70,fe=20,jvm=10 [--each 25] ...    kill as soon as all is well again
     python -m tests.torture --lake s3-rest [--cluster] ...    store, catalog, executors and master have trouble, too:
                                     of --kills, too, as store=20,catalog=20,executor=40,master=15
     python -m tests.torture --sum FILE                                        add up what was measured so far

All decisions come from the seed; what they meet depends on the machine, so a failing seed is run more than once.
Where others use the machine, SYNCMGR_TEST_PATIENCE=4 in the environment makes every deadline four times as long.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.torture.figures import summed
from tests.torture.run import AGAIN, EACH, PAUSE_SECOND, Plan, Torture

ANYWHERE: Final = {"worker": "worker", "fe": "frontend", "jvm": "JVM"}  # as asked for, as counted
ELSEWHERE: Final = {"store": "store", "catalog": "catalog"}
ON_CLUSTER: Final = {"executor": "executor", "master": "master"}
KINDS: Final = ANYWHERE | ELSEWHERE | ON_CLUSTER


def main(arguments: Sequence[str] | None = None) -> None:
    """`arguments`: None: those of the command line."""
    known = _arguments()
    options = known.parse_args(arguments)
    if options.engine and options.lake != "local":
        known.error("--engine works on a local lake")
    if options.cluster and options.lake == "local":
        known.error("--cluster needs a lake that its executors see: --lake s3-rest")
    there = ANYWHERE | (ELSEWHERE if options.lake != "local" else {}) | (ON_CLUSTER if options.cluster else {})
    if not options.kills.keys() <= set(there.values()):
        known.error(f"--kills of this lake are of {', '.join(there)}")
    if options.sum is not None:
        print(summed(options.sum.read_text().splitlines()).told())
        return
    folder = options.folder or Path(tempfile.mkdtemp(prefix="torture"))
    plan = Plan(
        seed=options.seed,
        seconds=options.minutes * 60,
        kills=options.kills,
        each=options.each,
        again=options.again,
        figures=options.figures,
        held=options.hold * 60,
        pause=options.pause,
        rests=options.rest,
        settings=dict(options.setting),
        engine=options.engine,
        version=options.version,
        elsewhere=options.lake == "s3-rest",
        cluster=options.cluster,
    )
    Torture(folder, plan).run()
    if options.folder is None:
        shutil.rmtree(folder)


def _arguments() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=5.0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--folder", type=Path, help="kept; without it a temporary one, kept after a failure only")
    arguments.add_argument("--kills", type=_kills, default={}, help="how many of each kind, at most")
    arguments.add_argument("--each", type=int, default=EACH, help="kills between two comparisons")
    arguments.add_argument("--again", type=float, default=AGAIN, help="share of kills in the recovery from another")
    arguments.add_argument("--figures", type=Path, help="JSON lines are appended, so that runs add up")
    arguments.add_argument("--hold", type=float, default=0.0, help="minutes to look at a failure")
    arguments.add_argument("--pause", type=float, default=PAUSE_SECOND, help="seconds between two transactions")
    arguments.add_argument("--rest", type=Path, help="a file: while it exists, nothing is done")
    arguments.add_argument("--setting", action="append", default=[], type=_pair, help="NAME=VALUE, a line of fe.conf")
    arguments.add_argument("--engine", action="store_true", help="another engine works on the tables of the shop")
    arguments.add_argument("--version", type=int, choices=(2, 3), default=3, help="of Iceberg's format")
    arguments.add_argument("--lake", choices=("local", "s3-rest"), default="local", help="not with --engine")
    arguments.add_argument("--cluster", action="store_true", help="Spark's tasks run in executors that are killed")
    arguments.add_argument("--sum", type=Path, help="a file of figures")
    return arguments


def _pair(text: str) -> tuple[str, str]:
    name, value = text.split("=", 1)
    return name, value


def _kills(text: str) -> dict[str, int]:
    pairs = (part.split("=") for part in text.split(","))
    return {KINDS[kind]: int(number) for kind, number in pairs}


if __name__ == "__main__":
    main()
