"""How many checks of targets run and are kept, how long they wait, when they come again, how much they repair.

Owns: these rows of the table of settings.
Must not know: the other rows, who uses a value.
"""

from typing import Final

from syncmgr.config.checks import Setting, at_least, between

CHECK_LIMITS: Final[tuple[Setting, ...]] = (
    Setting(
        "check_max_running",
        16,
        "checks",
        "Maximum number of checks under way (CHECK SYNC JOB, CHECK TABLE, REPAIR SYNC JOB): one more is refused.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "check_keep",
        100,
        "checks",
        "So many checks are kept with what they have found; the oldest ones that are over are forgotten.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "check_wait_second",
        3600.0,
        "seconds",
        "How long a check waits for a job that does not run, or a table that is not streaming, before it is FAILED.",
        at_least(1),
        mutable=True,
    ),
    Setting(
        "check_every_hour",
        0.0,
        "hours",
        "A job that runs is checked (CHECK SYNC JOB) by itself when no check of all its tables has begun for so long. "
        "Fractions are allowed. 0: never.",
        at_least(0),
        mutable=True,
        job=True,
    ),
    Setting(
        "repair_max_rows",
        10_000,
        "rows",
        "REPAIR SYNC JOB reads at most so many rows of a table again; for more, RESYNC TABLE reads all rows.",
        between(1, 100_000),
        mutable=True,
    ),
)
