"""Questions that may be given up: until when, and whom that wakes."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.sources import cancellation
from syncmgr.sources.cancellation import Cancellation
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until

SYN_SENT: Final = 2


def ends(call: Callable[[], object]) -> None:
    """As one that was given up."""
    with pytest.raises(SyncError) as caught:
        call()
    assert caught.value.code is Code.INTERRUPTED


def test_what_was_given_up_asks_nothing_more() -> None:
    """No socket, no next question, and no change."""
    mine = Cancellation()
    assert mine.give_up()
    with mine.here(), socket.socket() as made:
        ends(cancellation.check)
        ends(lambda: cancellation.opened(made))
        ends(cancellation.has_answers)
    assert mine.give_up()


def test_time_does_not_end_what_has_all_answers() -> None:
    """What it changes by then is undone if somebody gives it up, who may have all the time that takes."""
    mine = Cancellation()
    with mine.here():
        cancellation.has_answers()
        assert not mine.time_is_over()
        cancellation.check()
        assert mine.give_up()
        ends(cancellation.is_storing)
    other = Cancellation()
    assert other.time_is_over()
    assert other.is_given_up


def test_what_is_being_stored_is_not_given_up() -> None:
    """It is finished, and may still ask; who is too late is told so."""
    mine, (left, right) = Cancellation(), socket.socketpair()
    with left, right, mine.here():
        cancellation.opened(left)
        cancellation.is_storing()
        assert not mine.give_up()
        assert not mine.time_is_over()
        cancellation.check()
        right.send(b"x")
        assert left.recv(1) == b"x"


def test_an_error_of_what_was_given_up_is_told_as_that() -> None:
    """Whatever a shut socket was taken for."""

    def asked(mine: Cancellation) -> None:
        with mine.here():
            mine.give_up()
            raise SyncError(Code.SOURCE_UNREACHABLE, address="a", reason="it has gone")

    ends(lambda: asked(Cancellation()))


def test_threads_ask_each_for_its_own() -> None:
    """What one is given up for the others do not hear."""
    mine, other = Cancellation(), Cancellation()
    begun, given_up = threading.Event(), threading.Event()

    def goes_on() -> None:
        with other.here():
            begun.set()
            given_up.wait(HANG_SECOND)
            cancellation.check()

    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(goes_on)
        begun.wait(HANG_SECOND)
        with mine.here():
            mine.give_up()
            given_up.set()
            beside.result(HANG_SECOND)
            ends(cancellation.check)
    cancellation.check()  # here nobody asks


def state_of(made: socket.socket) -> int:
    return made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


@pytest.fixture
def deaf() -> Iterator[tuple[str, int]]:
    """Where no connection is taken up: the queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()


def test_a_connection_that_is_being_made_is_given_up(deaf: tuple[str, int]) -> None:
    """At once, though nobody answers."""
    mine = Cancellation()
    sockets: list[socket.socket] = []

    def tell(made: socket.socket) -> None:
        mine.opened(made)
        sockets.append(made)

    def connect() -> None:
        with mine.interrupted():
            try:
                cancellation.connected(*deaf, HANG_SECOND, tell)
            except OSError as error:
                raise SyncError(Code.SOURCE_UNREACHABLE, address="a", reason=error) from error

    with ThreadPoolExecutor(1) as pool:
        connecting = pool.submit(connect)
        until(lambda: sockets and state_of(sockets[0]) == SYN_SENT, why="the attempt")
        mine.give_up()
        ends(lambda: connecting.result(PROMPT_SECOND))
