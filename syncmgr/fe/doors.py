"""The doors of a frontend: the console, and HTTP if it is wanted, with what is measured for it.

Owns: which settings make them, the order in which they open and close.
Must not know: how either of them works.
"""

import socket
from collections.abc import Callable
from typing import Final

from syncmgr.accounts import user
from syncmgr.accounts.user import Account, Rights
from syncmgr.config.settings import Settings
from syncmgr.console.limits import Limits
from syncmgr.console.login.keys import ROOT
from syncmgr.console.login.tls import load_identity
from syncmgr.console.ports import Frontend
from syncmgr.console.server import Console
from syncmgr.control.users import Users
from syncmgr.fe.places import tls_folder
from syncmgr.fe.sampler import Sampler
from syncmgr.job.metrics.sample import Sample
from syncmgr.web.api.recent import Recent, both
from syncmgr.web.app import Choices, application
from syncmgr.web.asked import House
from syncmgr.web.connections import Bounds
from syncmgr.web.server import HttpServer
from syncmgr.web.tokens import Tokens

LOOPBACK: Final = ("127.0.0.1", "::1")


class Known:
    """The accounts that may log in over HTTP, root included."""

    def __init__(self, frontend: Frontend, users: Users) -> None:
        self._frontend, self._users = frontend, users

    def rights(self, account: Account) -> Rights:
        return self._users.rights(account)

    def admits(self, account: Account, address: str) -> bool:
        """Root, as long as it has no password, is on this machine alone."""
        if account == ROOT and not self._frontend.root_password():
            return address.startswith(user.LOOPBACK)
        return account.admits(address)

    def kept(self, account: Account) -> str | None:
        """What its password is checked against; None: there is no such account."""
        return f"root {self._frontend.root_password()}" if account == ROOT else self._users.kept(account)


class Doors:
    """start() and stop() once each, in this order."""

    def __init__(
        self,
        frontend: Frontend,
        users: Users,
        settings: Settings,
        limits: Limits,
        measure: Callable[[], Sample],
        heard: Callable[[Sample], None],
    ) -> None:
        """`heard`: is told of each sample. Raises WRONG_CONFIG for a console beyond loopback without a password,
        NOT_WRITABLE, BAD_CONFIG.
        """
        self._console = Console(
            frontend,
            limits=limits,
            host=settings.text("query_host"),
            port=settings.number("query_port"),
            tls_folder=tls_folder(settings),
        )
        recent = Recent()
        self._sampler = Sampler(measure, both(recent.heard, heard))
        known = Known(frontend, users)
        wanted = bool(settings.number("http_port"))
        self._http = _http_server(settings, self._sampler, recent, self._console, known) if wanted else None

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


def _http_server(settings: Settings, sampler: Sampler, recent: Recent, console: Console, known: Known) -> HttpServer:
    host = settings.text("http_host")
    hosts = LOOPBACK if host in {"", "localhost"} else (host,)
    identity = load_identity(tls_folder(settings))
    connections = settings.number("http_connections")
    house = House(
        statements=console.calls,
        users=known,
        tokens=Tokens(identity.secret, known.kept, settings.seconds("http_session_second")),
        body_bytes=settings.number("http_body_bytes"),
    )
    choices = Choices(
        query_port=settings.number("query_port"),
        own_hosts=lambda: own_names(settings.text("http_hosts")),
        hides_metrics=lambda: settings.text("http_metrics_auth") == "ON",
        log_file=settings.folder("log_dir") / "fe.log",
        most_streams=min(settings.number("http_streams"), connections // 2),
    )
    return HttpServer(
        application(sampler, recent, house, choices),
        hosts=hosts,
        port=settings.number("http_port"),
        identity=identity.context if speaks_tls(settings.text("http_tls"), hosts) else None,
        bounds=Bounds(request_second=settings.seconds("http_request_second"), connections=connections),
    )


def speaks_tls(wanted: str, hosts: tuple[str, ...]) -> bool:
    """`wanted`: http_tls."""
    return wanted == "ON" or (wanted == "AUTO" and not is_loopback(hosts))


def is_loopback(hosts: tuple[str, ...]) -> bool:
    return all(host.startswith("127.") or host == "::1" for host in hosts)


def own_names(given: str) -> frozenset[str]:
    """Of this machine, and what http_hosts adds."""
    return frozenset(name.strip().lower() for name in (socket.gethostname(), *given.split(",")) if name.strip())
