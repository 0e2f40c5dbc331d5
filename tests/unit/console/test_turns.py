import asyncio
from concurrent.futures import Future
from functools import partial

from syncmgr.console.turns import Turns


class Calls:
    """Calls that end when they are told to. `begun`: their names, in the order of their turns."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._open: dict[str, Future[None]] = {}
        self.begun: list[str] = []

    def ask(self, *names: str) -> None:
        """Each name's first letter is its key."""
        for name in names:
            asyncio.ensure_future(self._turns.run(name[0], partial(self._begin, name)))  # noqa: RUF006 - `_open` has it

    def _begin(self, name: str) -> "Future[None]":
        self.begun.append(name)
        self._open[name] = Future()
        return self._open[name]

    async def end(self, *names: str) -> None:
        for name in names:
            self._open.pop(name).set_result(None)
            await settled()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_key_leaves_places_to_the_others() -> None:
    """Whoever comes later with another key begins at once, and a key that has its share waits for its own calls."""

    async def run() -> None:
        calls = Calls(Turns(4, per_key=2))
        calls.ask("a1", "a2", "a3", "a4", "b1")
        await settled()
        assert calls.begun == ["a1", "a2", "b1"]
        await calls.end("b1")
        assert calls.begun == ["a1", "a2", "b1"]
        await calls.end("a1", "a2")
        assert calls.begun[3:] == ["a3", "a4"]

    asyncio.run(run())


def test_keys_take_turns_at_what_is_left() -> None:
    """Where all places are taken, each that becomes free goes to the key that has waited longest for its turn."""

    async def run() -> None:
        calls = Calls(Turns(2, per_key=2))
        calls.ask("a1", "a2", "a3", "a4", "b1", "c1")
        await settled()
        await calls.end("a1", "a2", "a3", "b1")
        assert calls.begun == ["a1", "a2", "a3", "b1", "c1", "a4"]

    asyncio.run(run())


def test_who_gives_up_is_forgotten() -> None:
    """He takes no place, and leaves nothing behind."""

    async def run() -> None:
        turns = Turns(1)
        calls = Calls(turns)
        calls.ask("a1")
        await settled()
        waiting = asyncio.ensure_future(turns.run("a", partial(calls._begin, "a2")))
        await settled()
        waiting.cancel()
        await settled()
        assert not turns._waiting
        await calls.end("a1")
        calls.ask("a3")
        await settled()
        assert calls.begun == ["a1", "a3"]

    asyncio.run(run())
