"""What the frontend stores.

Owns: which parts it has; all of them are in one database.
Must not know: what is in a part.
"""

from syncmgr.meta.accounts import AccountStore
from syncmgr.meta.alerts.outbox import Outbox
from syncmgr.meta.asked import Asked
from syncmgr.meta.checks.outcomes import Outcomes
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.database import Database
from syncmgr.meta.ddl_log import DdlLog
from syncmgr.meta.dead_letters import DeadLetters
from syncmgr.meta.epochs import EpochStore
from syncmgr.meta.jobs import JobStore
from syncmgr.meta.loads import Loads


class Store:
    """Safe to use from any thread; every call of a part is one transaction.

    `accounts`: the users of the console. `loads`: the snapshots of all jobs. `asked`: until when their sources have
    answered. `ddl`: what was done with DDL. `alerts`: those that were raised, and what was sent of them.
    `checks`: what they have found.
    """

    def __init__(self, url: str, vault: Vault, timeout: float | None = None) -> None:
        """`timeout`: as of Database. Raises META_CHARSET, META_NEWER."""
        self.database = Database(url, timeout)
        reading, writing = self.database.reading, self.database.writing
        self.accounts = AccountStore(self.database.engine, writing)
        self.loads = Loads(reading, writing)
        self.asked = Asked(reading, writing)
        self.ddl = DdlLog(reading, writing)
        self.alerts = Outbox(reading, writing)
        self.checks = Outcomes(reading, writing)
        self.dead_letters = DeadLetters(reading)
        self.jobs = JobStore(self.database, vault)
        self.epochs = EpochStore(self.database, self.loads, self.dead_letters)

    def close(self) -> None:
        self.database.close()
