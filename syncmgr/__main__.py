"""Command line: python -m syncmgr [run | backup FOLDER | restore FOLDER] --conf conf/fe.conf.

Owns: arguments, signals and exit codes: 0 done, or stopped as requested, 1 could not start, or was refused, 2 fe.conf
or the command line is wrong, 3 replaced.
Must not know: anything else.
"""

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from syncmgr import __version__
from syncmgr.config import settings
from syncmgr.errors import Code, SyncError
from syncmgr.host import thread_switching
from syncmgr.host.private import keep_private

RUN = "run"

log = logging.getLogger("syncmgr.fe")


def main(arguments: list[str] | None = None) -> int:
    keep_private()
    options = _parser().parse_args(arguments)
    if options.print_conf:
        sys.stdout.write(settings.conf_text())
        return 0
    try:
        return _serve(options.conf) if options.command == RUN else _copy(options)
    except SyncError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if error.code is Code.BAD_CONFIG else 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="syncmgr", description="SQL sync jobs from MySQL binlogs into Iceberg tables."
    )
    parser.add_argument("--version", action="version", version=f"syncmgr {__version__}")
    parser.add_argument("--print-conf", action="store_true", help="print a fe.conf with every key and its default")
    parser.add_argument("--conf", type=Path, default=Path("conf/fe.conf"), help="settings file (default: conf/fe.conf)")
    conf = argparse.ArgumentParser(add_help=False)
    conf.add_argument("--conf", type=Path, default=argparse.SUPPRESS, help="the same, after the command")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    commands.add_parser(RUN, parents=[conf], help="the frontend: a MySQL console on query_port (the default)")
    saving = commands.add_parser("backup", parents=[conf], help="copy metadata, lake and staging of one moment")
    saving.add_argument("folder", type=Path, help="where to: a folder that is empty or is not there")
    bringing = commands.add_parser("restore", parents=[conf], help="bring a backup back into the folders of fe.conf")
    bringing.add_argument("folder", type=Path, help="the folder of the backup")
    parser.set_defaults(command=RUN)
    return parser


def _copy(options: argparse.Namespace) -> int:
    values = settings.read(options.conf)
    from syncmgr.backup.backup import back_up
    from syncmgr.backup.restore import restore

    if options.command == "backup":
        back_up(values, options.conf, options.folder, _say)
    else:
        restore(values, options.folder, _say)
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _serve(conf: Path) -> int:
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    thread_switching.adapt()
    values = settings.read(conf)
    try:
        _run(values, ending)
    except SyncError as error:
        if log.hasHandlers():  # else it is not known where to
            log.error("not started: %s", error)  # noqa: TRY400 - nothing that a stack would explain
        raise
    return 0


def _run(values: settings.Settings, ending: threading.Event) -> None:
    """Raises what keeps the frontend from starting."""
    from syncmgr.fe.frontend import Frontend  # here, not above: workers import this module, and need no Spark

    frontend = Frontend(values)
    try:
        frontend.start()
        ending.wait()
    finally:
        frontend.stop()


if __name__ == "__main__":
    sys.exit(main())
