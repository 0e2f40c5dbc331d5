"""Settings as the bounds that each part is given.

Owns: which setting bounds what.
Must not know: how a bound is kept.
"""

from dataclasses import replace

from syncmgr.config.job_settings import JobSettings
from syncmgr.config.settings import Settings
from syncmgr.console import limits as console
from syncmgr.host import open_files
from syncmgr.job.backoff import COMMIT, Retry
from syncmgr.job.check.check_options import CheckLimits
from syncmgr.job.epoch import Thresholds
from syncmgr.job.rows.dead_letter import DeadLetterBounds
from syncmgr.pipeline.messages import Limits


def limits_of(settings: JobSettings) -> Limits:
    """Of the pipeline of one job."""
    return Limits(
        thresholds=Thresholds(
            interval_second=settings.seconds("sync_commit_interval_second"),
            min_events=settings.number("min_sync_commit_size"),
            min_bytes=settings.number("min_bytes_sync_commit"),
            max_bytes=settings.number("max_bytes_sync_commit"),
        ),
        position_interval_second=settings.seconds("position_commit_interval_second"),
        max_staged_bytes=settings.number("max_staged_bytes"),
        queue_batches=settings.number("source_queue_batches"),
        queue_bytes=settings.number("source_queue_bytes"),
        dead_letters=dead_letters_of(settings),
    )


def dead_letters_of(settings: JobSettings) -> DeadLetterBounds:
    return DeadLetterBounds(count=settings.number("max_dead_letters"), bytes=settings.number("max_dead_letter_bytes"))


def retry_of(settings: JobSettings) -> Retry:
    return replace(COMMIT, times=settings.number("max_retry"), patience=settings.seconds("max_retry_second"))


def check_limits(settings: Settings) -> CheckLimits:
    return CheckLimits(
        running=settings.number("check_max_running"),
        kept=settings.number("check_keep"),
        wait_second=settings.seconds("check_wait_second"),
        repaired_rows=settings.number("repair_max_rows"),
    )


def console_limits(settings: Settings, files: int) -> console.Limits:
    """`files`: how many the process may have open."""
    return console.Limits(
        max_connections=open_files.for_clients(files, settings.number("max_connections")),
        max_packet=settings.number("max_allowed_packet"),
        max_statement=settings.number("max_statement_bytes"),
        max_query=settings.number("max_query_bytes"),
        max_queries_per_account=settings.number("max_queries_per_account"),
        max_query_second=settings.seconds("max_query_second"),
        threads=settings.number("query_threads"),
        source_threads=settings.number("source_threads"),
        source_second=settings.seconds("source_statement_second"),
        max_connection_bytes=settings.number("max_connection_bytes"),
        max_console_bytes=settings.number("max_console_bytes"),
        question_spill=settings.number("question_spill_bytes"),
        dialect=settings.text("sql_dialect"),
        max_logins=settings.number("max_logins"),
        max_logins_per_address=settings.number("max_logins_per_address"),
        reserved_connections=settings.number("reserved_connections"),
        max_login_failures=settings.number("max_login_failures"),
        login_refuse_second=settings.seconds("login_refuse_second"),
        connect_timeout=settings.seconds("connect_timeout"),
        read_timeout=settings.seconds("net_read_timeout"),
        write_timeout=settings.seconds("net_write_timeout"),
        wait_timeout=settings.seconds("wait_timeout"),
    )
