"""bin/: what a person types first."""

import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pymysql
import pytest

from tests.support import jvm
from tests.support.servers.mysql import Flavour, MysqlServer, binary, free_port
from tests.support.until import HANG_SECOND, until

ROOT = Path(__file__).parents[2]
START_FE = str(ROOT / "bin" / "start_fe.sh")
STOP_FE = str(ROOT / "bin" / "stop_fe.sh")
BACKUP_FE = str(ROOT / "bin" / "backup_fe.sh")
RESTORE_FE = str(ROOT / "bin" / "restore_fe.sh")
DEMO = str(ROOT / "bin" / "demo.sh")
DEMO_S3 = str(ROOT / "bin" / "demo_s3.sh")
DEMO_SHOP = [str(ROOT / ".venv" / "bin" / "python"), str(ROOT / "bin" / "demo_shop.py")]


def run(
    *command: str, env: Mapping[str, str] | None = None, second: float = HANG_SECOND
) -> "subprocess.CompletedProcess[str]":
    """A script to its end, both outputs in one."""
    return subprocess.run(
        command,
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=second,
        check=False,
    )


class Home:
    """A SYNCMGR_HOME with a conf/fe.conf of its own."""

    def __init__(self, folder: Path, conf: str = "") -> None:
        self.port = free_port()
        self.folder = folder
        self.pid_file = folder / "run" / "fe.pid"
        self.conf = folder / "conf" / "fe.conf"
        self.conf.parent.mkdir()
        quick = "".join(f"{name} = {value}\n" for name, value in jvm.flags().items())
        own = f"query_port = {self.port}\n{conf}http_port = 0\njars_dir = {jvm.jars_dir(folder)}\n"
        self.conf.write_text(own + quick)

    def start(self) -> "subprocess.CompletedProcess[str]":
        return run(START_FE, "--daemon", env={"SYNCMGR_HOME": str(self.folder)})

    def stop(self) -> "subprocess.CompletedProcess[str]":
        return run(STOP_FE, env={"SYNCMGR_HOME": str(self.folder)})

    def process(self) -> psutil.Process:
        return psutil.Process(int(self.pid_file.read_text()))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    assert made.stop().returncode == 0


def test_a_daemon_starts_once_says_how_to_connect_and_stops(home: Home) -> None:
    """start_fe.sh --daemon leaves a running frontend alone, stop_fe.sh ends it in order, and both say so; what they
    write is private.
    """
    started = home.start()
    assert started.returncode == 0, started.stdout
    assert f"mysql -h 127.0.0.1 -P {home.port} -u root" in started.stdout
    pymysql.connect(host="127.0.0.1", port=home.port, user="root").close()
    process = home.process()
    assert [path for path in (home.folder / "log").iterdir() if path.stat().st_mode & 0o077] == [], "fe.out, too"

    again = home.start()
    assert (again.returncode, home.process()) == (0, process)
    assert f"already running (pid {process.pid})" in again.stdout

    stopped = home.stop()
    assert (stopped.returncode, stopped.stdout) == (0, "syncmgr: stopped\n")
    assert _command(process) == []
    assert not home.pid_file.exists()
    assert home.stop().stdout == "syncmgr: not running\n"


def test_a_backup_is_taken_and_brought_back(home: Home) -> None:
    """backup_fe.sh saves a frontend that runs, restore_fe.sh refuses one that runs and restores one that does not."""
    env, copy = {"SYNCMGR_HOME": str(home.folder)}, str(home.folder / "copy")
    assert home.start().returncode == 0
    saved = run(BACKUP_FE, copy, env=env)
    assert saved.returncode == 0, saved.stdout
    refused = run(RESTORE_FE, copy, env=env)
    assert refused.returncode == 1
    assert "in use by another frontend" in refused.stdout
    assert home.stop().returncode == 0
    (home.folder / "var").rename(home.folder / "old")
    restored = run(RESTORE_FE, copy, env=env)
    assert restored.returncode == 0, restored.stdout
    assert (home.folder / "var" / "meta" / "meta.db").is_file()
    assert run(BACKUP_FE, env=env).stdout == "syncmgr: usage: backup_fe.sh FOLDER\n"


def test_a_pid_file_left_by_a_crash_stops_nobody(home: Home) -> None:
    """A number in fe.pid that is another process's now neither hinders a start nor is killed by a stop."""
    home.pid_file.parent.mkdir()
    home.pid_file.write_text(str(os.getpid()))
    assert home.stop().stdout == "syncmgr: not running\n"
    started = home.start()
    assert started.returncode == 0, started.stdout
    assert home.process().pid != os.getpid()


def test_every_mistake_of_fe_conf_is_told_before_anything_starts(tmp_path: Path) -> None:
    """With a wrong fe.conf the start ends with status 2 and each mistake with its line."""
    home = Home(tmp_path, "qury_port = 1\nsync_commit_interval_second = soon\n")
    started = home.start()
    assert started.returncode == 2
    assert "line 2" in started.stdout
    assert "did you mean 'query_port'" in started.stdout
    assert "line 3" in started.stdout
    assert not home.pid_file.exists()


def test_a_port_in_use_is_told(home: Home) -> None:
    """If another process has the port, the start fails and names it; no frontend is left running."""
    with socket.create_server(("127.0.0.1", home.port)):
        started = home.start()
    assert started.returncode == 1
    assert str(home.port) in started.stdout
    assert not home.pid_file.exists()


@pytest.mark.parametrize("script", [START_FE, DEMO, DEMO_S3])
def test_an_unknown_option_is_refused(script: str) -> None:
    """A mistyped option starts nothing and shows the right ones."""
    refused = run(script, "--deamon")
    assert refused.returncode == 1
    assert "usage: " in refused.stdout


def test_a_script_is_called_from_anywhere(tmp_path: Path) -> None:
    """By a symlink in another folder, and by a relative path where CDPATH is set, it finds its project."""
    link = tmp_path / "start"
    link.symlink_to(START_FE)
    assert "usage: " in run(str(link), "--deamon").stdout
    program = f'cd "{ROOT}"; CDPATH=.:/; source bin/environment.sh; printf "%s\n" "$PROJECT"'
    assert run("bash", "-c", program).stdout == f"{ROOT.resolve()}\n"


def test_what_cannot_be_installed_is_named_in_one_sentence(tmp_path: Path) -> None:
    """Without a package manager the script ends with what is missing and the packages that hold it."""
    (tmp_path / "bash").symlink_to("/bin/bash")
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    program = (
        f'source "{ROOT}/bin/environment.sh"; PATH={tmp_path}; apt_install "Java 17 or 21" "openjdk-17|openjdk-21"'
    )
    refused = run("bash", "-c", program)
    assert refused.returncode == 1
    assert refused.stdout == (
        "syncmgr: Java 17 or 21 is missing."
        " Please install it (on Debian and Ubuntu: openjdk-17 or openjdk-21) and start again.\n"
    )


def test_the_locks_agree_and_name_no_host() -> None:
    """Every package is locked by hash, wherever it comes from; development adds to what the frontend runs with."""
    runtime, development = ((ROOT / name).read_text() for name in ("requirements.lock", "requirements-dev.lock"))
    pins = re.compile(r"^[a-z0-9.-]+==\S+", re.MULTILINE)
    assert set(pins.findall(runtime)) <= set(pins.findall(development))
    for text in (runtime, development):
        assert "://" not in text
        assert len(pins.findall(text)) <= text.count("--hash=sha256:")


@pytest.fixture(scope="module")
def two_shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, MysqlServer]]:
    """A server that holds the demo's shop, and a copy of it where the lake would be."""
    folder = tmp_path_factory.mktemp("two_shops")
    server = MysqlServer(folder).start()
    try:
        scenes = (ROOT / "bin" / "demo_scenes.sh").read_text()
        tables = re.findall(r'at_mysql "((?:CREATE (?:DATABASE|TABLE)|ALTER TABLE) [^"]*)"', scenes)
        server.run(*tables)
        changed = run(*DEMO_SHOP, "change", "--socket", str(folder / "sock"), "--seconds", "1")
        assert changed.returncode == 0, changed.stdout
        server.run("CREATE DATABASE demo")
        server.run(*(f"CREATE TABLE demo.{t} SELECT * FROM shop.{t}" for t in ("customers", "orders", "order_lines")))
        yield folder / "sock", server
    finally:  # one that is left running fails whichever test the garbage collector finds it in
        server.stop()


@pytest.mark.mysql
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DO 1", None),
        ("UPDATE demo.customers SET credit = credit + 0.01 WHERE id = 7", "customers: MySQL has (7,"),
        ("DELETE FROM demo.customers WHERE id = 499", "the lake None"),
        ("INSERT INTO demo.customers SELECT * FROM demo.customers WHERE id = 8", "customers: MySQL has None"),
        ("UPDATE demo.customers SET city = '' WHERE city IS NULL", "the lake (1,"),
    ],
)
def test_the_comparison_finds_every_difference(
    two_shops: tuple[Path, MysqlServer], statement: str, told: str | None
) -> None:
    """A changed, missing, doubled or not quite equal row makes the demo end with 1 and is shown; equal sides with 0."""
    socket_path, server = two_shops
    server.run("UPDATE shop.customers SET city = NULL WHERE id = 1")
    server.run("TRUNCATE demo.customers", "INSERT INTO demo.customers SELECT * FROM shop.customers", statement)
    compared = run(*DEMO_SHOP, "compare", "--socket", str(socket_path), "--port", str(server.port))
    if told is None:
        assert (compared.returncode, compared.stdout.splitlines()[-1]) == (0, "EQUAL")
    else:
        assert (compared.returncode, compared.stdout.splitlines()[-1]) == (1, "DIFFERENT")
        assert told in compared.stdout


def path_with(flavour: Flavour) -> str:
    """PATH on a machine that has this server alone: the tests put a MySQL before Debian's MariaDB."""
    first = binary("mysql")
    if flavour == "mariadb" and first is not None:
        folders = os.environ["PATH"].split(":")
        if Path(first).parent == Path(binary("mariadb") or first).parent:
            pytest.skip("no MariaDB without a MySQL beside it")
        return ":".join(folder for folder in folders if folder != str(Path(first).parent))
    return os.environ["PATH"]


@pytest.mark.mysql
@pytest.mark.spark
@pytest.mark.parametrize(
    ("flavour", "says"), [("mysql", "server (Ver "), pytest.param("mariadb", "-MariaDB", marks=pytest.mark.long)]
)
def test_the_demo_ends_equal_and_leaves_nothing_behind(tmp_path: Path, flavour: Flavour, says: str) -> None:
    """bin/demo.sh proves both sides equal, and takes its folder and processes away; on Debian its server is MariaDB."""
    demo = run(DEMO, env=demo_environment(tmp_path, flavour), second=4 * HANG_SECOND)
    assert says in demo.stdout
    assert_ended_equal(demo, tmp_path)


@pytest.mark.mysql
@pytest.mark.spark
@pytest.mark.long
def test_the_demo_on_s3_ends_equal_and_leaves_nothing_behind() -> None:
    """bin/demo_s3.sh does the same with an object store and a REST catalog on PostgreSQL, all of which it makes."""
    with tempfile.TemporaryDirectory(prefix="demo-s3-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # PostgreSQL runs as another user
        demo = run(DEMO_S3, env=demo_environment(folder, "mysql"), second=8 * HANG_SECOND)
        assert "an object store, PostgreSQL and a REST catalog" in demo.stdout
        assert_ended_equal(demo, folder)
        assert list(folder.iterdir()) == []


def demo_environment(folder: Path, flavour: Flavour) -> Mapping[str, str]:
    return {**jvm.environment_of_frontends(), "TMPDIR": str(folder), "PATH": path_with(flavour)}


def assert_ended_equal(demo: "subprocess.CompletedProcess[str]", folder: Path) -> None:
    assert demo.returncode == 0, demo.stdout
    assert demo.stdout.splitlines()[-1] == "EQUAL"
    assert "State: PAUSED" in demo.stdout
    assert list(folder.glob("syncmgr-demo.*")) == []
    until(lambda: _left_in(folder) == [], why=f"the end of all processes of {folder}")  # they die with the frontend


def _left_in(folder: Path) -> list[psutil.Process]:
    return [p for p in psutil.process_iter() if str(folder) in " ".join(_command(p))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []
