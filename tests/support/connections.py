"""A client's connection that costs the tests little.

Owns: PyMySQL's connection, with a TLS context that all share.
Must not know: what is asked.

PyMySQL reads all authorities of the machine for each connection, and then accepts any certificate.
"""

import ssl
from typing import TYPE_CHECKING, Any, Final

from pymysql.connections import Connection

from syncmgr.sources.mysql.tls import of_anyone

ANYONE: Final = of_anyone()

if TYPE_CHECKING:
    PlainConnection = Connection[Any]
else:
    PlainConnection = Connection


class QuickConnection(PlainConnection):
    """TLS if the server has it, unless options say otherwise."""

    def _create_ssl_ctx(self, given: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        return ANYONE if given == {} else super()._create_ssl_ctx(given)  # type: ignore[no-any-return,misc]
