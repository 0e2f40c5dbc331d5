"""python -m tests.attacks NAME PORT SOURCE   Rounds without end, a line of JSON each, until it is killed.

The first line comes before the first round. SOURCE is the port of a MySQL server.
"""

import json
import os
import sys

from tests.attacks.console import Console
from tests.attacks.rounds import run


def main(name: str, port: int, source: int) -> None:
    os.nice(10)  # an attacker has a machine of his own
    tell({})
    while True:
        console = Console(port=port, source=source)
        broken = run(name, console)
        tell({"sent": console.sent, "answers": dict(console.answers), "broken": broken})


def tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
