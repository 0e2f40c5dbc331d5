import asyncio

import pytest

from syncmgr.console.single_flight import SingleFlight


class Counted:
    """An answer that tells how often it was begun, and waits until it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = asyncio.Semaphore(0)

    async def __call__(self) -> int:
        self.begun += 1
        mine = self.begun
        await self.go.acquire()
        return mine


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_nobody_gets_an_answer_begun_before_he_asked() -> None:
    """Who asks while one is computed waits for the next, which is one for all of them."""

    async def run() -> None:
        shared, answer = SingleFlight[int](), Counted()
        first = asyncio.ensure_future(shared.ask("q", answer))
        await settled()
        later = [asyncio.ensure_future(shared.ask("q", answer)) for _ in range(5)]
        await settled()
        assert answer.begun == 1
        answer.go.release()
        assert await first == 1
        await settled()
        last = asyncio.ensure_future(shared.ask("q", answer))
        answer.go.release()
        assert await asyncio.gather(*later) == [2] * 5
        answer.go.release()
        assert await last == 3

    asyncio.run(run())


def test_another_question_does_not_wait() -> None:
    """Each has its own turns."""

    async def run() -> None:
        shared, slow, quick = SingleFlight[int](), Counted(), Counted()
        waiting = asyncio.ensure_future(shared.ask("slow", slow))
        await settled()
        quick.go.release()
        assert await shared.ask("quick", quick) == 1
        slow.go.release()
        assert await waiting == 1

    asyncio.run(run())


def test_who_is_cancelled_takes_nothing_from_the_others() -> None:
    """The first of those who wait can go; an error reaches all who stay, and the next is asked anew."""

    async def run() -> None:
        shared, go = SingleFlight[int](), asyncio.Event()

        async def fails() -> int:
            await go.wait()
            raise ValueError("no")

        asking = [asyncio.ensure_future(shared.ask("q", fails)) for _ in range(3)]
        await settled()
        asking[0].cancel()
        go.set()
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in outcomes] == [asyncio.CancelledError, ValueError, ValueError]
        with pytest.raises(ValueError, match="no"):
            await shared.ask("q", fails)

    asyncio.run(run())
