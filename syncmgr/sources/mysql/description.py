"""FROM BINLOG ("type" = "mysql", ...) as a value.

Owns: its properties, their defaults and checks, JobConfig of SHOW SYNC JOB.
Must not know: servers, sockets, tables.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, get_args

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.property import (
    Property,
    filled,
    given,
    one_of,
    refuse_elsewhere,
    refuse_fixed,
    whole,
    wrong_property,
)
from syncmgr.job.source import BINLOG, SNAPSHOT, Can, Caveat
from syncmgr.job.tls import FILES, SSL_MODES, SslMode, Tls, completed, unfit
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.zoned import WHY

LATEST: Final = "latest"
PROPERTIES: Final = (
    Property("type", None, "`mysql`: the job reads MySQL's binlog itself."),
    Property(
        "mysql.host",
        None,
        "Host name or address of the MySQL or MariaDB server. Several of one history, `db1,db2:3307`, need GTIDs: "
        "the job reads one of them, and continues on the next if that cannot be reached.",
    ),
    Property("mysql.port", "3306", "The port, if `mysql.host` does not give one."),
    Property(
        "mysql.user",
        None,
        "A user with REPLICATION SLAVE, REPLICATION CLIENT and SELECT on the tables; on MariaDB 10.5 and later also "
        "SLAVE MONITOR, if log_slave_updates is OFF.",
    ),
    Property("mysql.password", None, "Its password; encrypted at rest, masked wherever it could appear."),
    Property("mysql.server_id", "0", "Replica id of this job on the server; 0 derives one from the job."),
    Property(
        "mysql.ssl",
        "preferred",
        "`disabled`, `preferred`, `required`, `verify_ca` or `verify_identity`; only the [last "
        "two](#tls-to-the-source) keep the password from someone who answers in the server's place.",
    ),
    Property("mysql.ssl_ca", "", "File of the CA that signs the server's certificate, for `verify_ca` and stricter."),
    Property("mysql.ssl_cert", "", "File of a client certificate that the server requires."),
    Property("mysql.ssl_key", "", "File of the private key of `mysql.ssl_cert`."),
    Property(
        "start",
        SNAPSHOT,
        "`snapshot`: the existing rows, then every change. Or only changes, from `latest`, `earliest`, a GTID set or "
        "`file:position` on.",
    ),
    Property(
        "snapshot.host",
        "",
        "A replica of the source, `host[:port]`, from which the rows of a snapshot are read instead; needs MySQL's "
        "GTIDs, the same user, and a key of each table.",
    ),
    Property(
        "snapshot.ssl",
        "",
        "`mysql.ssl` of `snapshot.host`; the same as `mysql.ssl` if it is not given, and so for the next three.",
    ),
    Property("snapshot.ssl_ca", "", "`mysql.ssl_ca` of `snapshot.host`."),
    Property("snapshot.ssl_cert", "", "`mysql.ssl_cert` of `snapshot.host`."),
    Property("snapshot.ssl_key", "", "`mysql.ssl_key` of `snapshot.host`."),
    Property(
        "unlogged_cascades",
        "refuse",
        "`refuse` or `accept` a table whose rows a foreign key changes without the binlog recording it, as in "
        "MariaDB and in MySQL before 9.6.",
    ),
)
_IPV6: Final = r"[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?"
# No character with a meaning in the URL of the snapshot's driver, which accepts properties there.
_HOST: Final = re.compile(
    rf"(?P<plain>{_IPV6})|\[(?P<bracketed>{_IPV6})\](?::(?P<port6>\d+))?|(?P<named>[\w.-]+)(?::(?P<port>\d+))?"
)
Cascades = Literal["refuse", "accept"]
OF_REPLICA: Final = ("snapshot.ssl", *(f"snapshot.{file}" for file in FILES))
CASCADES: Final[tuple[Cascades, ...]] = get_args(Cascades)
# Properties that SET SOURCE changes, and the fields that have them.
_PLACE: Final = {  # where the password goes, and what must be proved there
    "mysql.host": "host",
    "mysql.port": "port",
    "mysql.ssl": "ssl",
    "mysql.ssl_ca": "ssl_ca",
    "snapshot.host": "snapshot_host",
    "snapshot.ssl": "snapshot_ssl",
    "snapshot.ssl_ca": "snapshot_ssl_ca",
}
_CHANGING: Final = {
    **_PLACE,
    "mysql.user": "user",
    "mysql.password": "password",
    "mysql.server_id": "server_id",
    "mysql.ssl_cert": "ssl_cert",
    "mysql.ssl_key": "ssl_key",
    "snapshot.ssl_cert": "snapshot_ssl_cert",
    "snapshot.ssl_key": "snapshot_ssl_key",
}
_FIELDS: Final = {**_CHANGING, "start": "start", "unlogged_cascades": "unlogged_cascades"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MysqlDescription:
    """FROM BINLOG ("type" = "mysql", ...) with every default filled in.

    `joins`: it is queried for tables of a running job, whose rows are read after the place that is found.
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
    def can(self) -> frozenset[Can]:
        return frozenset(Can)

    @property
    def refused(self) -> Mapping[str, str]:
        return {}

    @property
    def one_reader(self) -> None:
        """The binlog has as many readers as want it."""

    @property
    def hosts(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server."""
        return hosts_of(self.host, self.port)

    @property
    def address(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.hosts)

    @property
    def replica(self) -> tuple[str, int] | None:
        """Host and port of the server whose rows a snapshot reads, if it is not the source."""
        return _host_of(self.snapshot_host, self.port, "snapshot.host") if self.snapshot_host else None

    @property
    def tls(self) -> Tls:
        """How the source has to prove its identity."""
        return Tls(mode=self.ssl, ca=self.ssl_ca, cert=self.ssl_cert, key=self.ssl_key)

    def tls_of(self, host: str, port: int) -> Tls:
        """The same for one of its servers, including the replica. What is not given for that is as for the source."""
        if (host, port) != self.replica:
            return self.tls
        mode, ca = self.snapshot_ssl or self.ssl, self.snapshot_ssl_ca
        own = Tls(mode=mode, ca=ca, cert=self.snapshot_ssl_cert, key=self.snapshot_ssl_key, of="snapshot")
        return completed(own, self.tls)

    @property
    def key_files(self) -> Mapping[str, str]:
        return {
            "mysql.ssl_cert": self.ssl_cert,
            "mysql.ssl_key": self.ssl_key,
            "snapshot.ssl_cert": self.snapshot_ssl_cert,
            "snapshot.ssl_key": self.snapshot_ssl_key,
        }

    @property
    def starts_now(self) -> bool:
        """Whether only changes from the job's creation on count."""
        return self.start.strip().lower() == LATEST

    @property
    def takes_snapshot(self) -> bool:
        """Whether the rows that are there come first."""
        return self.start.strip().lower() == SNAPSHOT

    @property
    def starts_at_place(self) -> bool:
        return not self.starts_now and not self.takes_snapshot

    @property
    def accepts_unlogged(self) -> bool:
        """Whether a table may differ by what foreign keys have changed."""
        return self.unlogged_cascades == "accept"

    @property
    def joining(self) -> "MysqlDescription":
        """As it is queried for tables of a running job: their rows come first, and the job reads under its own id."""
        return replace(self, start=SNAPSHOT, server_id=0, joins=True)

    def in_use(self, reader: str) -> SyncError:
        raise AssertionError(f"{reader} and others may read it")

    def check_channel(self, channel: ChannelDescription) -> None:
        """Every value of a binlog is exact."""

    def caveats(self, channel: ChannelDescription) -> tuple[Caveat, ...]:
        """Values that the binlog has in one time zone and a snapshot in another."""
        table, read = channel.source, {folded_name(name) for name in channel.reads}
        zoned = [each.name for each in table.generated or () if each.zoned and folded_name(each.name) in read]
        errors = [SyncError(Code.SOURCE_ZONED, column=name, table=table.label, reason=WHY) for name in zoned]
        return tuple(Caveat(code=error.code, text=str(error)) for error in errors)

    def id_for(self, token: str) -> int:
        """The server id under which a job reads: as given, otherwise derived from its first channel's random token, so
        that jobs of several frontends do not collide, and the same after every restart.
        """
        return self.server_id or 1 + zlib.crc32(token.encode()) % (2**32 - 2)

    def properties(self) -> dict[str, str]:
        """Its properties of FROM BINLOG."""
        return {"type": "mysql"} | {name: str(getattr(self, field)) for name, field in _FIELDS.items()}

    def altered(self, changed: Mapping[str, str]) -> "MysqlDescription":
        """With what SET SOURCE says."""
        refuse_fixed(changed, PROPERTIES, _CHANGING)
        made = described({**self.properties(), **changed})
        moves = any(getattr(made, field) != getattr(self, field) for field in _PLACE.values())
        refuse_elsewhere(changed, "mysql.password", stored=self.password, moves=moves)
        return made

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def config(self) -> str:
        """JobConfig of SHOW SYNC JOB, in Doris' form."""
        text = f"address:{self.address},user:{self.user},server_id:{self.server_id},start:{self.start}"
        text += f",snapshot.host:{self.snapshot_host}" if self.snapshot_host else ""
        return f"{text},unlogged_cascades:accept" if self.accepts_unlogged else text


def described(properties: Mapping[str, str]) -> MysqlDescription:
    """What FROM BINLOG describes. Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    values = filled(properties, PROPERTIES, BINLOG)
    ssl = one_of("mysql.ssl", values["mysql.ssl"], SSL_MODES)
    cascades = one_of("unlogged_cascades", values["unlogged_cascades"], CASCADES)
    host, port = given("mysql.host", values), whole("mysql.port", values["mysql.port"], 1, 65535)
    hosts_of(host, port)
    made = MysqlDescription(
        host=host,
        port=port,
        user=given("mysql.user", values),
        password=values["mysql.password"],
        server_id=whole("mysql.server_id", values["mysql.server_id"], 0, 2**32 - 1),
        ssl=ssl,
        start=values["start"],
        snapshot_host=values["snapshot.host"],
        unlogged_cascades=cascades,
        snapshot_ssl=one_of("snapshot.ssl", values["snapshot.ssl"], ("", *SSL_MODES)),
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
    """Of a list `host[:port],...`; an IPv6 address with a port is in brackets. Raises PROPERTY_WRONG."""
    return tuple(_host_of(part.strip(), port) for part in text.split(","))


def _host_of(text: str, port: int, name: str = "mysql.host") -> tuple[str, int]:
    found = _HOST.fullmatch(text)
    if found is None:
        several = ", or several of them with commas between" if name == "mysql.host" else ""
        raise wrong_property(name, text, f"it must be a host, or host:port{several}")
    host = found["plain"] or found["bracketed"] or found["named"]
    given = found["port"] or found["port6"]
    return host, port if given is None else whole(name, given, 1, 65535)
