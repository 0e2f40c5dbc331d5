"""A sample of the whole frontend.

Owns: which part is asked for what.
Must not know: how often, who reads it.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from syncmgr import __version__
from syncmgr.errors import Code, SyncError
from syncmgr.fe.commit_times import AllCommitTimes
from syncmgr.job.metrics.sample import JobSample, Sample, newest


class Measuring:
    """Asks at each call, which may block while the metadata do not answer."""

    def __init__(
        self,
        *,
        jobs: Callable[[], Iterable[JobSample]],
        spark_up: Mapping[str, Callable[[], bool]],
        folders: Mapping[str, Path],
        commit_times: AllCommitTimes,
    ) -> None:
        """`spark_up`: by engine. `folders`: of the local disk, by setting."""
        self._commit_times = commit_times
        self._started_at = time.time()
        self._jobs, self._spark_up, self._folders = jobs, spark_up, folders
        self._known: tuple[JobSample, ...] = ()

    def sample(self) -> Sample:
        """The jobs are those of the last answer while the metadata are down."""
        meta_up = self._ask()
        return Sample(
            at=time.time(),
            started_at=self._started_at,
            version=__version__,
            meta_up=meta_up,
            spark_up=MappingProxyType({engine: is_up() for engine, is_up in self._spark_up.items()}),
            disk_free=MappingProxyType(dict(self._free())),
            jobs=self._known,
            commit_times=self._commit_times.of([job.id for job in self._known]),
        )

    def _ask(self) -> bool:
        try:
            self._known = newest(self._jobs())
        except SyncError as error:
            if error.code is not Code.META_DOWN:
                raise
            return False
        return True

    def _free(self) -> Iterator[tuple[str, int]]:
        for name, folder in self._folders.items():
            with suppress(OSError):  # it is not there yet, or its disk is away
                yield name, shutil.disk_usage(folder).free
