"""Who is alerted to what needs attention, and when.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.checks import Setting, at_least, webhook

ALERT_SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "alert_webhook",
        "",
        "URL",
        "Where alerts are sent, as JSON by POST. Empty: nowhere; SHOW ALERTS has them in any case. It is a secret, "
        "since whoever knows it can post there.",
        webhook,
        mutable=True,
        secret=True,
    ),
    Setting(
        "alert_webhook_secret",
        "",
        "text",
        "Key of the signature in the header X-Syncmgr-Signature: sha256= and the HMAC-SHA256 of the body, in hex. "
        "Empty: no signature.",
        mutable=True,
        secret=True,
    ),
    Setting(
        "alert_lag_second",
        60.0,
        "seconds",
        "If a job's targets are older than this for alert_for_second, an alert is raised.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "alert_for_second",
        120.0,
        "seconds",
        "How long a lag, or a table that is behind, must last before an alert is raised.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "alert_repeat_second",
        14400.0,
        "seconds",
        "An alert is repeated at this interval as long as its reason lasts. 0: it is sent once.",
        at_least(0),
        mutable=True,
    ),
    Setting(
        "alert_disk_bytes",
        1 << 30,
        "bytes",
        "An alert is raised if the disk of meta_dir, lake_dir, staging_dir or log_dir has less free space. 0: never.",
        at_least(0),
        mutable=True,
    ),
)
