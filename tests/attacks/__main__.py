"""python -m tests.attacks NAME PORT   Rounds without end, one word a round on standard output, until it is killed."""

import contextlib
import os
import sys

import pymysql

from tests.attacks.rounds import ATTACKS, Console


def main(name: str, port: int) -> None:
    os.nice(10)  # an attacker has a machine of his own
    console = Console(port=port)
    while True:
        with contextlib.suppress(pymysql.err.MySQLError, OSError):
            ATTACKS[name](console)
        sys.stdout.write("round\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
