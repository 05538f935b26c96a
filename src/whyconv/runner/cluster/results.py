"""The results of chunks, fetched from each worker apart: one that does not answer holds up no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from whyconv.runner.cluster.chunks import Chunk

if TYPE_CHECKING:
    from distributed import Client

Answer = Future[dict[str, Any]]
"""To come from the scheduler: ``data`` by name, unless a worker could not be asked."""


class Results:
    """Asks for results, with one question per worker; ``told`` gets its address when it is answered."""

    def __init__(self, client: Client, told: Callable[[str], None]) -> None:
        self._client, self._told = client, told
        self._wanted: dict[str, list[Chunk]] = {}
        """Chunks that have ended and are not asked for yet, by the address of their worker."""
        self._asked: dict[str, tuple[list[Chunk], Answer]] = {}

    def want(self, chunk: Chunk) -> None:
        self._wanted.setdefault(chunk.address, []).append(chunk)

    def answers(self) -> Iterator[tuple[list[Chunk], Answer]]:
        """The answers that are there, each with the chunks asked for; asks for what is wanted."""
        for address in [each for each, (_, answer) in self._asked.items() if answer.done()]:
            if address in self._asked:  # not forgotten meanwhile
                yield self._asked.pop(address)
        for address in [each for each in self._wanted if each not in self._asked]:
            chunks = self._wanted.pop(address)
            answer = self._ask([chunk.name for chunk in chunks])
            self._asked[address] = chunks, answer
            answer.add_done_callback(lambda _, address=address: self._told(address))

    def forget(self, address: str) -> None:
        """A worker is gone or not used any more."""
        self._wanted.pop(address, None)
        if address in self._asked:
            self._asked.pop(address)[1].cancel()

    def clear(self) -> None:
        for address in {*self._wanted, *self._asked}:
            self.forget(address)

    def _ask(self, names: list[str]) -> Answer:
        """Ask the scheduler. A client of Dask joins such questions into one, and waits for the slowest."""
        rpc, loop = self._client.scheduler, self._client.loop.asyncio_loop  # type: ignore[reportAttributeAccessIssue]
        if rpc is None:  # the connection was closed
            answer = Answer()
            answer.set_exception(OSError())
            return answer
        return asyncio.run_coroutine_threadsafe(rpc.gather(keys=names), loop)  # type: ignore[reportReturnType]
