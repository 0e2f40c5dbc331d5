"""Where jars come from: their folder, or else Maven by Spark's Ivy, once for all frontends that share the folder.

Owns: who fetches while the others wait, what happens to a jar that is not the right one.
Must not know: which JVM loads a jar, and when.
"""

import contextlib
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from syncmgr.errors import Code, SyncError
from syncmgr.host.folders import lock_of
from syncmgr.lake.spark import launch
from syncmgr.lake.spark.jars import COMPLETE, OF_THE_LAKE, JarPackage, digest, of_catalog

LOCK: Final = "lock"
UNFINISHED: Final = ".fetching-"
FETCH_SECOND: Final = 600.0
WAIT_SECOND: Final = 0.2
READ: Final = 0o044  # of group and others
READ_WRITE: Final = 0o066

Progress = Callable[[str], None]

logger = logging.getLogger(__name__)


class JarCache:
    """Those of one lake. Every method may be called from any thread.

    They raise JARS_MISSING, JAR_ALTERED, NOT_WRITABLE, JAVA_MISSING; LAKE_STARTING if the JVM that fetches was killed.
    `progress` receives one line at a time.
    """

    def __init__(self, place: launch.LakePlace) -> None:
        self._place, self._folders = place, place.jars
        self._stopping = threading.Event()
        self._process: launch.Jvm | None = None

    def of_the_lake(self, progress: Progress) -> list[Path]:
        """What is on the class path from the start."""
        listed = self._place.options.get("spark.jars.packages")
        if listed is not None:
            return self._listed(listed, progress)
        return self._ours((*OF_THE_LAKE, *of_catalog(self._place.catalog)), progress)

    def stop(self) -> None:
        """No more fetching."""
        self._stopping.set()
        process = self._process
        if process is not None:
            process.kill()

    def _ours(self, packages: Sequence[JarPackage], progress: Progress) -> list[Path]:
        found = self._found(packages)
        if len(found) < len(packages):
            with self._alone(progress):
                found = self._found(packages)  # another frontend may have fetched them meanwhile
                self._fetch([package for package in packages if package not in found], progress)
            found = self._found(packages)
        return [found[package] for package in packages]

    def _found(self, packages: Sequence[JarPackage]) -> dict[JarPackage, Path]:
        whole = ((package, self._folders.whole(package)) for package in packages)
        return {package: path for package, path in whole if path is not None}

    def _fetch(self, packages: Sequence[JarPackage], progress: Progress) -> None:
        """Into a separate folder: Ivy trusts whatever it finds in an old one."""
        if not packages:
            return
        own = self._folders.own
        for path in (path for package in packages for path in self._folders.places(package) if path.exists()):
            logger.warning("%s is truncated or altered (SHA-256 %s); it is fetched again", path, digest(path))
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=own, ignore_cleanup_errors=True) as folder:
            names = [package.name for package in packages]
            self._ask_maven(names, [package.file for package in packages], Path(folder), progress)
            for package in packages:
                fetched = Path(folder) / "jars" / package.ivy_file
                _check(package, fetched)
                _open_as(own, fetched, READ)
                fetched.replace(own / package.file)

    def _listed(self, packages: str, progress: Progress) -> list[Path]:
        """Of packages that the operator chose: whatever Ivy fetches for them belongs to them."""
        if not (self._folders.of_list(packages) / COMPLETE).is_file():
            with self._alone(progress):
                folder = self._folders.of_list(packages)
                if not (folder / COMPLETE).is_file():
                    self._ask_maven(packages.split(","), packages.split(","), folder, progress)
                    (folder / COMPLETE).touch()
        return sorted((self._folders.of_list(packages) / "jars").glob("*.jar"))

    def _ask_maven(self, packages: Sequence[str], wanted: Sequence[str], folder: Path, progress: Progress) -> None:
        conf = fetching_settings(launch.settings(self._place), ",".join(packages), folder)
        process = self._process = launch.Jvm(conf, self._place.environment, progress)
        if self._stopping.is_set():
            process.kill()
        try:
            process.connection(time.monotonic() + FETCH_SECOND)  # which it announces once the jars are there
        except SyncError as error:
            if error.code is not Code.LAKE_FAILED:
                raise
            reason, own = error.context["reason"], self._folders.own
            raise SyncError(Code.JARS_MISSING, files=", ".join(wanted), folder=own, reason=reason) from error
        finally:
            self._process = None
            process.kill()

    @contextlib.contextmanager
    def _alone(self, progress: Progress) -> Iterator[None]:
        """No other frontend fetches into the folder; what a killed one left behind is removed."""
        own = self._folders.own
        try:
            own.mkdir(parents=True, exist_ok=True)
            with self._locked(own / LOCK, progress):
                _open_as(own, own / LOCK, READ_WRITE)
                for left in own.glob(f"{UNFINISHED}*"):
                    shutil.rmtree(left, ignore_errors=True)
                yield
        except OSError as error:
            raise SyncError(Code.NOT_WRITABLE, folder=own, reason=error.strerror or str(error)) from error

    def _locked(self, path: Path, progress: Progress) -> IO[bytes]:
        lock = lock_of(path)
        if lock is None:
            progress("another frontend is fetching jars")
        while lock is None:
            if self._stopping.wait(WAIT_SECOND):
                raise SyncError(Code.LAKE_STARTING, reason="the frontend is stopping")
            lock = lock_of(path)
        return lock


def fetching_settings(conf: Mapping[str, str], packages: str, folder: Path) -> dict[str, str]:
    """Of a JVM that only fetches jars."""
    # the class is in one of them
    rest = {key: value for key, value in conf.items() if value != launch.LOCAL_FILES}
    own = {"spark.jars.packages": packages, "spark.jars.ivy": str(folder)}
    return {**rest, **own}


def _open_as(folder: Path, path: Path, bits: int) -> None:
    """A file of ours has the readers of its folder: no others, unless the operator shares that."""
    with contextlib.suppress(PermissionError):  # another user's lock
        path.chmod(folder.stat().st_mode & bits | 0o600)


def _check(package: JarPackage, fetched: Path) -> None:
    found = digest(fetched)
    if found != package.sha256:
        expected, name = package.sha256, package.file
        raise SyncError(Code.JAR_ALTERED, file=name, expected=expected, found=found or "none: Maven gave no such file")
