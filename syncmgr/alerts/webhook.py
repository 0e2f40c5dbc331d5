"""One message to a webhook.

Owns: the request, its time limit, its signature, what counts as received.
Must not know: what is sent, when, how often.
"""

import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

TIMEOUT_SECOND: Final = 5.0
SIGNATURE: Final = "X-Syncmgr-Signature"
_PORTS: Final = {"https": 443, "http": 80}
_REFUSALS: Final = frozenset({400, 413, 422})  # of a message, not of a sender or at a moment
_ODD: Final = "alert_webhook has characters, or a host, that no URL has"


class NotReceivedError(Exception):
    """Why. Never has the URL, which is a secret. `refused`: for what is in the message; another one may be received."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


def post(url: str, secret: str, body: bytes, timeout: float = TIMEOUT_SECOND) -> None:
    """Raises NotReceivedError unless the answer is 2xx; redirects are not followed. `timeout`: seconds to connect in,
    and as many for the answer.
    """
    connection = _connection(url, timeout)
    headers = {"content-type": "application/json", "user-agent": "syncmgr", "content-length": str(len(body))}
    if secret:
        headers[SIGNATURE] = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    parts = urlsplit(url)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    try:
        connection.putrequest("POST", path)  # which refuses what no URL has, and sends nothing yet
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.connect()
        with _within(connection, timeout):
            connection.endheaders(body)
            answer = connection.getresponse()
    except http.client.InvalidURL:  # which quotes it
        raise NotReceivedError(_ODD) from None
    except (OSError, http.client.HTTPException) as error:
        raise NotReceivedError(_words(error)) from None
    except ValueError:  # of a codec, for ASCII and for names of hosts
        raise NotReceivedError(_ODD) from None
    finally:
        connection.close()
    if not 200 <= answer.status < 300:
        reason = f"the webhook answered {answer.status} {answer.reason}"[:200]
        raise NotReceivedError(reason, refused=answer.status in _REFUSALS)


@contextlib.contextmanager
def _within(connection: http.client.HTTPConnection, second: float) -> Iterator[None]:
    """Raises TimeoutError when the time is over: a socket's own limit is one for each read, and an answer that comes
    byte by byte would take for ever.
    """
    connected, over = connection.sock, threading.Event()

    def end() -> None:
        over.set()
        with contextlib.suppress(OSError):  # closed; a TLS socket's own shutdown would destroy what the reader uses
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    timer = threading.Timer(second, end)
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():
        raise TimeoutError


def _connection(url: str, timeout: float) -> http.client.HTTPConnection:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise NotReceivedError("alert_webhook is no http:// or https:// URL") from None
    if not parts.hostname:
        raise NotReceivedError("alert_webhook names no host")
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, port, timeout=timeout, context=ssl.create_default_context())
    return http.client.HTTPConnection(parts.hostname, port, timeout=timeout)


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the webhook has not answered in time"
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (words or type(error).__name__)[:200]
