"""Which function answers which command.

Owns: the table of commands.
Must not know: what a command does, packets.

CHANGE_USER is not here: it is a login, and QUIT answers nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from syncmgr.console.commands import plain, prepared
from syncmgr.console.commands.client import Client
from syncmgr.console.commands.port import Session
from syncmgr.console.wire.protocol import Command

COMMANDS: Final[Mapping[int, Callable[[Client, bytes, Session], Awaitable[None]]]] = {
    Command.INIT_DB: plain.init_db,
    Command.QUERY: plain.query,
    Command.FIELD_LIST: plain.field_list,
    Command.STATISTICS: plain.statistics,
    Command.PROCESS_INFO: plain.process_info,
    Command.PROCESS_KILL: plain.process_kill,
    Command.PING: plain.ping,
    Command.STMT_PREPARE: prepared.prepare,
    Command.STMT_EXECUTE: prepared.execute,
    Command.STMT_FETCH: prepared.fetch,
    Command.STMT_SEND_LONG_DATA: prepared.send_long_data,
    Command.STMT_CLOSE: prepared.close,
    Command.STMT_RESET: prepared.reset,
    Command.SET_OPTION: plain.set_option,
    Command.RESET_CONNECTION: plain.reset_connection,
}
