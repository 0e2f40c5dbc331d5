"""Alerts from what is measured to a receiver that is there, away, slow or lies."""

import contextlib
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncmgr.alerts import delivery
from syncmgr.alerts.delivery import Delivery, Receiver
from syncmgr.alerts.watching import Watching
from syncmgr.alerts.webhook import SIGNATURE, NotReceivedError, post
from syncmgr.console.login.tls import load_identity
from syncmgr.errors import Code, SyncError
from syncmgr.job.alerts import incident
from syncmgr.job.alerts.condition import AlertEvent, AlertKey, Condition, Thresholds
from syncmgr.job.alerts.incident import Status
from syncmgr.job.backoff import Retry
from syncmgr.job.metrics.sample import JobSample, Trouble
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.support.servers.chat import Chat
from tests.support.servers.databases import Make
from tests.support.servers.listening import listening
from tests.support.slow import DATABASES, on_servers
from tests.support.until import until
from tests.unit.job.metrics.factories import make_job_sample, make_sample

DENIED = Trouble(error=20103, message="lacks SELECT", advice="Run the GRANT")


@pytest.fixture
def chat() -> Iterator[Chat]:
    started = Chat()
    yield started
    started.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield store
    store.close()


class Watched:
    """A job as it is measured, and who is told of it."""

    def __init__(self, store: Store, url: str) -> None:
        self.store, self.url = store, url
        self.delivery = Delivery(store.alerts, lambda: Receiver(url=self.url, secret="key", repeat_second=0))
        limits = Thresholds(lag_second=60, for_second=0, disk_bytes=0)
        self._watching = Watching(store.alerts, lambda: limits, self.delivery.wake)

    def measure(self, *jobs: JobSample, **fields: Any) -> None:
        self._watching.heard(make_sample(*jobs, **({"at": time.time()} | fields)))


@contextlib.contextmanager
def watched(store: Store, url: str) -> Iterator[Watched]:
    made = Watched(store, url)
    made.delivery.start()
    yield made
    made.delivery.stop()


def stopped(name: str = "shop") -> JobSample:
    return make_job_sample(name=name, needs_operator=True, trouble=DENIED)


def test_beginning_and_end_are_received_once(store: Store, chat: Chat) -> None:
    """In order, signed, with the text that a chat shows; what stays the case is not told again."""
    with watched(store, chat.url) as alerts:
        for _ in range(3):
            alerts.measure(stopped())
        until(lambda: chat.received, why="the beginning")
        alerts.measure(make_job_sample())
        until(lambda: len(chat.received) == 2, why="the end")
    assert chat.ids() == ["1-firing", "1-resolved"]
    path, body, headers = chat.received[0]
    assert path == "/hook?key=hidden"
    assert headers[SIGNATURE.lower()] == f"sha256={hmac.new(b'key', body, hashlib.sha256).hexdigest()}"
    assert json.loads(body)["text"].endswith("What to do: Run the GRANT")


@pytest.mark.parametrize("status", [302, 404, 500])
def test_what_is_not_received_is_sent_again_in_order(
    store: Store, chat: Chat, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Also after the thing is over: its beginning first; nothing follows a redirect."""
    monkeypatch.setattr(incident, "ALERT", Retry(first=0.05, most=0.1))
    monkeypatch.setattr(delivery, "LOOK_SECOND", 0.05)
    chat.status = status
    with watched(store, chat.url) as alerts:
        alerts.measure(stopped())
        until(lambda: len(chat.received) >= 2, why="attempts")
        alerts.measure(stopped("other"))
        alerts.measure(make_job_sample(), stopped("other"))
        chat.status = 200
        until(lambda: "1-resolved" in chat.ids() and "2-firing" in chat.ids(), why="all of it")
        assert not [each for each in store.alerts.all() if each.reason]
    assert {path for path, _, _ in chat.received} == {"/hook?key=hidden"}
    ids = chat.ids()
    assert ids.index("2-firing") > ids.index("1-firing") + 1


def test_a_message_that_the_receiver_never_takes_holds_up_no_other(
    store: Store, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat refuses one for what is in it, and nobody would be told of anything else until that has ended."""
    monkeypatch.setattr(incident, "ALERT", Retry(first=0.05, most=0.1))
    monkeypatch.setattr(delivery, "LOOK_SECOND", 0.05)
    chat.dislikes = b"demo.shop"
    with watched(store, chat.url) as alerts:
        alerts.measure(stopped())
        until(lambda: chat.ids().count("1-firing") > 1, why="attempts")
        alerts.measure(stopped(), stopped("other"))
        until(lambda: "2-firing" in chat.ids(), why="the next one")
        count = len(chat.ids())
        until(lambda: len(chat.ids()) > count, why="another attempt")
        chat.dislikes = None
        until(lambda: not [each for each in store.alerts.all() if each.sent_at is None], why="the first one")
    assert chat.ids().count("2-firing") == 1


def test_a_message_outlives_the_process_that_raised_it(store: Store, chat: Chat) -> None:
    """Killed before it was sent, or while nobody was there."""
    Watched(store, chat.url).measure(stopped())
    with watched(store, chat.url):
        until(lambda: chat.ids() == ["1-firing"], why="the next process sends it")


def test_metadata_that_are_down_end_nothing(store: Store, chat: Chat) -> None:
    """A sample of then has the jobs of before: what it says of them is old."""
    with watched(store, chat.url) as alerts:
        alerts.measure(stopped())
        alerts.measure(meta_up=False)
        assert [each.resolved_at for each in store.alerts.all()] == [None]


def test_a_test_says_what_is_wrong(store: Store, chat: Chat) -> None:
    """Without a URL, with a receiver that refuses, with none; never with the URL, which is a secret."""
    alerts = Watched(store, "")
    with pytest.raises(SyncError) as caught:
        alerts.delivery.test()
    assert caught.value.code is Code.NO_WEBHOOK
    alerts.url = chat.url
    alerts.delivery.test()
    assert json.loads(chat.received[0][1])["event"] == "test"
    chat.status = 403
    for url, words in ((chat.url, "answered 403"), ("http://127.0.0.1:1/hidden", "refused"), ("http:///x", "no host")):
        alerts.url = url
        with pytest.raises(SyncError, match=words) as caught:
            alerts.delivery.test()
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("place", ["127.0.0.1:1/key x", "127.0.0.1:1/k\u00e9y", f"{'key' * 30}.com/", "a..key/"])
def test_what_no_url_has_is_a_failure_like_others(place: str) -> None:
    """It neither ends the thread's turn with a stack, nor is the URL, which is a secret, in what is said of it."""
    with pytest.raises(NotReceivedError, match="no URL has") as caught:
        post(f"http://{place}", "key", b"{}")
    assert place not in str(caught.value)
    assert "key" not in str(caught.value)


def test_a_receiver_that_says_nothing_is_given_up() -> None:
    """After the time limit."""
    hung = threading.Event()
    with listening(lambda _: hung.wait(30) and None) as listener, pytest.raises(NotReceivedError, match="in time"):
        post(f"http://127.0.0.1:{listener.getsockname()[1]}/", "", b"{}", timeout=0.3)
    hung.set()


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\nx: "], ids=["status", "header"])
def test_an_answer_byte_by_byte_is_given_up(said: bytes) -> None:
    """After the time limit of the whole: each byte would begin it anew, and no other message would ever be sent."""

    def drip(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            client.sendall(said)
            while True:
                time.sleep(0.05)
                client.sendall(b"a")

    begun = time.monotonic()
    with listening(drip) as listener, pytest.raises(NotReceivedError, match="in time"):
        post(f"http://127.0.0.1:{listener.getsockname()[1]}/", "", b"{}", timeout=0.5)
    assert time.monotonic() - begun < 10


def test_a_certificate_is_verified(tmp_path: Path) -> None:
    """A message is not for whoever answers at the address."""
    identity = load_identity(tmp_path)

    def serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError), identity.context.wrap_socket(client, server_side=True) as over_tls:
            over_tls.recv(1)

    with listening(serve) as listener, pytest.raises(NotReceivedError, match="CERTIFICATE_VERIFY_FAILED"):
        post(f"https://127.0.0.1:{listener.getsockname()[1]}/", "", b"{}")


@pytest.mark.mysql
@on_servers("mysql", fixture="make", among=DATABASES)
def test_incidents_are_kept_by_every_database(make: Make, tmp_path: Path) -> None:
    """Of meta_url, with texts of any characters."""
    key = AlertKey(event=AlertEvent.TABLE_STOPPED, job="demo.shop", subject="shop.😀")
    with contextlib.closing(metadata.opened(make(), Vault(tmp_path / "secret.key"))) as store:
        store.alerts.change([Condition(key=key, text="no 😀", error=1, advice="GRANT")], [], 10.0)
        [found] = store.alerts.unsent()
        assert (found.key, found.text, found.error, found.fired_at) == (key, "no 😀", 1, 10.0)
        store.alerts.failed(found.id, "refused", 11.0)
        store.alerts.sent(found.id, Status.FIRING, 12.0)
        store.alerts.change([], [found.id], 13.0)
        store.alerts.sent(found.id, Status.RESOLVED, 14.0)
        assert store.alerts.unsent() == []
