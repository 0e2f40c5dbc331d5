"""docs/first_night.md is played: what an operator types there is typed, and what comes is what the page shows."""

import contextlib
import difflib
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest

from syncmgr.lake.spark import launch
from tests.acceptance.test_scripts import ROOT, Home
from tests.support import jvm
from tests.support.processes import jvms
from tests.support.servers.mysql import MysqlServer
from tests.support.small_disk import NoMountError, SmallDisk
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

PAGE: Final = (ROOT / "docs" / "first_night.md").read_text()
SECTIONS: Final = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
PIECE: Final = re.compile(r"^<!-- played: (?P<played>.*) -->$|^```(?P<kind>.*)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)
PROMPTS: Final = ("$", "mysql>", "source>")
TYPED: Final = re.compile(
    r"^(\$|mysql>|source>) (.*(?:\n    -> .*)*)\n((?:(?!\$ |mysql> |source> ).*\n)*)", re.MULTILINE
)
READ: Final = """SELECT job_name FROM information_schema.sync_jobs
    WHERE state = 'RUNNING' AND status->>'$.server' IS NOT NULL AND status->>'$.lag_second' < 10"""
LOOKS: Final = ("fe ", "SELECT", "DESC")  # retried if it is too early
VARIES: Final = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d{3})?", "TIME"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(:\d+(-\d+)?)?", "GTID"),
    (r"(127\.0\.0\.1:|-P |port )\d+", r"\1PORT"),
    (r"pid \d+", "pid N"),
    (r"(INFO|WARNING|ERROR) \[[\w.-]+\]", r"\1 [THREAD]"),
    (r"'/\S*?/staging/job-\d+/[0-9a-f]{32}'", "STAGED"),
    (r"(lag_second: |1 \| +)\d+\.\d+", r"\1LAG"),
    (r" +", " "),
    (r"-{3,}", "---"),
)
SHOP: Final = (
    "CREATE USER syncmgr IDENTIFIED BY 'a password'",
    "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO syncmgr",
    "CREATE DATABASE shop",
    "GRANT SELECT, LOCK TABLES ON shop.* TO syncmgr",
    "CREATE TABLE shop.customers (id BIGINT PRIMARY KEY, name VARCHAR(40), zip INT)",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, customer TEXT, amount DECIMAL(12,2), state TEXT, ordered DATE)",
    "INSERT INTO shop.customers VALUES (1, 'Ada', 1010), (2, 'Bob', 2020)",
    "INSERT INTO shop.orders VALUES (1, 'Ada', 10.50, 'paid', '2026-11-20'), (2, 'Bob', 7, 'new', '2026-11-21')",
)


def alike(text: str) -> str:
    """Without what differs from night to night."""
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.strip()


@dataclass(frozen=True)
class Step:
    """`kind`: a prompt, `log`, `played`, or the name of a file with `sql` before it."""

    kind: str
    text: str
    shown: str = ""


def steps(section: str) -> Iterator[Step]:
    for piece in PIECE.finditer(section):
        if piece["played"]:
            yield Step("played", piece["played"])
        elif piece["kind"]:
            yield Step(piece["kind"], piece["text"])
        else:
            rest = TYPED.sub("", piece["text"])
            assert not rest or rest.startswith("alias "), f"nobody types this: {rest}"
            for prompt, typed, shown in TYPED.findall(piece["text"]):
                yield Step(prompt, re.sub(r"\n    -> ", "\n", typed), shown)


class Night:
    """One frontend and its source, and what befalls them."""

    def __init__(self, folder: Path) -> None:
        self.source = MysqlServer(folder / "source").start()
        self.source.run(*SHOP)
        self.folder = folder / "fe"
        self.staging: SmallDisk | None = None
        with contextlib.suppress(NoMountError):
            self.staging = SmallDisk(self.folder / "var" / "staging", 16)
        settings = {"sync_commit_interval_second": 1, "position_commit_interval_second": 1, **jvm.flags()}
        self.home = Home(self.folder, "".join(f"{name} = {value}\n" for name, value in settings.items()))
        self.log = self.folder / "log" / "fe.log"
        self.alias = next(line for line in PAGE.splitlines() if line.startswith("alias "))
        self.befalls: dict[str, Callable[[], object]] = {
            "the source stops": self.source.stop,
            "five minutes pass": lambda: self.try_for(second=1),
            "the source comes back": lambda: (self.try_for(second=300), self.source.start()),
            "Spark's JVM is killed": lambda: [each.kill() for each in jvms(self.home.process().pid, launch.LAKE)],
            "the frontend is killed": self.kill,
            "the disk of staging is full": lambda: self.small_disk().fill(),
            "there is room again": lambda: self.small_disk().free(),
            "the binlog was purged while the job was paused": self.purge,
        }

    def begin(self) -> "Night":
        """With the files of the page, and the job as its last section makes it, until that is well."""
        for step in steps(PAGE):
            if step.kind.startswith("sql "):
                (self.folder / step.kind.split()[1]).write_text(step.text)
        assert self.home.start().returncode == 0
        self.type("mysql>", "CREATE DATABASE sales;")
        self.type("mysql>", next(step.text for step in steps(PAGE) if step.text.startswith("CREATE SYNC")))
        self.be_well()
        return self

    def be_well(self) -> None:
        """As the page shows a healthy job, and read from its source up to a moment ago."""
        self.play(SECTIONS["What to have ready"])
        until(lambda: self.type("mysql>", READ), why="a job that reads its source")

    def end(self) -> None:
        ended = self.home.stop()
        if self.staging is not None:
            self.staging.unmount()
        self.source.stop()
        assert ended.returncode == 0, ended.stdout

    def small_disk(self) -> SmallDisk:
        """That of staging."""
        if self.staging is None:
            pytest.skip("a small disk cannot be mounted here")
        return self.staging

    def children(self) -> list[psutil.Process]:
        return self.home.process().children(recursive=True)

    def try_for(self, second: int) -> None:
        times = min(second, 5)
        settings = f'"max_retry" = "{times}", "max_retry_second" = "{second}"'
        self.type("mysql>", f"ALTER SYNC JOB sales.shop_job SET ({settings})")

    def kill(self) -> None:
        """Until the port is free again."""
        children = self.children()
        self.home.process().kill()
        psutil.wait_procs(children, timeout=HANG_SECOND)

    def purge(self) -> None:
        self.type("mysql>", "PAUSE SYNC JOB sales.shop_job")
        dumps = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
        until(lambda: not self.source.run(dumps), why="the end of the reading")
        self.source.run("INSERT INTO shop.orders VALUES (6, 'Fritz', 3.10, 'new', NULL)", "FLUSH BINARY LOGS")
        self.source.run(f"PURGE BINARY LOGS TO '{self.source.run('SHOW BINARY LOGS')[-1][0]}'")

    def play(self, section: str) -> None:
        begun = len(self.log.read_text())
        for step in steps(section):
            if step.kind == "played":
                self.befalls[step.text]()
            elif step.kind == "log":
                self.await_logged(step.text, begun)
            elif step.kind in PROMPTS:
                self.await_shown(step)

    def await_shown(self, step: Step) -> None:
        """Whoever looks too early looks again; what changes something is typed once."""
        came = ""

        def shown() -> bool:
            nonlocal came
            came = alike(self.type(step.kind, step.text))
            return came == alike(step.shown) or not step.text.startswith(LOOKS)

        with told(lambda: difference(step.shown, came)):
            until(shown, why=step.text)
        assert came == alike(step.shown), step.text

    def await_logged(self, text: str, begun: int) -> None:
        came: list[str] = []

        def logged() -> bool:
            came[:] = alike(self.log.read_text()[begun:]).splitlines()
            rest = iter(came)
            return all(line in rest for line in alike(text).splitlines())

        with told(lambda: difference(text, "\n".join(came))):
            until(logged, why="the lines of fe.log")

    def type(self, prompt: str, text: str) -> str:
        """What is shown; with the ports and the folder of now."""
        text = text.replace("3306", str(self.source.port)).replace("bin/", f"{ROOT}/bin/")
        alias = self.alias.replace("9030", str(self.home.port))
        command = {"$": text, "mysql>": "fe", "source>": f"mysql -h 127.0.0.1 -P {self.source.port} -u root"}[prompt]
        done = subprocess.run(
            ["bash", "-O", "expand_aliases", "-c", f"{alias}\n{command}"],
            input="" if prompt == "$" else text,
            env={**os.environ, "SYNCMGR_HOME": str(self.folder)},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANG_SECOND,
            check=False,
        )
        return done.stdout


def difference(page: str, came: str) -> str:
    return "\n".join(difflib.unified_diff(alike(page).splitlines(), came.splitlines(), "page", "came", lineterm=""))


@contextlib.contextmanager
def told(what: Callable[[], str]) -> Iterator[None]:
    """A failure says also that."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{error}\n{what()}") from error


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    made = Night(tmp_path_factory.mktemp("night"))
    try:
        yield made.begin()
    finally:
        made.end()


@pytest.mark.parametrize("title", SECTIONS)
def test_an_outage_shows_as_the_page_says_and_ends_by_what_it_says(night: Night, title: str) -> None:
    """What is typed there gives what is shown there, fe.log has its lines, and the job is well at the end."""
    night.play(SECTIONS[title])
    night.be_well()


def test_all_that_befalls_is_on_the_page(night: Night) -> None:
    """No outage of the page is left out of the play, none is played that is not there."""
    assert night.befalls.keys() == {step.text for step in steps(PAGE) if step.kind == "played"}
