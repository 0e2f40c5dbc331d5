"""Where a frontend keeps what a backup has.

Owns: which settings allow a backup.
Must not know: what is done with the files.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy.exc import ArgumentError

from syncmgr.backup.served_metadata import HOLD
from syncmgr.config.settings import Settings
from syncmgr.errors import Code, SyncError
from syncmgr.host.folders import LOCK
from syncmgr.lake.spark.launch import JARS, LakePlace
from syncmgr.meta.database.engine import META_FILE, parsed, sqlite_url

BACKUP_LOCK: Final = "backup.lock"
SECRETS: Final = ("secret.key", "tls")


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """`meta_file`: the metadata; `meta_server`: the database of a server that has them instead, None: there is none;
    `catalog`: the file of the embedded catalog.
    """

    meta_dir: Path
    meta_file: Path
    meta_server: str | None
    lake_dir: Path
    catalog: Path
    staging_dir: Path

    def occupied(self, *marks: str) -> Path | None:
        """What already exists, except what a frontend without jobs and tables has, and `marks` in meta_dir."""
        allowed = {self.meta_dir: {LOCK, BACKUP_LOCK, *marks}, self.lake_dir: {JARS}, self.staging_dir: set[str]()}
        there = (path for folder, names in allowed.items() for path in folder.glob("*") if path.name not in names)
        return next(there, self.meta_file if self.meta_file.exists() else None)


def places(settings: Settings, refusal: Code) -> Places:
    """Raises `refusal` if the lake's catalog is not a file of this machine, or for a meta_url that cannot be locked."""
    lake_dir = settings.folder("lake_dir")
    lake = LakePlace(lake_dir=lake_dir, jars_dir=lake_dir / JARS, options=settings.spark)
    if not lake.embedded:
        reason = "the catalog is one of your own (spark.sql.catalog.lake in fe.conf): save it by its own means"
        raise SyncError(refusal, reason=f"{reason}, while the frontend is stopped")
    meta_dir = settings.folder("meta_dir")
    url = settings.text("meta_url") or sqlite_url(meta_dir)
    file = _meta_file(url, refusal)
    return Places(
        meta_dir=meta_dir,
        meta_file=file or meta_dir / META_FILE,
        meta_server=None if file else url,
        lake_dir=lake_dir,
        catalog=lake.catalog_file,
        staging_dir=settings.folder("staging_dir"),
    )


def _meta_file(url: str, refusal: Code) -> Path | None:
    """None if a server has the metadata. Raises META_FAILED, too."""
    try:
        found = parsed(url)
    except ArgumentError as error:
        raise SyncError(refusal, reason=f"meta_url: {error}") from error
    kind = found.get_backend_name()
    if kind == "sqlite" and found.database:
        return Path(found.database).absolute()
    if kind not in HOLD:
        reason = f"the metadata are in a database of {kind} (meta_url): stop the frontend, save them by its own means"
        raise SyncError(refusal, reason=f"{reason}, and copy meta_dir, lake_dir and staging_dir")
    return None
