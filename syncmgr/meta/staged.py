"""A copy of the metadata that is not open in any frontend: which staged files it names, and where they are.

Owns: which parts of the stored epochs are still wanted; its paths, and its owner, rewritten for another machine.
Must not know: where the files are, what is in them.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, delete, null, select, update

from syncmgr.meta.tables import EPOCHS, JOBS, OWNER

Files = Mapping[str, Any]  # JSON: by channel token, a list of files
# only by name: an older syncmgr has created the tables if an upgrade follows the backup
EPOCH: Final = (EPOCHS.c.job_id, EPOCHS.c.number, EPOCHS.c.files, EPOCHS.c.prepared)


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{file}")
    try:
        yield engine
    finally:
        engine.dispose()


def staged_files(file: Path) -> dict[str, int]:
    """The staged files that jobs still want, with their bytes: those of intents, of channels that are behind, and of
    XA transactions that are prepared at the last epoch.
    """
    query = select(*EPOCH, EPOCHS.c.committed_at, EPOCHS.c.waiting).join(JOBS, JOBS.c.id == EPOCHS.c.job_id)
    query = query.where(JOBS.c.finished_at.is_(None))
    with _opened(file) as engine, engine.connect() as connection:
        rows = connection.execute(query.order_by(EPOCHS.c.job_id, EPOCHS.c.number)).all()
    newest = {row.job_id: row.number for row in rows}
    wanted: list[Files] = [row.files for row in rows if row.committed_at is None or row.waiting]
    prepared = [row.prepared for row in rows if row.number == newest[row.job_id] and row.prepared]
    wanted += [one["files"] for each in prepared for one in each.values()]
    return {each["path"]: each["bytes"] for files in wanted for segment in files.values() for each in segment}


def make_foreign(file: Path, moved: Callable[[str], str] | None) -> None:
    """No frontend owns it. `moved`: where staged files are from now on; None: where they were."""
    with _opened(file) as engine, engine.begin() as connection:
        connection.execute(delete(OWNER))
        if moved is None:
            return
        for row in connection.execute(select(*EPOCH)).all():
            prepared = {xid: one | {"files": _moved(one["files"], moved)} for xid, one in (row.prepared or {}).items()}
            values = {"files": _moved(row.files, moved), "prepared": prepared or null()}
            this = (EPOCHS.c.job_id == row.job_id) & (EPOCHS.c.number == row.number)
            connection.execute(update(EPOCHS).where(this).values(values))


def _moved(files: Files, moved: Callable[[str], str]) -> Files:
    return {token: [each | {"path": moved(each["path"])} for each in segment] for token, segment in files.items()}
