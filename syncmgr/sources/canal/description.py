"""FROM BINLOG ("type" = "canal", ...) as a value.

Owns: its properties, their defaults and checks, JobConfig of SHOW SYNC JOB, what a job on canal cannot have.
Must not know: servers, sockets, tables.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from typing import Any, Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.property import (
    Property,
    filled,
    flag,
    given,
    refuse_elsewhere,
    refuse_fixed,
    whole,
    wrong_property,
)
from syncmgr.job.source import BINLOG, Can, Caveat
from syncmgr.sources.canal.values import canal_text

LOCALHOST: Final = "localhost"
PROPERTIES: Final = (
    Property("type", None, "`canal`: the job reads a destination of a canal server."),
    Property("canal.server.ip", "", "Host name or address of the canal server; not with `canal.zk.servers`."),
    Property("canal.server.port", "", "Its port; not with `canal.zk.servers`."),
    Property(
        "canal.zk.servers",
        "",
        "Instead of both: `host:port,...` of the ZooKeeper in which a cluster of canal servers registers the active "
        "one.",
    ),
    Property("canal.destination", None, "The destination. One destination has one reader."),
    Property("canal.username", None, "User of the canal server; may be empty."),
    Property("canal.password", None, "Its password; may be empty; encrypted at rest, masked wherever it could appear."),
    Property(
        "canal.batchSize",
        "8192",
        "How much canal delivers at once: KiB, or entries if canal counts those. More than 4096 is requested as 4096.",
    ),
    Property("canal.debug", "false", "`true`: each batch is logged on the frontend's standard error."),
    Property(
        "canal.time_zone",
        "",
        "Time zone of the canal server, in which it writes TIMESTAMP values: `UTC`, `+08:00`, `Asia/Shanghai`. "
        "Needed if such a column is synced.",
    ),
)
REFUSED: Final = {"on_value_error": "a job on canal pauses at a value that its target cannot hold"}
# Properties that SET SOURCE changes.
_SERVER: Final = ("canal.server.ip", "canal.server.port", "canal.zk.servers")
_CHANGING: Final = (*_SERVER, "canal.username", "canal.password", "canal.batchSize", "canal.debug")


@dataclass(frozen=True, kw_only=True, slots=True)
class CanalDescription:
    """FROM BINLOG ("type" = "canal", ...) with every default filled in. `zk_servers` "": one server, at host and port.

    `time_zone`: of the canal server, None if not given.
    """

    host: str
    port: int
    zk_servers: str
    destination: str
    user: str
    password: str = field(repr=False)
    batch_size: int
    debug: bool
    time_zone: str | None

    @property
    def kind(self) -> str:
        """The Type column of SHOW SYNC JOB."""
        return "CANAL"

    @property
    def address(self) -> str:
        return self.zk_servers or f"{self.host}:{self.port}"

    @property
    def config(self) -> str:
        """JobConfig of SHOW SYNC JOB, as Doris prints it."""
        return f"address:{self.address},destination:{self.destination},batchSize:{self.batch_size}"

    @property
    def can(self) -> frozenset[Can]:
        """It has only the changes, and no description of its tables before one changes."""
        return frozenset()

    @property
    def refused(self) -> Mapping[str, str]:
        return REFUSED

    @property
    def takes_snapshot(self) -> bool:
        return False

    @property
    def starts_at_place(self) -> bool:
        return False

    @property
    def joins(self) -> bool:
        return False

    @property
    def joining(self) -> "CanalDescription":
        return self

    @property
    def accepts_unlogged(self) -> bool:
        return False

    @property
    def key_files(self) -> Mapping[str, str]:
        return {}

    @property
    def one_reader(self) -> tuple[str, ...]:
        """Two would compete for one destination."""
        return _server(self), self.destination

    def in_use(self, reader: str) -> SyncError:
        return SyncError(Code.CANAL_IN_USE, reader=reader, destination=self.destination, address=self.address)

    def check_channel(self, channel: ChannelDescription) -> None:
        """Raises CANAL_INEXACT."""
        canal_text.check_exact(channel.source, channel.reads, self.time_zone)

    def caveats(self, channel: ChannelDescription) -> tuple[Caveat, ...]:
        return tuple(Caveat(code=Code.CANAL_INEXACT, text=text) for text in canal_text.caveats(channel))

    def altered(self, changed: Mapping[str, str]) -> "CanalDescription":
        """With what SET SOURCE says. A server takes the place of a cluster, and a cluster that of a server."""
        refuse_fixed(changed, PROPERTIES, _CHANGING)
        made = described({**self.properties(), **_replaced(changed), **changed})
        refuse_elsewhere(changed, "canal.password", stored=self.password, moves=_server(made) != _server(self))
        return made

    def properties(self) -> dict[str, str]:
        """Its properties of FROM BINLOG."""
        return {
            "type": "canal",
            "canal.server.ip": self.host,
            "canal.server.port": str(self.port or ""),
            "canal.zk.servers": self.zk_servers,
            "canal.destination": self.destination,
            "canal.username": self.user,
            "canal.password": self.password,
            "canal.batchSize": str(self.batch_size),
            "canal.debug": str(self.debug).lower(),
            "canal.time_zone": self.time_zone or "",
        }

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def _replaced(changed: Mapping[str, str]) -> dict[str, str]:
    """Of the two ways to name a server, the one that was not given any more."""
    if changed.get("canal.zk.servers"):
        return {"canal.server.ip": "", "canal.server.port": ""}
    return {"canal.zk.servers": ""} if changed.get("canal.server.ip") else {}


def _server(source: CanalDescription) -> str:
    """Its address, with one name for this machine."""
    return source.zk_servers.casefold() or f"{_known_host(source.host)}:{source.port}"


def _known_host(host: str) -> str:
    """One spelling of an address, and of anything that is recognized as this machine without the network."""
    name = host.casefold()
    try:
        address = ip_address(name)
    except ValueError:
        return name
    return LOCALHOST if address.is_loopback else str(address)


def described(properties: Mapping[str, str]) -> CanalDescription:
    """What FROM BINLOG describes. Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    values = filled(properties, PROPERTIES, BINLOG)
    host, port, zk_servers = (values[f"canal.{name}"] for name in ("server.ip", "server.port", "zk.servers"))
    if zk_servers and (host or port):
        raise wrong_property("canal.zk.servers", zk_servers, "it stands instead of canal.server.ip and .port")
    for name in ("canal.server.ip", "canal.server.port"):
        if not zk_servers and not values[name]:
            raise SyncError(Code.PROPERTY_MISSING, name=name, where=BINLOG)
    return CanalDescription(
        host=host,
        port=0 if zk_servers else whole("canal.server.port", port, 1, 65535),
        zk_servers=zk_servers,
        destination=given("canal.destination", values),
        user=values["canal.username"],
        password=values["canal.password"],
        batch_size=whole("canal.batchSize", values["canal.batchSize"], 1, 2**31 - 1),
        debug=flag("canal.debug", values["canal.debug"]),
        time_zone=values["canal.time_zone"] or None,
    )
