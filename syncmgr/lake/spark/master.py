"""The master of a standalone Spark cluster, as the frontend reaches it.

Owns: its addresses, whether it answers, and by which address of this machine it is reached.
Must not know: what runs on the cluster.
"""

import socket
from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code, SyncError

SCHEME: Final = "spark://"
ANSWER_SECOND: Final = 5.0


def addresses(master: str) -> tuple[tuple[str, int], ...]:
    """Host and port of each master of `spark://host:port,host:port`; none for any other kind."""
    if not master.startswith(SCHEME):
        return ()
    found = []
    for each in master.removeprefix(SCHEME).split(","):
        host, _, port = each.rpartition(":")
        found.append((host.strip("[]"), int(port)))
    return tuple(found)


def own_address(master: str) -> str | None:
    """Of this machine, as one of the masters sees it; None for a cluster of another kind. Raises LAKE_FAILED: Spark
    would try for a minute, and then report that its session is stopped.
    """
    refused = None
    for at in addresses(master):
        try:
            with socket.create_connection(at, ANSWER_SECOND) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            refused = error
    if refused is None:
        return None
    raise SyncError(Code.LAKE_FAILED, reason=f"the Spark master {master} cannot be reached: {refused}") from refused


def at_own_address(conf: Mapping[str, str]) -> dict[str, str]:
    """Settings by which executors find the driver; what the operator has set stays. Raises LAKE_FAILED."""
    address = own_address(conf["spark.master"])
    return {**({} if address is None else {"spark.driver.host": address}), **conf}
