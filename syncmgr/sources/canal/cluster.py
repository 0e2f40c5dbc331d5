"""Where a destination is served: at one address, or wherever ZooKeeper says.

Owns: canal's nodes in ZooKeeper: who is active, and the node by which readers exclude each other.
Must not know: canal's protocol, what is read.
"""

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult

from syncmgr.errors import Code, SyncError
from syncmgr.sources.canal.connector import CanalLostError, Endpoint
from syncmgr.sources.canal.packet import CLIENT_ID

SESSION_SECOND: Final = 10.0
ROOT: Final = "/otter/canal/destinations"

logging.getLogger("kazoo").setLevel(logging.ERROR)  # its retries are reported by the caller


@dataclass(frozen=True, slots=True)
class OneServer:
    """Always the same address. Nothing there excludes a second reader."""

    endpoint: Endpoint

    def locate(self) -> Endpoint:
        return self.endpoint

    def seen(self) -> Endpoint:
        return self.endpoint

    def connected(self, local_address: str) -> None:
        """There is nothing to query."""

    def lost(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is held."""


class Cluster:
    """The active server of a destination, by ZooKeeper. Belongs to one thread.

    Takes the reader's own `running` node first, as canal's clients do, so that two of them never both read.
    """

    def __init__(self, zk_servers: str, endpoint: Endpoint, owner: str) -> None:
        """`endpoint`: host and port in clear text. `owner`: distinguishes a job's own earlier process from another
        reader.
        """
        self._zk_servers = zk_servers
        self._endpoint = endpoint
        self._owner = owner
        self._client: KazooClient | None = None
        self._over = False  # the session, and with it our node

    @property
    def _path(self) -> str:
        return f"{ROOT}/{self._endpoint.destination}"

    @property
    def _own(self) -> str:
        return f"{self._path}/{CLIENT_ID}/running"

    def locate(self) -> Endpoint:
        """Raises CanalLostError: ZooKeeper is unavailable, no server is active, or there is another reader."""
        with self._naming_failures():
            client = self._started()
            self._take(client)
            return self._active(client)

    def seen(self) -> Endpoint:
        """The same, without excluding other readers."""
        with self._naming_failures():
            client = self._started()
            reader = self._data(client, self._own)
            if reader:
                raise self._in_use(reader)
            return self._active(client)

    def _active(self, client: KazooClient) -> Endpoint:
        host, _, port = _address(self._data(client, f"{self._path}/running")).rpartition(":")
        if not host or not port.isdecimal():
            raise self._lost("no canal server is active for the destination")
        return replace(self._endpoint, host=host, port=int(port))

    def connected(self, local_address: str) -> None:
        """As canal's clients do, for anyone who inspects ZooKeeper. Raises CanalLostError if the session, and with it
        our node, has ended since `locate`: the present node is another reader's.
        """
        if self._client is None or self._over:
            raise self._lost("the session has ended, so another reader may have begun")
        with self._naming_failures():
            self._waited(self._client.set_async(self._own, self._registration(local_address)))

    def lost(self) -> bool:
        return self._over

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(KazooException, KazooTimeoutError):
                client.stop()  # ends the session, and with it our node
                client.close()

    def _started(self) -> KazooClient:
        if self._client is None or self._over:
            self.close()
            self._over = False
            client = KazooClient(self._zk_servers, timeout=SESSION_SECOND)
            client.add_listener(self._on_state)
            client.start(self._endpoint.connect_timeout)  # a failed one is closed for good
            self._client = client
        return self._client

    def _on_state(self, state: str) -> None:
        """Called by kazoo's own thread."""
        if state == KazooState.LOST:
            self._over = True

    def _take(self, client: KazooClient) -> None:
        """The node that says who reads. One from an earlier process of this job is not waited for."""
        try:
            self._create(client)
        except NodeExistsError:
            content, stat = self._waited(client.get_async(self._own))
            if stat.ephemeralOwner == client.client_id[0]:
                return
            if _fact(content, "owner") != self._owner:
                raise self._in_use(content) from None
            with contextlib.suppress(NoNodeError):
                self._waited(client.delete_async(self._own, stat.version))
            self._create(client)

    def _in_use(self, content: bytes) -> CanalLostError:
        reader = f"the client at {_address(content) or 'an unknown address'}"
        facts = {"address": self._zk_servers, "destination": self._endpoint.destination}
        return CanalLostError(SyncError(Code.CANAL_IN_USE, reader=reader, **facts))

    def _create(self, client: KazooClient) -> None:
        self._waited(client.create_async(self._own, self._registration(""), ephemeral=True, makepath=True))

    def _waited(self, asked: IAsyncResult) -> Any:  # noqa: ANN401 - kazoo has no types
        """While ZooKeeper is unavailable kazoo queues all requests, without bound: such a session is given up."""
        try:
            return asked.get(timeout=self._endpoint.connect_timeout)
        except KazooTimeoutError:
            self._over = True
            raise

    def _registration(self, local_address: str) -> bytes:
        facts = {"active": True, "address": local_address, "clientId": int(CLIENT_ID), "owner": self._owner}
        return json.dumps(facts).encode()

    def _data(self, client: KazooClient, path: str) -> bytes:
        try:
            data: bytes = self._waited(client.get_async(path))[0]
        except NoNodeError:
            return b""
        return data

    @contextlib.contextmanager
    def _naming_failures(self) -> Iterator[None]:
        try:
            yield
        except (KazooException, KazooTimeoutError) as error:
            raise self._lost(f"ZooKeeper does not answer ({error or type(error).__name__})") from error

    def _lost(self, reason: str) -> CanalLostError:
        return CanalLostError(SyncError(Code.CANAL_UNREACHABLE, address=self._zk_servers, reason=reason))


def _address(data: bytes) -> str:
    return str(_fact(data, "address"))


def _fact(data: bytes, name: str) -> object:
    """Of a node's JSON; "" if it has none."""
    try:
        facts = json.loads(data or b"{}")
    except ValueError:
        return ""
    return facts.get(name, "") if isinstance(facts, dict) else ""
