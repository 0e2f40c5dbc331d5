"""The door for MySQL clients: protocol server and sessions.

Owns: asyncio, which the rest of the program does not use.
"""

from syncmgr.console.limits import Limits
from syncmgr.console.ports import Catalog, Config, Frontend, Jobs, Queries, Query
from syncmgr.console.server import Console

__all__ = ["Catalog", "Config", "Console", "Frontend", "Jobs", "Limits", "Queries", "Query"]
