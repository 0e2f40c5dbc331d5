"""Every error a client can see: its row in one table, and how it is raised."""

from syncmgr.errors.code import Code
from syncmgr.errors.diagnostics import Diagnostic, as_note
from syncmgr.errors.sync_error import MOST_SHOWN, SyncError, shorten

__all__ = ["MOST_SHOWN", "Code", "Diagnostic", "SyncError", "as_note", "shorten"]
