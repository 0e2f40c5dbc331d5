"""The page in a real Chromium, over a real HTTP server and a real console; the jobs are made up."""

import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncmgr.accounts.user import Account, Privilege, job
from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import JobSample, Nature, SnapshotSample, Trouble
from syncmgr.job.state import JobState
from tests.contract.web.doors import Door, door
from tests.support import installed
from tests.support.slow import some_slow
from tests.support.until import PATIENCE, until
from tests.unit.console.running import PASSWORD
from tests.unit.job.metrics.factories import NOTHING, make_job_sample, make_sample

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: bin/test.sh brings it")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("there is no chromium: bin/test.sh installs it with apt", allow_module_level=True)

AXE = installed.FOLDER / "browser" / "axe.min.js"
SHOTS = Path(__file__).parents[3] / "docs" / "images"
HOSTILE = "<img src=x onerror=alert(1)>"
CREATE = 'CREATE SYNC {} (FROM shop.t INTO demo.t) FROM BINLOG ("type" = "mysql", "mysql.host" = "db1")'
PATIENCE_MS = 15_000 * PATIENCE
SIZES = ((1280, 800), (390, 800))
DENIED = Trouble(
    error=20103,
    message="The user 'ledger'@'%' lacks the REPLICATION SLAVE privilege; on the source: GRANT REPLICATION SLAVE, "
    "REPLICATION CLIENT ON *.* TO 'ledger'@'%'",
    advice="Grant the user what the message names, then RESUME.",
    at=1795334285.0,
)


def counts(**states: int) -> dict[ChannelState, int]:
    return dict.fromkeys(ChannelState, 0) | {ChannelState[name]: count for name, count in states.items()}


def jobs(rows: int = 43_000_000) -> list[JobSample]:
    """One in each state."""
    reads = (SnapshotSample(table="crm.people", rows=6_300_000, estimated_rows=11_000_000),)
    nature = Nature(kind="mysql", server="db1.prod:3306", targets=(("sales", "orders"),))
    paused = Nature(kind="mysql", paused_by="user")
    stopped = {"tables": counts(STOPPED=2), "needs_operator": True, "state": JobState.PAUSED_BY_ERROR}
    now = time.time()
    return [
        make_job_sample(
            id=1,
            db="sales",
            name="shop",
            tables=counts(STREAMING=5, BEHIND=1),
            nature=nature,
            figures=replace(NOTHING, rows=rows, commits=84_500),
            synced_until=now - 0.5,
        ),
        make_job_sample(id=2, db="finance", name="ledger", trouble=DENIED, lag_second=None, nature=paused, **stopped),
        make_job_sample(
            id=3, db="crm", name="people", tables=counts(SNAPSHOT=3), snapshots=reads, left_second=95.0, lag_second=None
        ),
        make_job_sample(id=4, db="sandbox", name="copy", state=JobState.PAUSED, nature=paused),
        make_job_sample(id=5, db="demo", name=HOSTILE, figures=replace(NOTHING, rows=12, dead_letters=3)),
    ]


class Telling:
    """Tells samples as the sampler does, one after the other."""

    def __init__(self, it: Door) -> None:
        self._it, self._at = it, time.time() - 100

    def __call__(self, *samples: JobSample, **facts: Any) -> None:
        self._at += 1
        sample = make_sample(*samples, at=self._at, **facts)
        self._it.recent.heard(sample)
        self._it.measured.sample = sample


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as it:
        started = it.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr("syncmgr.accounts.secret._COST", 1 << 4)
    with door(tmp_path, password=PASSWORD) as opened:
        for each in jobs():
            name = each.name.replace("`", "``")
            opened.console.ask(CREATE.format(f"{each.db}.`{name}`"), password=PASSWORD)
        yield opened


@pytest.fixture
def tell(it: Door) -> Telling:
    told = Telling(it)
    rows = 43_000_000
    for second in range(120):
        rows += 3000 + second * 37 % 11 * 60
        told(*jobs(rows))
    return told


class Shown:
    """A page, and what it has done that it must not do."""

    def __init__(self, it: Door, page: Any) -> None:
        self.page, self._door = page, it
        self.faults: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._look)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: self._ours(request.url))

    def _look(self, said: Any) -> None:
        expected = ("401", "ERR_CONNECTION", "ERR_INCOMPLETE", "400", "409", "503", "ERR_NETWORK", "ERR_EMPTY")
        if said.type in {"error", "warning"} and not any(each in said.text for each in expected):
            self.faults.append(said.text)

    def _ours(self, url: str) -> None:
        if not url.startswith(f"http://localhost:{self._door.server.port}/"):
            self.faults.append(url)

    def open(self, path: str = "/") -> "Shown":
        self.page.goto(f"http://localhost:{self._door.server.port}{path}")
        return self

    def log_in(self, user: str = "root", password: str = PASSWORD) -> "Shown":
        self.page.get_by_label("User").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.keyboard.press("Enter")
        self.page.locator("nav.main").wait_for()
        return self

    def sees(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture
def show(it: Door, browser: Any, tell: Telling) -> Iterator[Callable[..., Shown]]:
    contexts, opened = list[Any](), list[Shown]()

    def make(*, scheme: str = "light", size: tuple[int, int] = SIZES[0], scale: float = 1) -> Shown:
        view = {"width": size[0], "height": size[1]}
        contexts.append(browser.new_context(color_scheme=scheme, viewport=view, device_scale_factor=scale))
        opened.append(Shown(it, contexts[-1].new_page()))
        return opened[-1]

    yield make
    for context in contexts:
        context.close()
    assert [fault for each in opened for fault in each.faults] == []


def test_a_login_and_all_jobs(show: Callable[..., Shown]) -> None:
    """A wrong password is said; then the headline is the answer, and names that look like markup are text."""
    shown = show().open()
    shown.page.get_by_label("User").fill("root")
    shown.page.get_by_label("Password").fill("wrong")
    shown.page.keyboard.press("Enter")
    shown.sees("Access denied")
    shown.log_in()
    shown.sees("1 job needs you")
    shown.sees("What to do.")
    shown.sees(HOSTILE)
    assert shown.page.locator("img").count() == 1  # our own sign
    until(lambda: shown.page.title() == "(1) Jobs · syncmgr", why="the title says it")
    shown.page.get_by_role("button", name="Log out").click()
    shown.page.get_by_label("User").wait_for()


def test_by_keyboard_alone(show: Callable[..., Shown], it: Door, tell: Telling) -> None:
    """Find a job, open it, look through its tabs, pause it, run SQL, go back."""
    shown = show().open().log_in()
    press = shown.page.keyboard.press
    shown.sees("1 job needs you")
    press("/")
    shown.page.keyboard.type("sales")
    until(lambda: shown.page.locator(".jobs tbody tr").count() == 1, why="the filter is in force")
    press("Escape")
    press("j")
    press("Enter")
    shown.page.locator("job-page .strip").wait_for()
    tab = shown.page.get_by_role("tab", name="Tables")
    tab.focus()
    press("ArrowLeft")
    shown.sees("The log has no line about this job.")
    press("ArrowLeft")
    shown.sees("Position, GTIDs")
    shown.page.get_by_role("button", name="Pause").focus()
    press("Enter")
    until(lambda: it.frontend.jobs.rows["sales", "shop"][3] == "PAUSED", why="it is paused")
    shown.sees("sales.shop: pausing")
    press("g")
    press("s")
    area = shown.page.get_by_label("Statement")
    area.fill("SELECT 40 + 2 AS answer")
    press("Control+Enter")
    shown.page.get_by_role("cell", name="42").wait_for()
    area.fill("SELEC")
    press("Control+Enter")
    shown.sees("Error 1064")
    press("Escape")
    press("g")
    press("j")
    shown.sees("1 job needs you")


def test_it_is_live(show: Callable[..., Shown], tell: Telling) -> None:
    """What changes is there in a second, while the focus and a selected text stay."""
    shown = show().open().log_in()
    shown.sees("1 job needs you")
    link = shown.page.locator(".jobs td.name a").first
    link.focus()
    shown.page.evaluate("getSelection().selectAllChildren(document.querySelector('.notice p'))")
    selected = shown.page.evaluate("String(getSelection())")
    assert "GRANT REPLICATION SLAVE" in selected
    others = [each for each in jobs() if each.db != "sandbox"]
    tell(*others, make_job_sample(id=9, db="new", name="one"))
    shown.page.locator(".jobs").get_by_role("link", name="new.one").wait_for()
    until(lambda: shown.page.locator(".jobs").get_by_text("sandbox").count() == 0, why="it is gone")
    assert shown.page.evaluate("document.activeElement.textContent") == "finance.ledger"
    assert shown.page.evaluate("String(getSelection())") == selected
    tell(make_job_sample(id=9, db="new", name="one"))
    shown.sees("All is in step")


def test_it_says_when_nobody_answers(show: Callable[..., Shown], it: Door, tell: Telling) -> None:
    """And goes on by itself, still logged in, when the frontend is back."""
    shown = show().open().log_in()
    shown.sees("1 job needs you")
    it.stop()
    shown.sees("no answer; trying again")
    tell(make_job_sample(id=9, db="new", name="one"))
    it.start()
    shown.sees("All is in step")
    until(lambda: shown.page.get_by_text("no answer").count() == 0, why="it is live again")


def test_who_may_change_nothing_has_no_buttons(show: Callable[..., Shown], it: Door, tell: Telling) -> None:
    """And sees only what is granted."""
    ada = Account(name="ada")
    it.frontend.users.create(ada, password="engine", plugin=None, if_not_exists=False)
    it.frontend.users.grant(ada, [Privilege.LOAD], job("sales", "shop"))
    shown = show().open().log_in("ada", "engine")
    shown.sees("1 job, 1 running")
    assert shown.page.get_by_role("link", name="Frontend").count() == 0
    it.frontend.users.revoke(ada, [Privilege.LOAD], job("sales", "shop"))
    tell(*jobs())
    shown.sees("No jobs yet")
    shown.open().sees("No jobs yet")
    assert shown.page.get_by_role("button", name="Resume").count() == 0


def test_stop_wants_the_name(show: Callable[..., Shown], it: Door) -> None:
    """Another one stops nothing."""
    shown = show().open("/#/jobs/sales/shop").log_in()
    for typed, state in (("sales.other", "PENDING"), ("sales.shop", "CANCELLED")):
        shown.page.get_by_role("button", name="Stop …").click()
        shown.page.get_by_label("Name of the job").fill(typed)
        shown.page.get_by_role("button", name="Stop it").click()
        shown.sees("STOP ends a job for good" if state == "PENDING" else "sales.shop: stopped")
        assert it.frontend.jobs.rows["sales", "shop"][3] == state


PAGES = ("/", "/#/jobs/sales/shop", "/#/jobs/finance/ledger", "/#/jobs/crm/people", "/#/sql", "/#/frontend")
READY = ".jobs, job-page .strip, sql-page .editor, frontend-page .card"


@pytest.mark.parametrize(
    ("size", "scheme"),
    some_slow(itertools.product(SIZES, ("light", "dark")), always=[(SIZES[0], "light"), (SIZES[1], "dark")]),
)
def test_everybody_can_use_it(show: Callable[..., Shown], size: tuple[int, int], scheme: str) -> None:
    """No page has a fault that axe knows, or scrolls sideways."""
    shown = show(scheme=scheme, size=size).open()
    faults = _faults(shown)
    shown.log_in()
    for path in PAGES:
        shown.open(path)
        shown.page.locator(READY).first.wait_for()
        shown.page.evaluate("document.fonts.ready")
        faults += [f"{path}: {each}" for each in _faults(shown)]
        wide = shown.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, path
    assert faults == []


def _faults(shown: Shown) -> list[str]:
    """By axe, if it is there; its script is no part of the page, so the policy of that does not apply."""
    if not AXE.is_file():
        pytest.skip(f"there is no {AXE}: bin/test.sh brings it")
    shown.page.evaluate(AXE.read_text() + "\n;0")
    found = shown.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]


def test_a_picture_for_the_docs(
    show: Callable[..., Shown], it: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the page as it is; RECORD_SHOTS=1 puts it into docs/images."""
    folder = SHOTS if os.environ.get("RECORD_SHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    names = ("customers", "orders", "order_lines", "products", "stock", "shipments")
    tables = [
        (1, "sales", "shop", "shop", name, "sales", name, "{}", None, 84_500 - number, 42, "STREAMING", *[None] * 4)
        for number, name in enumerate(names)
    ]
    monkeypatch.setattr(it.frontend.history, "rows", lambda table, _: tables if table == "sync_channels" else [])
    for name, path in (("page-jobs", "/"), ("page-job", "/#/jobs/sales/shop")):
        shown = show(size=(1280, 860)).open(path).log_in()
        shown.page.locator(READY).first.wait_for()
        if "shop" in path:
            shown.sees("shop.order_lines")
        shown.page.screenshot(path=folder / f"{name}.png")
        assert (folder / f"{name}.png").stat().st_size > 10_000
