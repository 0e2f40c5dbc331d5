"""Command line: python -m syncmgr --conf conf/fe.conf.

Owns: arguments, signals and exit codes: 0 stopped as asked, 1 could not start, 2 fe.conf is wrong, 3 replaced.
Must not know: anything else.
"""

import argparse
import signal
import sys
import threading
from pathlib import Path

from syncmgr import settings
from syncmgr.errors import Code, SyncError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="syncmgr", description="The syncmgr frontend: a MySQL console on query_port.")
    parser.add_argument("--conf", type=Path, default=Path("conf/fe.conf"), help="settings file (default: conf/fe.conf)")
    parser.add_argument("--print-conf", action="store_true", help="print a fe.conf with every key and its default")
    options = parser.parse_args(arguments)
    if options.print_conf:
        sys.stdout.write(settings.conf_text())
        return 0
    try:
        return _serve(options.conf)
    except SyncError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if error.code is Code.BAD_CONFIG else 1


def _serve(conf: Path) -> int:
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    values = settings.read(conf)
    from syncmgr.fe import Frontend  # here, not above: workers import this module, and need no Spark

    frontend = Frontend(values)
    try:
        frontend.start()
        ending.wait()
    finally:
        frontend.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
