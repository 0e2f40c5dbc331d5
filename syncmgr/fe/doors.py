"""The doors of a frontend: the console, and HTTP if it is wanted, with what is measured for it.

Owns: which settings make them, the order in which they open and close.
Must not know: how either of them works.
"""

import socket
from typing import Final

from syncmgr.config.settings import Settings
from syncmgr.console.limits import Limits
from syncmgr.console.login.tls import load_identity
from syncmgr.console.ports import Frontend
from syncmgr.console.server import Console
from syncmgr.fe.places import tls_folder
from syncmgr.fe.sampler import Sampler
from syncmgr.web.app import application
from syncmgr.web.server import HttpServer

LOOPBACK: Final = ("127.0.0.1", "::1")


class Doors:
    """start() and stop() once each, in this order."""

    def __init__(self, frontend: Frontend, settings: Settings, limits: Limits, sampler: Sampler) -> None:
        """Raises WRONG_CONFIG for a console beyond loopback without a password, NOT_WRITABLE, BAD_CONFIG."""
        self._console = Console(
            frontend,
            limits=limits,
            host=settings.text("query_host"),
            port=settings.number("query_port"),
            tls_folder=tls_folder(settings),
        )
        self._sampler = sampler
        self._http = _http_server(settings, sampler) if settings.number("http_port") else None

    def open(self) -> None:
        """Raises PORT_IN_USE."""
        self._console.start()
        if self._http is not None:
            self._http.start()
        self._sampler.start()

    def close(self) -> None:
        self._console.stop()
        self._sampler.stop()
        if self._http is not None:
            self._http.stop()


def _http_server(settings: Settings, sampler: Sampler) -> HttpServer:
    host = settings.text("http_host")
    hosts = LOOPBACK if host in {"", "localhost"} else (host,)
    return HttpServer(
        application(sampler, settings.number("query_port"), lambda: own_names(settings.text("http_hosts"))),
        hosts=hosts,
        port=settings.number("http_port"),
        identity=None if is_loopback(hosts) else load_identity(tls_folder(settings)).context,
    )


def is_loopback(hosts: tuple[str, ...]) -> bool:
    return all(host.startswith("127.") or host == "::1" for host in hosts)


def own_names(given: str) -> frozenset[str]:
    """Of this machine, and what http_hosts adds."""
    return frozenset(name.strip().lower() for name in (socket.gethostname(), *given.split(",")) if name.strip())
