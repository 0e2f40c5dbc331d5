"""Errors of a canal server as source, with numbers among those of the source.

Owns: their rows: what is wrong at canal, or with what comes from it.
Must not know: who raises an error or how it is shown.
"""

from syncmgr.errors.row import Row

CANAL_INEXACT = Row(20116, "HY000", "Column '{column}' of table '{table}' cannot come through canal exactly: {reason}")
CANAL_UNREACHABLE = Row(20121, "HY000", "Cannot reach the canal server at {address}: {reason}")
CANAL_ACCESS_DENIED = Row(20122, "HY000", "The canal server at {address} refused user '{user}': {reason}")
CANAL_REFUSED = Row(
    20123, "HY000", "The canal server at {address} does not serve destination '{destination}': {reason}"
)
CANAL_IN_USE = Row(
    20124,
    "HY000",
    "Canal destination '{destination}' at {address} is already read by {reader}; a destination has one reader",
)
CANAL_POSITION_LOST = Row(
    20125,
    "HY000",
    "Canal destination {address} cannot continue at {position}: {reason}; stop the job and create it and its targets again, from a copy of the source",
)
CANAL_PROTOCOL = Row(20126, "HY000", "What the canal server at {address} sends cannot be read: {reason}")
CANAL_UNSUPPORTED = Row(
    20127, "HY000", "The canal server at {address} sent an event that syncmgr does not support: {reason}"
)
