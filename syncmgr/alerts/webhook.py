"""One message to a webhook.

Owns: the request, its time limit, its signature, what counts as received.
Must not know: what is sent, when, how often.
"""

import hashlib
import hmac
import http.client
import ssl
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
    """Raises NotReceivedError unless the answer is 2xx; redirects are not followed."""
    connection = _connection(url, timeout)
    headers = {"content-type": "application/json", "user-agent": "syncmgr"}
    if secret:
        headers[SIGNATURE] = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    parts = urlsplit(url)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    try:
        connection.request("POST", path, body, headers)
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
