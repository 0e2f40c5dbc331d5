"""The alerts of a frontend, put together.

Owns: which settings say who is notified, and when.
Must not know: what an alert is.
"""

from syncmgr.alerts.delivery import Delivery, Receiver
from syncmgr.alerts.watching import Watching
from syncmgr.config.settings import Settings
from syncmgr.job.alerts.condition import Thresholds
from syncmgr.job.metrics.sample import Sample
from syncmgr.meta.alerts.outbox import Outbox


class Alerts:
    """start() and stop() once each."""

    def __init__(self, settings: Settings, outbox: Outbox) -> None:
        self._settings, self._outbox = settings, outbox
        self._delivery = Delivery(outbox, self._receiver)
        self._watching = Watching(outbox, self._thresholds, self._delivery.wake)

    def heard(self, sample: Sample) -> None:
        self._watching.heard(sample)

    def start(self) -> None:
        self._delivery.start()

    def stop(self) -> None:
        self._delivery.stop()

    def rows(self) -> list[tuple[str | None, ...]]:
        """Those of SHOW ALERTS."""
        return [each.row for each in reversed(self._outbox.all())]

    def test(self) -> None:
        """Raises NO_WEBHOOK, WEBHOOK_FAILED."""
        self._delivery.test()

    def _receiver(self) -> Receiver:
        settings = self._settings
        return Receiver(
            url=settings.text("alert_webhook"),
            secret=settings.text("alert_webhook_secret"),
            repeat_second=settings.seconds("alert_repeat_second"),
        )

    def _thresholds(self) -> Thresholds:
        settings = self._settings
        return Thresholds(
            lag_second=settings.seconds("alert_lag_second"),
            for_second=settings.seconds("alert_for_second"),
            disk_bytes=settings.number("alert_disk_bytes"),
        )
