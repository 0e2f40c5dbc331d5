"""A result that its client fetches in pieces.

Owns: the rows between two fetches of a prepared statement's cursor.
Must not know: packets' order, sessions.
"""

from collections.abc import Callable, Iterator

from syncmgr.console.wire.results import Row, Rows


class Cursor:
    """The rows of one result, encoded as they are fetched. A cursor that is not read to its end must be closed."""

    def __init__(self, result: Rows, encode: Callable[[Row], bytes]) -> None:
        self._batches = result.batches
        self._encode = encode
        self._batch: Iterator[Row] = iter(())

    async def next(self) -> bytes | None:
        """The next row; None at the end."""
        while True:
            row = next(self._batch, None)
            if row is not None:
                return self._encode(row)
            batch = await anext(self._batches, None)
            if batch is None:
                return None
            self._batch = iter(batch)

    async def close(self) -> None:
        """Ends the computation of the rows."""
        await self._batches.aclose()
