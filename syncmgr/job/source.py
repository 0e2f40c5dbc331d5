"""Where a job reads: FROM BINLOG as a value.

Owns: the properties of each kind of source, their defaults and checks, JobConfig of SHOW SYNC JOB.
Must not know: servers, sockets, tables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Final, Literal, TypeVar, get_args

from syncmgr.config.settings import did_you_mean
from syncmgr.errors import Code, SyncError
from syncmgr.job.tls import FILES, SSL_MODES, SslMode, Tls, completed, unfit

BINLOG: Final = "FROM BINLOG"
LOCALHOST: Final = "localhost"
LATEST: Final = "latest"
SNAPSHOT: Final = "snapshot"


@dataclass(frozen=True, slots=True)
class Property:
    """One key of FROM BINLOG or PROPERTIES. `default` None: the key must be given."""

    name: str
    default: str | None
    doc: str


MYSQL_PROPERTIES: Final = (
    Property("type", None, "`mysql`: the job reads MySQL's binlog itself."),
    Property(
        "mysql.host",
        None,
        "Host name or address of the MySQL or MariaDB server. Several of one history, `db1,db2:3307`, need GTIDs: "
        "the job reads one of them, and goes on at the next when that cannot be reached.",
    ),
    Property("mysql.port", "3306", "The port, where `mysql.host` says none."),
    Property(
        "mysql.user",
        None,
        "A user with REPLICATION SLAVE, REPLICATION CLIENT and SELECT on the tables; on MariaDB from 10.5 on SLAVE "
        "MONITOR, too, where log_slave_updates is OFF.",
    ),
    Property("mysql.password", None, "Its password; encrypted at rest, masked wherever it could show."),
    Property("mysql.server_id", "0", "Replica id of this job on the server; 0 derives one from the job."),
    Property(
        "mysql.ssl",
        "preferred",
        "`disabled`, `preferred`, `required`, `verify_ca` or `verify_identity`; only the "
        "[last two](#tls-to-the-source) keep the password from somebody who answers in the server's place.",
    ),
    Property("mysql.ssl_ca", "", "File of the CA that signs the server's certificate, for `verify_ca` and more."),
    Property("mysql.ssl_cert", "", "File of a certificate that the server wants to see."),
    Property("mysql.ssl_key", "", "File of the private key of `mysql.ssl_cert`."),
    Property(
        "start",
        SNAPSHOT,
        "`snapshot`: the rows that are there, then every change. Or changes alone, from `latest`, `earliest`, a GTID "
        "set or `file:position` on.",
    ),
    Property(
        "snapshot.host",
        "",
        "A replica of the source, `host[:port]`, from which the rows of a snapshot are read in its place; needs "
        "MySQL's GTIDs, the same user, and a key of each table.",
    ),
    Property("snapshot.ssl", "", "`mysql.ssl` of `snapshot.host`; the same where it is not given; so the next three."),
    Property("snapshot.ssl_ca", "", "`mysql.ssl_ca` of `snapshot.host`."),
    Property("snapshot.ssl_cert", "", "`mysql.ssl_cert` of `snapshot.host`."),
    Property("snapshot.ssl_key", "", "`mysql.ssl_key` of `snapshot.host`."),
    Property(
        "unlogged_cascades",
        "refuse",
        "`refuse` or `accept` a table whose rows a foreign key changes without a word in the binlog, as in MariaDB and "
        "in MySQL before 9.6.",
    ),
)
CANAL_PROPERTIES: Final = (
    Property("type", None, "`canal`: the job reads a destination of a canal server."),
    Property("canal.server.ip", "", "Host name or address of the canal server; not with `canal.zk.servers`."),
    Property("canal.server.port", "", "Its port; not with `canal.zk.servers`."),
    Property(
        "canal.zk.servers",
        "",
        "Instead of both: `host:port,...` of the ZooKeeper in which a cluster of canal servers says who is active.",
    ),
    Property("canal.destination", None, "The destination. One destination has one reader."),
    Property("canal.username", None, "User of the canal server; may be empty."),
    Property("canal.password", None, "Its password; may be empty; encrypted at rest, masked wherever it could show."),
    Property(
        "canal.batchSize",
        "8192",
        "How much canal gives at once: KiB, or entries where canal counts those. More than 4096 is asked for as 4096.",
    ),
    Property("canal.debug", "false", "`true`: each batch is told on the frontend's standard error."),
    Property(
        "canal.time_zone",
        "",
        "Time zone of the canal server, in which it writes TIMESTAMP values: `UTC`, `+08:00`, `Asia/Shanghai`. "
        "Needed where such a column is synced.",
    ),
)
_IPV6: Final = r"[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?"
# No character that means something in the URL of the snapshot's driver, which takes properties there.
_HOST: Final = re.compile(
    rf"(?P<plain>{_IPV6})|\[(?P<bracketed>{_IPV6})\](?::(?P<port6>\d+))?|(?P<named>[\w.-]+)(?::(?P<port>\d+))?"
)
Cascades = Literal["refuse", "accept"]
OF_REPLICA: Final = ("snapshot.ssl", *(f"snapshot.{file}" for file in FILES))
CASCADES: Final[tuple[Cascades, ...]] = get_args(Cascades)
Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True, kw_only=True, slots=True)
class MysqlDescription:
    """FROM BINLOG ("type" = "mysql", ...) with every default filled in.

    `joins`: it is asked for tables of a job that runs, whose rows are read after the place that is found.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    server_id: int
    ssl: SslMode
    start: str
    snapshot_host: str = ""
    unlogged_cascades: Cascades = "refuse"
    joins: bool = False
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""
    snapshot_ssl: SslMode | Literal[""] = ""
    snapshot_ssl_ca: str = ""
    snapshot_ssl_cert: str = ""
    snapshot_ssl_key: str = ""

    @property
    def kind(self) -> str:
        """The Type column of SHOW SYNC JOB."""
        return "MYSQL"

    @property
    def hosts(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server."""
        return hosts_of(self.host, self.port)

    @property
    def address(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.hosts)

    @property
    def replica(self) -> tuple[str, int] | None:
        """Host and port of the server whose rows a snapshot reads, where it is not the source."""
        return _host_of(self.snapshot_host, self.port, "snapshot.host") if self.snapshot_host else None

    @property
    def tls(self) -> Tls:
        """How the source has to prove who it is."""
        return Tls(mode=self.ssl, ca=self.ssl_ca, cert=self.ssl_cert, key=self.ssl_key)

    def tls_of(self, host: str, port: int) -> Tls:
        """The same of one of its servers, the replica among them. What is not said of that is as of the source."""
        if (host, port) != self.replica:
            return self.tls
        mode, ca = self.snapshot_ssl or self.ssl, self.snapshot_ssl_ca
        own = Tls(mode=mode, ca=ca, cert=self.snapshot_ssl_cert, key=self.snapshot_ssl_key, of="snapshot")
        return completed(own, self.tls)

    def of_server(self, host: str, port: int) -> "MysqlDescription":
        """One of its servers alone, the replica among them."""
        tls = self.tls_of(host, port)
        return replace(self, host=host, port=port, ssl=tls.mode, ssl_ca=tls.ca, ssl_cert=tls.cert, ssl_key=tls.key)

    @property
    def starts_now(self) -> bool:
        """Whether only changes from the job's creation on count."""
        return self.start.strip().lower() == LATEST

    @property
    def takes_snapshot(self) -> bool:
        """Whether the rows that are there come first."""
        return self.start.strip().lower() == SNAPSHOT

    @property
    def accepts_unlogged(self) -> bool:
        """Whether a table may differ by what foreign keys have changed."""
        return self.unlogged_cascades == "accept"

    @property
    def config(self) -> str:
        """JobConfig of SHOW SYNC JOB, in Doris' form."""
        told = f"address:{self.address},user:{self.user},server_id:{self.server_id},start:{self.start}"
        told += f",snapshot.host:{self.snapshot_host}" if self.snapshot_host else ""
        return f"{told},unlogged_cascades:accept" if self.accepts_unlogged else told


@dataclass(frozen=True, kw_only=True, slots=True)
class CanalDescription:
    """FROM BINLOG ("type" = "canal", ...) with every default filled in. `zk_servers` "": one server, at host and port.

    `time_zone`: of the canal server, None where nobody said it.
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

    def reads_as(self, other: "CanalDescription") -> bool:
        """Whether both would compete for one destination."""
        return (_server(self), self.destination) == (_server(other), other.destination)


def _server(source: CanalDescription) -> str:
    """Its address, under one name where it is this machine."""
    return source.zk_servers.casefold() or f"{_known_host(source.host)}:{source.port}"


def _known_host(host: str) -> str:
    """One spelling of an address, and of what needs no network to be known as this machine."""
    name = host.casefold()
    try:
        address = ip_address(name)
    except ValueError:
        return name
    return LOCALHOST if address.is_loopback else str(address)


SourceDescription = MysqlDescription | CanalDescription


def source_of(given: Mapping[str, str]) -> SourceDescription:
    """The source that FROM BINLOG describes. Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    kind = given.get("type")
    if kind is None:
        raise SyncError(Code.PROPERTY_MISSING, name="type", where=BINLOG)
    match kind.lower():
        case "mysql":
            return _mysql(_filled(given, MYSQL_PROPERTIES, BINLOG))
        case "canal":
            return _canal(_filled(given, CANAL_PROPERTIES, BINLOG))
        case _:
            raise wrong_property("type", kind, 'it must be "mysql" or "canal"')


def _mysql(values: Mapping[str, str]) -> MysqlDescription:
    ssl = _one_of("mysql.ssl", values["mysql.ssl"], SSL_MODES)
    cascades = _one_of("unlogged_cascades", values["unlogged_cascades"], CASCADES)
    host, port = _given("mysql.host", values), _whole("mysql.port", values["mysql.port"], 1, 65535)
    hosts_of(host, port)
    made = MysqlDescription(
        host=host,
        port=port,
        user=values["mysql.user"],
        password=values["mysql.password"],
        server_id=_whole("mysql.server_id", values["mysql.server_id"], 0, 2**32 - 1),
        ssl=ssl,
        start=values["start"],
        snapshot_host=values["snapshot.host"],
        unlogged_cascades=cascades,
        snapshot_ssl=_one_of("snapshot.ssl", values["snapshot.ssl"], ("", *SSL_MODES)),
        ssl_ca=values["mysql.ssl_ca"],
        ssl_cert=values["mysql.ssl_cert"],
        ssl_key=values["mysql.ssl_key"],
        snapshot_ssl_ca=values["snapshot.ssl_ca"],
        snapshot_ssl_cert=values["snapshot.ssl_cert"],
        snapshot_ssl_key=values["snapshot.ssl_key"],
    )
    if made.replica is not None and not made.takes_snapshot:
        raise wrong_property("snapshot.host", made.snapshot_host, f'"start" = "{made.start}" reads no rows')
    _check_tls(made, values)
    return made


def _check_tls(made: MysqlDescription, values: Mapping[str, str]) -> None:
    """Raises PROPERTY_WRONG."""
    for name in OF_REPLICA:
        if made.replica is None and values[name]:
            raise wrong_property(name, values[name], "it is for a snapshot.host")
    for tls in (made.tls, *(() if made.replica is None else (made.tls_of(*made.replica),))):
        reason = unfit(tls)
        if reason is not None:
            raise wrong_property(*reason)


def hosts_of(text: str, port: int) -> tuple[tuple[str, int], ...]:
    """Of a list `host[:port],...`; an IPv6 address with a port stands in brackets. Raises PROPERTY_WRONG."""
    return tuple(_host_of(part.strip(), port) for part in text.split(","))


def _host_of(text: str, port: int, name: str = "mysql.host") -> tuple[str, int]:
    found = _HOST.fullmatch(text)
    if found is None:
        several = ", or several of them with commas between" if name == "mysql.host" else ""
        raise wrong_property(name, text, f"it must be a host, or host:port{several}")
    host = found["plain"] or found["bracketed"] or found["named"]
    given = found["port"] or found["port6"]
    return host, port if given is None else _whole(name, given, 1, 65535)


def _canal(values: Mapping[str, str]) -> CanalDescription:
    host, port, zk_servers = (values[f"canal.{name}"] for name in ("server.ip", "server.port", "zk.servers"))
    if zk_servers and (host or port):
        raise wrong_property("canal.zk.servers", zk_servers, "it stands instead of canal.server.ip and .port")
    for name in ("canal.server.ip", "canal.server.port"):
        if not zk_servers and not values[name]:
            raise SyncError(Code.PROPERTY_MISSING, name=name, where=BINLOG)
    return CanalDescription(
        host=host,
        port=0 if zk_servers else _whole("canal.server.port", port, 1, 65535),
        zk_servers=zk_servers,
        destination=_given("canal.destination", values),
        user=values["canal.username"],
        password=values["canal.password"],
        batch_size=_whole("canal.batchSize", values["canal.batchSize"], 1, 2**31 - 1),
        debug=_flag("canal.debug", values["canal.debug"]),
        time_zone=values["canal.time_zone"] or None,
    )


def _filled(given: Mapping[str, str], table: Sequence[Property], where: str) -> dict[str, str]:
    names = [p.name for p in table]
    for name in given:
        if name not in names:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=where, hint=did_you_mean(name, names))
    values = {}
    for entry in table:
        value = given.get(entry.name, entry.default)
        if value is None:
            raise SyncError(Code.PROPERTY_MISSING, name=entry.name, where=where)
        values[entry.name] = value
    return values


def _given(name: str, values: Mapping[str, str]) -> str:
    if not values[name]:
        raise wrong_property(name, "", "it must not be empty")
    return values[name]


def _one_of(name: str, value: str, choices: Sequence[Choice]) -> Choice:
    found = next((choice for choice in choices if choice == value), None)
    if found is None:
        raise wrong_property(name, value, f"it must be one of {', '.join(choices)}")
    return found


def _flag(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise wrong_property(name, text, "it must be true or false")
    return text.lower() == "true"


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise wrong_property(name, text, f"it must be a whole number from {least} to {most}")
    return int(text)


def wrong_property(name: str, value: str, reason: str) -> SyncError:
    return SyncError(Code.PROPERTY_WRONG, name=name, value=value, reason=reason)
