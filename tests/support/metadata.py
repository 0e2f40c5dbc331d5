"""Metadata as in a frontend that owns them, without one.

Owns: the migration of a store that is opened by hand.
Must not know: what is stored.
"""

from syncmgr.meta.codec import Vault
from syncmgr.meta.store import Store


def opened(url: str, vault: Vault) -> Store:
    """A store of this program's version."""
    store = Store(url, vault)
    store.database.migrate()
    return store
