"""The thread that sends.

Owns: the order of messages, and that a receiver that fails holds up nothing but messages.
Must not know: when a message is due, what a webhook is.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from syncmgr.alerts.ports import Outbox
from syncmgr.alerts.webhook import TIMEOUT_SECOND, NotReceivedError, post
from syncmgr.errors import Code, SyncError
from syncmgr.job.alerts.condition import AlertEvent, AlertKey
from syncmgr.job.alerts.incident import Incident, Status

LOOK_SECOND: Final = 5.0  # for what is due again
TEST_TEXT: Final = "This is a test: the alerts of syncmgr arrive here"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Receiver:
    """`url` empty: nobody. `repeat_second` 0: an alert is sent once."""

    url: str
    secret: str
    repeat_second: float


class Delivery:
    """start() and stop() once each. A message is marked as sent after it was received: one may arrive twice, and has
    the same id then.
    """

    def __init__(self, outbox: Outbox, receiver: Callable[[], Receiver]) -> None:
        self._outbox, self._receiver = outbox, receiver
        self._due = threading.Event()
        self._stopping = False
        self._fails = False
        self._refused = set[int]()  # messages that were not received for what is in them
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._due.set()

    def stop(self) -> None:
        """Waits for the message that is under way, though not for a receiver that never ends its answer."""
        self._stopping = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join(2 * TIMEOUT_SECOND)

    def test(self) -> None:
        """One message now, past the others. Raises NO_WEBHOOK, WEBHOOK_FAILED."""
        if not self._receiver().url:
            raise SyncError(Code.NO_WEBHOOK)
        now = time.time()
        key = AlertKey(event=AlertEvent.TEST)
        incident = Incident(id=0, key=key, text=TEST_TEXT, error=None, advice=None, fired_at=now)
        try:
            self._post(incident, Status.FIRING, now)
        except NotReceivedError as error:
            raise SyncError(Code.WEBHOOK_FAILED, reason=str(error)) from error

    def _run(self) -> None:
        while not self._stopping:
            try:
                if self._receiver().url:
                    self._send()
            except SyncError as error:
                if error.code is not Code.META_DOWN:
                    log.exception("alerts cannot be sent")
            except Exception:
                log.exception("alerts cannot be sent")
            self._due.wait(LOOK_SECOND)
            self._due.clear()

    def _send(self) -> None:
        """All that is due, in order, up to the first that is not received; one that is refused for what is in it holds
        up no other.
        """
        for incident in self._outbox.unsent():
            now = time.time()
            status = incident.due(now, self._receiver().repeat_second)
            if status is None:
                continue
            waits = incident.waits(now)
            if self._stopping or (waits and incident.id not in self._refused):
                return
            if not waits and not self._sent(incident, status, now) and incident.id not in self._refused:
                return

    def _sent(self, incident: Incident, status: Status, now: float) -> bool:
        try:
            self._post(incident, status, now)
        except NotReceivedError as error:
            if not self._fails:
                log.warning("an alert was not received, and is sent again: %s", error)
            self._fails = True
            (self._refused.add if error.refused else self._refused.discard)(incident.id)
            self._outbox.failed(incident.id, str(error), now)
            return False
        self._fails = False
        self._refused.discard(incident.id)
        self._outbox.sent(incident.id, status, now)
        if status is Status.FIRING and incident.resolved_at is not None:
            self.wake()
        return True

    def _post(self, incident: Incident, status: Status, now: float) -> None:
        receiver = self._receiver()
        post(receiver.url, receiver.secret, incident.message(status, now))
