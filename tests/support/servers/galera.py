"""Nodes of a real Galera cluster for tests.

Owns: how a node finds the others, and how it joins without a copy of their data.
Must not know: pytest, what is tested.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.support.servers.mysql import MysqlServer, binary, free_port
from tests.support.until import until

PROVIDERS: Final = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
Status = dict[str, str]


def provider() -> str | None:
    """The library, None if it or MariaDB is not installed."""
    found = next((path for path in PROVIDERS if Path(path).exists()), None)
    return found if binary("mariadb") else None


@contextlib.contextmanager
def cluster(folder: Path, *nodes: Mapping[str, str]) -> Iterator[list[MysqlServer]]:
    """One node for each set of variables, all of them ready."""
    ports = [free_port() for _ in nodes]
    servers: list[MysqlServer] = []
    try:
        for number, variables in enumerate(nodes):
            members = ",".join(f"127.0.0.1:{port}" for port in ports[:number])
            known = {**_variables(f"n{number}", ports[number], members), **variables}
            server = MysqlServer(folder / f"n{number}", "mariadb", known)
            if servers:
                _join_as(servers[0], server)
            servers.append(server.start())
            until(lambda node=server: _status(node)["wsrep_ready"] == "ON", why="the node")  # type: ignore[misc]
        yield servers
    finally:
        for server in reversed(servers):
            server.stop()


def _variables(name: str, port: int, members: str) -> dict[str, str]:
    here = f"127.0.0.1:{port}"
    options = {
        "base_port": str(port),
        "gmcast.listen_addr": f"tcp://{here}",
        "ist.recv_addr": f"127.0.0.1:{free_port()}",
        "gcache.size": "16M",
    }
    return {
        "wsrep-on": "ON",
        "wsrep-provider": provider() or "",
        "wsrep-provider-options": ";".join(f"{option}={value}" for option, value in options.items()),
        "wsrep-cluster-address": f"gcomm://{members}",
        "wsrep-node-name": name,
        "wsrep-node-address": here,
        "wsrep-sst-method": "skip",
        "innodb-autoinc-lock-mode": "2",
        "log-slave-updates": "ON",
    }


def _join_as(donor: MysqlServer, server: MysqlServer) -> None:
    """Both began with the same data, and nothing was written since: it needs no copy of what it has."""
    status = _status(donor)
    state = {"version": "2.1", "uuid": status["wsrep_cluster_state_uuid"], "seqno": status["wsrep_last_committed"]}
    text = "".join(f"{name}: {value}\n" for name, value in {**state, "safe_to_bootstrap": "0"}.items())
    (server.make_data() / "grastate.dat").write_text(f"# GALERA saved state\n{text}")


def _status(server: MysqlServer) -> Status:
    return {str(name).lower(): str(value) for name, value in server.run("SHOW STATUS LIKE 'wsrep_%'")}
