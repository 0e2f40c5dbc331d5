"""A real server, a real frontend, two jobs of six tables, and somebody who kills them at random: is the lake right?

Run: python -m tests.torture [--minutes 5] [--seed 1] [--folder FOLDER]

All decisions come from the seed; what they meet depends on the machine, so a failing seed is run more than once.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.torture.run import Torture


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=5.0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--folder", type=Path, help="kept; without it a temporary one, kept after a failure only")
    options = arguments.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="torture"))
    Torture(folder, options.seed).run(options.minutes * 60)
    if options.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
