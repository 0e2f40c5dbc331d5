"""Where the frontend keeps what it needs on this machine, and who may read it.

Owns: the paths besides those of the settings, the frontend's name.
Must not know: what is kept there.
"""

import logging
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from syncmgr.config.settings import Settings
from syncmgr.host.private import seen_by_others
from syncmgr.job.sync_job import JobId
from syncmgr.lake.spark.jars import users_folder
from syncmgr.lake.spark.launch import JARS

NAME_LENGTH: Final = 255

log = logging.getLogger(__name__)


def staging(settings: Settings, job_id: JobId) -> Path:
    return settings.folder("staging_dir") / f"job-{job_id}"


def jars_dir(settings: Settings) -> Path:
    if settings.text("jars_dir"):
        return settings.folder("jars_dir")
    return users_folder() or settings.folder("lake_dir") / JARS


def tls_folder(settings: Settings) -> Path:
    return settings.folder("meta_dir") / "tls"


def exposed(settings: Settings) -> Iterator[str]:
    """Which files other users of this machine can read although they should not, and what to type."""
    file, secrets = settings.file, settings.secrets()
    mode = seen_by_others(file)
    if secrets and mode is not None:
        yield f"{file} holds {', '.join(secrets)}, and others can read it (mode {mode:04o}); type: chmod 600 {file}"
    for name in ("meta_dir", "staging_dir", "log_dir"):
        folder = settings.folder(name)
        mode = seen_by_others(folder)
        if mode is not None:
            yield f"{name} is open to others (mode {mode:04o}); type: chmod -R go= {folder}"


def remove(folder: Path) -> None:
    """Deletes the folder and its content. What cannot be deleted is logged, and retried at the next call."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("cannot delete %s: %s", folder, error)


def name_of(meta_dir: Path) -> str:
    """Of this frontend, the same after every restart: it belongs to the owner of this folder's lock."""
    file = meta_dir / "frontend"
    if not file.exists():
        file.write_text(uuid4().hex)
    return f"{socket.gethostname()}:{meta_dir} ({file.read_text().strip()})"[:NAME_LENGTH]
