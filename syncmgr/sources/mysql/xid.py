"""The names of XA transactions.

Owns: one form of them, whatever their origin, and which are prepared on a server.
Must not know: what they are used for.
"""

from typing import Any

from syncmgr.sources.mysql.address import Connection, query


def xid(number: int, global_id: bytes, branch: bytes) -> str:
    """As every server writes it into statements of the binlog."""
    return f"X'{global_id.hex()}',X'{branch.hex()}',{number}"


def prepared(connection: Connection, *, mariadb: bool) -> list[str]:
    """Those that XA RECOVER lists. Raises MySQLError; MySQL 8 lists them only to XA_RECOVER_ADMIN."""
    return [_recovered(row) for row in query(connection, "XA RECOVER" if mariadb else "XA RECOVER CONVERT XID")]


def _recovered(row: dict[str, Any]) -> str:
    """MariaDB shows the bytes, MySQL their hexadecimal digits."""
    stored = row["data"]
    data = bytes.fromhex(stored.removeprefix("0x")) if isinstance(stored, str) else bytes(stored)
    size = int(row["gtrid_length"])
    return xid(int(row["formatID"]), data[:size], data[size:])
