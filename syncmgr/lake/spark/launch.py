"""How Spark's JVM is started: its settings, its jars, its process.

Owns: the program's Spark and JVM settings, the child process and its output.
Must not know: py4j, where jars come from, what the session is used for.
"""

import contextlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import pyspark

from syncmgr.config.spark_keys import HELD, names_catalog
from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark.jars import JarFolders
from syncmgr.lake.spark.java import java_home

CATALOG: Final = "lake"
DELETING: Final = "lake_upkeep"  # the same tables, of a catalog that is not our own
DELETES: Final = "s3.delete-enabled"
LOCAL_FILES: Final = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"
CATALOG_FILE: Final = "catalog.db"
BUSY: Final = "busy_timeout=30000"
READ_ONLY: Final = 1  # SQLite's SQLITE_OPEN_READONLY
JARS: Final = "jars"  # below lake_dir, where earlier versions kept them
# The serial collector: on the small heap that fits next to a MySQL server it pauses briefly and costs no extra thread.
JVM_FLAGS: Final = "-XX:+UseSerialGC"
ZONE: Final = "-Duser.timezone=UTC"  # Java takes the last one: no option of the operator changes it
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
EXECUTOR_JAVA_OPTIONS: Final = "spark.executor.extraJavaOptions"
HEAP: Final = "1g"
EXECUTOR_WAIT_SECOND: Final = 60.0
LAKE: Final = "syncmgr-lake"
QUERIES: Final = "syncmgr-queries"
FIXED: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "10",  # kept in memory even without a UI
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": str(Path(__file__).with_name("pools.xml")),
    "spark.hadoop.fs.permissions.umask-mode": "077",  # Hadoop gives each file a mode of its own
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",  # a folder is one attempt's
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
}
ON_CLUSTER: Final[Mapping[str, str]] = {
    "spark.cores.max": "4",  # else the JVM of the commits would take every core before queries get one
}
# No setting of the operator changes these; fe.conf is refused if it tries. One of them keeps secrets of the process, #
# as ${env:HOME} or ${system:user.home}, out of any text that a user types.
ENFORCED: Final[Mapping[str, str]] = {key: value for key, (value, _) in HELD.items()}
QUERY_RETAINED: Final[Mapping[str, str]] = {  # a cancelled query is searched for among them
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "1000",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class LakePlace:
    """Where the lake is. `options`: the spark.* keys of the operator, which win over ours. `environment`: variables for
    the JVM only. `copies_dir`: for copies of files that are not on the local disk. `executor_wait_second`: how long a
    cluster may give no executor.
    """

    lake_dir: Path
    jars_dir: Path
    copies_dir: Path = Path("copies")
    executor_wait_second: float = EXECUTOR_WAIT_SECOND
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def embedded(self) -> bool:
        """The catalog is our own SQLite file in `lake_dir`."""
        return not any(names_catalog(key) and key not in HELD for key in self.options)

    @property
    def local(self) -> bool:
        return self.master.startswith("local")

    @property
    def master(self) -> str:
        return self.options.get("spark.master", "local[*]")

    @property
    def catalog(self) -> dict[str, str]:
        """The settings of the operator's own catalog."""
        prefix = f"spark.sql.catalog.{CATALOG}."
        return {key.removeprefix(prefix): value for key, value in self.options.items() if key.startswith(prefix)}

    @property
    def warehouse(self) -> str | None:
        """The folder of all tables; None: the catalog decides where each is."""
        if self.embedded:
            return str(self.lake_dir)
        place = self.catalog.get("warehouse", "")
        return place.rstrip("/") if ":/" in place or place.startswith("/") else None

    @property
    def jars(self) -> JarFolders:
        return JarFolders(own=self.jars_dir, older=self.lake_dir / JARS)

    @property
    def catalog_file(self) -> Path:
        return self.lake_dir / CATALOG_FILE


def settings(place: LakePlace) -> dict[str, str]:
    """Every Spark setting of the session, without its jars."""
    own = dict(FIXED) | {"spark.master": place.master, "spark.driver.memory": HEAP}
    own["spark.sql.warehouse.dir"] = str(place.lake_dir)
    if place.local:
        own |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Hadoop's own starts a chmod process for every file and folder that it creates: thirty per epoch.
        own["spark.hadoop.fs.file.impl"] = LOCAL_FILES
        # Other users of the machine reach its ports: without a secret, which Spark makes itself, they read every block.
        own["spark.authenticate"] = "true"
    else:
        own |= ON_CLUSTER
    if place.embedded:
        own |= _embedded_catalog(place)
    merged = own | dict(place.options) | dict(ENFORCED) | _no_deletes(place)
    merged[JAVA_OPTIONS] = " ".join(filter(None, (JVM_FLAGS, place.options.get(JAVA_OPTIONS), ZONE)))
    if not place.local:
        merged[EXECUTOR_JAVA_OPTIONS] = " ".join(filter(None, (place.options.get(EXECUTOR_JAVA_OPTIONS), ZONE)))
    return merged


def is_jdbc(catalog: Mapping[str, str]) -> bool:
    """Whether a database keeps its tables by the name of the catalog: under another one there are none."""
    return catalog.get("type") == "jdbc" or catalog.get("catalog-impl", "").endswith(".JdbcCatalog")


def _no_deletes(place: LakePlace) -> dict[str, str]:
    """A catalog that reports a conflict after it has committed makes Iceberg delete the files of the new snapshot. So
    whatever commits through it cannot delete, as far as its FileIO can be told that, and what has to delete uses the
    catalog under another name.
    """
    if place.embedded or is_jdbc(place.catalog):
        return {}
    catalog = f"spark.sql.catalog.{DELETING}"
    same = {f"{catalog}.{key}": value for key, value in place.catalog.items()}
    held = {f"{catalog}.cache-enabled": "false", catalog: FIXED[f"spark.sql.catalog.{CATALOG}"]}
    return {**same, **held, f"spark.sql.catalog.{CATALOG}.{DELETES}": "false"}


def query_settings(place: LakePlace, memory: int) -> dict[str, str]:
    """Those of the JVM that answers queries, with a heap of that many bytes."""
    whole = {
        key: value for key, value in settings(place).items() if not key.startswith(f"spark.sql.catalog.{DELETING}")
    }
    own = {"spark.driver.memory": f"{memory >> 20}m", "spark.driver.maxResultSize": f"{memory >> 21}m"}
    if place.embedded:
        own[f"spark.sql.catalog.{CATALOG}.uri"] = f"jdbc:sqlite:{place.catalog_file}?{BUSY}&open_mode={READ_ONLY}"
    return whole | dict(QUERY_RETAINED) | own


def with_scratch(conf: Mapping[str, str], folder: str) -> dict[str, str]:
    """Whatever the JVM spills and unpacks goes there; except its rows, if the operator has configured a place for
    them.
    """
    flags = f"{conf['spark.driver.extraJavaOptions']} -Djava.io.tmpdir={folder}"
    return {"spark.local.dir": folder, **conf, "spark.driver.extraJavaOptions": flags}


def _embedded_catalog(place: LakePlace) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{CATALOG}."
    # Each change is followed by a sync of the whole file system. FULL would sync the catalog's row by itself before
    # that, ahead of the files that it names.
    pragmas = f"{BUSY}&journal_mode=WAL&synchronous=NORMAL"
    return {
        prefix + "type": "jdbc",
        prefix + "uri": f"jdbc:sqlite:{place.catalog_file}?{pragmas}",
        prefix + "jdbc.schema-version": "V1",
        prefix + "warehouse": str(place.lake_dir),
    }


def with_jars(conf: Mapping[str, str], place: LakePlace, jars: Iterable[Path]) -> dict[str, str]:
    rest = {key: value for key, value in conf.items() if key != "spark.jars.packages"}
    # On the class path of a local driver jars need no copy and no class loader of their own: this saves two seconds.
    key, separator = ("spark.driver.extraClassPath", ":") if place.local else ("spark.jars", ",")
    return rest | {key: separator.join(filter(None, [conf.get(key), *map(str, jars)]))}


class Jvm:
    """Spark's JVM as a child process that has announced its py4j port; it ends when its stdin does.

    Every user of the machine can read the arguments of a process, so settings and Java's options go by files in a
    folder of ours, which lives until the port is announced. `name`: shown by `ps`. `nice`: its niceness.
    """

    def __init__(
        self,
        conf: Mapping[str, str],
        environment: Mapping[str, str],
        progress: Callable[[str], None],
        *,
        name: str = LAKE,
        nice: int = 0,
    ) -> None:
        self._progress = progress
        self._tail: deque[str] = deque(maxlen=30)
        self._folder = Path(tempfile.mkdtemp(prefix="syncmgr-jvm-"))  # 0700
        self._announcement = self._folder / "port"
        submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
        file = _properties_file(conf, self._folder)
        command = [str(submit), "--name", name, "--properties-file", str(file), "--load-spark-defaults"]
        before = ["nice", "-n", str(nice)] if nice else []
        self._process = subprocess.Popen(
            [*before, *command, "pyspark-shell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(conf, environment, self._announcement),
            start_new_session=True,  # Ctrl-C on the terminal is the frontend's to handle
        )
        if nice:
            _lower_session(self._process.pid, nice)
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), name="spark-output", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def connection(self, deadline: float) -> tuple[int, str]:
        """py4j's port and secret. Raises LAKE_FAILED with the JVM's last output if it ends first; LAKE_STARTING if it
        was killed, which says nothing about the next one.
        """
        while not self._announcement.is_file():
            status = self._process.poll()
            if status is not None:
                self._hang_up()
                code = Code.LAKE_STARTING if status < 0 else Code.LAKE_FAILED
                raise SyncError(code, reason=self._last_words())
            if time.monotonic() > deadline:
                self.kill()
                raise SyncError(Code.LAKE_FAILED, reason="Spark's JVM did not come up in time")
            time.sleep(0.02)
        raw = self._announcement.read_bytes()
        self._forget_files()
        length = int.from_bytes(raw[4:8], "big")
        return int.from_bytes(raw[:4], "big"), raw[8 : 8 + length].decode()

    def poll(self) -> int | None:
        """The status of a JVM that has ended; None: it lives."""
        return self._process.poll()

    def wait_for(self, second: float) -> None:
        """Waits until the JVM has ended, but no longer than that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(second)

    def wait(self) -> int:
        """Blocks until the JVM has ended; its status."""
        status = self._process.wait()
        self._hang_up()
        return status

    def close(self, grace_second: float) -> None:
        """Asks the JVM to end, then kills it."""
        self._hang_up()
        try:
            self._process.wait(grace_second)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._hang_up()

    def _hang_up(self) -> None:
        self._forget_files()
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _forget_files(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, output: IO[bytes]) -> None:
        with output:
            for raw in output:
                line = raw.decode("utf-8", "replace").rstrip()
                self._tail.append(line)
                logger.debug("%s", line)
                jar = re.match(r"downloading \S+/(\S+\.jar)", line)
                if jar:
                    self._progress(f"fetching {jar[1]} (first start only)")

    def _last_words(self) -> str:
        tail = list(self._tail)  # it may still grow
        errors = [line for line in tail if re.search(r"Exception|Error|not found|UNRESOLVED", line)]
        return "Spark's JVM ended: " + (" | ".join(errors[-3:]) or " ".join(tail[-3:]) or "without a word")


def _lower_session(pid: int, nice: int) -> None:
    """If Linux shares the cores by session, `nice` only counts within one, and the JVM has its own."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def _properties_file(conf: Mapping[str, str], folder: Path) -> Path:
    """The settings for spark-submit, and separately Java's options, which it would put on the command line."""
    java = shlex.split(conf.get(JAVA_OPTIONS, ""))
    options = _written(folder / "java.options", "".join(f"{java_quoted(option)}\n" for option in java))
    named = {**conf, JAVA_OPTIONS: f"@{options}"}
    return _written(folder / "spark.conf", "".join(f"{escaped(key)}={escaped(named[key])}\n" for key in named))


def _written(file: Path, text: str) -> Path:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
    return file


def java_quoted(option: str) -> str:
    """An option as written in a file that java reads by @file."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'


def escaped(text: str) -> str:
    """A key or a value as written in a file of java.util.Properties."""
    return re.sub(r"([\\=:#! ])", r"\\\1", text).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _environment(conf: Mapping[str, str], own: Mapping[str, str], announcement: Path) -> dict[str, str]:
    env = {**os.environ, **own}
    env["JAVA_HOME"] = str(java_home())
    env["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(announcement)
    env["SPARK_CONNECT_MODE"] = "0"
    env["PYSPARK_PYTHON"] = env["PYSPARK_DRIVER_PYTHON"] = sys.executable
    env["MALLOC_ARENA_MAX"] = "2"  # glibc's arenas would cost hundreds of MB on top of the heap
    if conf["spark.master"].startswith("local"):
        env.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return env
