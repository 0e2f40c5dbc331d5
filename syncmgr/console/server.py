"""The console, put together.

Owns: which parts make a console.
Must not know: what any of them does.
"""

from pathlib import Path

from syncmgr.console.calls import Calls
from syncmgr.console.commands.client import Client
from syncmgr.console.limits import Limits
from syncmgr.console.listener import Listener
from syncmgr.console.ports import Frontend
from syncmgr.console.registry import Registry
from syncmgr.console.statements.session import StatementSession
from syncmgr.console.workers import Workers


class Console:
    """MySQL's protocol in front of a frontend. start() and stop() once each, from any thread.

    `host` empty: loopback while root has no password, otherwise every address; `port` 0: any free one.
    `tls_folder` keeps console.key and console.crt; they are created if missing.
    """

    def __init__(self, frontend: Frontend, *, limits: Limits, host: str, port: int, tls_folder: Path) -> None:
        """Raises WRONG_CONFIG for another host than loopback without a password, NOT_WRITABLE, BAD_CONFIG."""
        self._frontend = frontend
        self._limits = limits
        self._workers = Workers(
            threads=limits.threads,
            queries_per_account=limits.max_queries_per_account,
            source_threads=limits.source_threads,
            source_second=limits.source_second,
        )
        self._listener = Listener(
            self._session_for,
            password=frontend.root_password,
            users=frontend.users,
            requires_tls=frontend.requires_tls,
            limits=limits,
            host=host,
            port=port,
            tls_folder=tls_folder,
        )

    @property
    def port(self) -> int:
        """The port it listens on, once started."""
        return self._listener.port

    @property
    def calls(self) -> Calls:
        """For clients of other protocols."""
        return self._listener.calls

    def start(self) -> None:
        """Bind, and answer clients from a thread. Raises PORT_IN_USE."""
        self._listener.start()

    def stop(self) -> None:
        """Refuse new clients, let running statements end within `drain_timeout`, then end them."""
        self._listener.stop()
        self._workers.close()

    def _session_for(self, client: Client, registry: Registry) -> StatementSession:
        return StatementSession(client, registry, frontend=self._frontend, workers=self._workers, limits=self._limits)
