"""Attacks of an account that may load into one database: with jobs, and with sources that are dead or hostile.

Owns: what is asked, and who answers in the place of a source.
Must not know: what the frontend does meanwhile.
"""

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.attacks.console import LOADER, PATIENCE_SECOND, Console
from tests.support.servers.hostile import HostileServer, Talk, answering, greeting, rows
from tests.support.servers.listening import listening

MARK: Final = itertools.count(os.getpid() * 1000)  # no job of an earlier process has its name
DRIP_SECOND: Final = 0.2
ENDLESS: Final = [b"x" * 200]
ASKERS: Final = 8  # at one time


def _binlog(port: int, user: str = "u") -> str:
    server = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{port}", "mysql.user" = "{user}", "mysql.password" = ""'
    return f'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.ssl" = "disabled", {server})'


def _create(console: Console, *ports: int) -> None:
    """A job on each, all at once."""

    def ask(port: int) -> None:
        console.ask(LOADER, f"CREATE SYNC own.j{next(MARK)} (FROM shop.t INTO own.t) {_binlog(port)}")

    with ThreadPoolExecutor(len(ports)) as askers:
        list(askers.map(ask, ports))


def dead_hosts(console: Console) -> None:
    """One that takes everybody and says nothing, and one that takes nobody."""
    silent = listening(lambda _: time.sleep(PATIENCE_SECOND))
    with contextlib.closing(silent), _full() as full:
        _create(console, *[silent.getsockname()[1], full] * (ASKERS // 2))


@contextlib.contextmanager
def _full() -> Iterator[int]:
    """A port whose queue has no place: it answers nobody."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def job_storms(console: Console) -> None:
    """Jobs that are made, and stopped at once, on a server that is there."""
    for name in (f"own.j{next(MARK)}" for _ in range(5)):
        create = f"CREATE SYNC {name} (FROM attacked.t INTO own.t) {_binlog(console.source, 'root')}"
        console.ask(LOADER, create, f"PAUSE SYNC JOB {name}", f"RESUME SYNC JOB {name}", f"STOP SYNC JOB {name}")


def hostile_sources(console: Console) -> None:
    """Each with a script of its own: a greeting that drips, one without end, rows without end, a wish for a file."""
    scripts = (_drips, _greets, answering(_flood), answering(_wishes))
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(HostileServer(script)) for script in scripts]
        _create(console, *(server.port for server in servers * (ASKERS // len(servers))))


def _drips(talk: Talk) -> None:
    for byte in greeting() * 100:
        talk.raw(bytes([byte]))
        time.sleep(DRIP_SECOND)


def _greets(talk: Talk) -> None:
    talk.raw(b"\xff\xff\xff\x00\x0a")
    while True:
        talk.raw(b"x" * 65536)


def _flood(talk: Talk, _question: bytes) -> None:
    talk.send(*rows([b"Variable_name"], itertools.repeat(ENDLESS)))


def _wishes(talk: Talk, _question: bytes) -> None:
    talk.send(b"\xfb/etc/passwd")
    talk.hear()


ATTACKS: Final[Mapping[str, Callable[[Console], None]]] = {
    "dead-hosts": dead_hosts,
    "job-storms": job_storms,
    "hostile-sources": hostile_sources,
}
