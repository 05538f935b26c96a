"""Which Dask workers there are, and which of them are used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from whyconv.errors import UserError, said
from whyconv.runner.cluster import nodes
from whyconv.runner.forecast import footprint

if TYPE_CHECKING:
    from distributed import Client

    from whyconv.runner.events import Options
    from whyconv.trial import Trial

LOOK_SECONDS = 1.0
"""How often the scheduler is asked who is there."""
SILENT_SECONDS = 30.0
"""A worker that was not heard of for so long, while others were, gets no work until it is heard again."""
ANSWER_SECONDS = 60.0
"""A scheduler, or a worker that is asked for its versions, may take this long to answer."""
ALONE_SECONDS = 300.0
"""End the run after this long without any worker: batch systems and nannies need time for a new one."""
RESUME = "every row acknowledged so far is kept: run the same command again to continue."


class Members:
    """The workers of a cluster, asked of its scheduler once per second at most."""

    def __init__(self, client: Client, where: str, patience: float = ALONE_SECONDS) -> None:
        self._client, self._where, self._patience = client, where, patience
        self.threads: dict[str, int] = {}
        """The slots of each worker that is used, by its address."""
        self.refused: set[str] = set()
        """The addresses of workers that are not used."""
        self._memory: dict[str, int | None] = {}
        self._looked = -float("inf")
        self._question: Future[Mapping[str, Any]] | None = None
        """What the scheduler was asked and has not answered yet."""
        self._waited = 0.0
        """For how many seconds it has not answered."""
        self._seen = time.monotonic()

    @property
    def slots(self) -> int:
        return sum(self.threads.values())

    def refuse(self, address: str, why: str) -> None:
        """Use a worker no more; an error if there is no other, not even one that is silent just now."""
        self.refused.add(address)
        self.threads.pop(address, None)
        if not self.threads and self.refused.issuperset(self._there()):
            raise UserError(
                f"the worker {address} {why}; no other worker of {self._where} is left: mend that and run "
                "the same command again."
            )

    def admit(self) -> None:
        """Compare the versions of scheduler and workers with ours, and see what memory there is."""
        try:
            there: dict[str, str] = self._client.run_on_scheduler(  # type: ignore[reportAssignmentType]
                nodes.versions, callback_timeout=ANSWER_SECONDS
            )
            found: dict[str, Any] = self._client.sync(self._reports)  # type: ignore[reportAssignmentType]
        except Exception as error:
            raise UserError(
                f"the scheduler {self._where} could not be asked for its versions ({said(error)}); install "
                "whyconv[cluster] there, too, with the same versions as here (requirements.lock)."
            ) from None
        others = {f"the scheduler {self._where}": nodes.differing(nodes.versions(), there)}
        for address, about in found.items():
            if isinstance(about, OSError):  # it is silent, or gone since
                self.threads.pop(address, None)
            elif isinstance(about, BaseException):
                others[f"the worker {address}"] = f"has no usable whyconv ({said(about)})"
            else:
                others[f"the worker {address}"] = nodes.differing(nodes.versions(), about["versions"])
                self._memory[address] = about["memory"]
        wrong = [f"{who} {why}" for who, why in others.items() if why]
        if wrong:
            more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
            raise UserError(
                f"{'; '.join(wrong[:3])}{more}: rows would not be comparable; install the same versions "
                "there (requirements.lock), or stop it."
            )

    async def _reports(self) -> dict[str, Any]:
        """What every worker tells of itself; an error in place of that if it cannot or does not answer."""

        async def asked(address: str) -> Any:
            told = await self._client.run(  # type: ignore[reportGeneralTypeIssues]
                nodes.report, workers=[address], on_error="return",
                asynchronous=True, callback_timeout=ANSWER_SECONDS,
            )  # fmt: skip
            return told.get(address, OSError("it is gone"))

        addresses = list(self.threads)
        reports = await asyncio.gather(*map(asked, addresses), return_exceptions=True)
        return dict(zip(addresses, reports, strict=True))

    def require_memory(self, todo: Sequence[Trial], options: Options) -> None:
        """Refuse trials of which a worker cannot hold one for each of its threads, unless forced."""
        each = footprint(todo)
        for address, threads in () if options.force else self.threads.items():
            free = self._memory.get(address)
            if free is not None and (busy := min(threads, max(1, len(todo)))) * each > free:
                raise UserError(
                    f"the worker {address} has {free / 1e9:.1f} GB of free memory for {busy} trials of "
                    f"{each / 1e9:.1f} GB at a time; start it with --nthreads {max(1, int(free // each))}, "
                    "or run it anyway with --force."
                )

    def look(self, seconds: float = 0.0) -> dict[str, bool]:
        """See who is there; the workers that were here before and are gone (True) or silent (False).

        The scheduler is asked about once a second, and its answer is seen by a later look; ``seconds``: ask
        now, and wait so long.
        """
        if (there := self._answered(seconds)) is None:
            return {}
        before, self.threads = self.threads, self._heard(there)
        if self.threads:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > self._patience:
            raise UserError(
                f"{self._where} has had no worker for {self._patience:.0f} s; rows so far are kept: start "
                "workers and run the same command again."
            )
        return {address: address not in there for address in before if address not in self.threads}

    def _answered(self, seconds: float) -> Mapping[str, Any] | None:
        """The workers that the scheduler knows; None if it is not time to ask, or it has not answered yet."""
        now = time.monotonic()
        if self._question is None:
            if not seconds and now - self._looked < LOOK_SECONDS + len(self.threads) / 200:
                return None
            self._question = self._ask()
        else:
            self._waited += min(now - self._looked, 1.0)  # this process may have been stopped
        self._looked = now
        if wait([self._question], seconds).not_done:
            if self._waited > ANSWER_SECONDS:
                raise self._silent(f"for {ANSWER_SECONDS:.0f} s")
            return None
        question, self._question = self._question, None
        try:
            there = question.result()["workers"]
        except Exception as error:
            if self._client.status != "running" or self._waited > ANSWER_SECONDS:
                raise self._silent(said(error)) from None
            return None  # it is asked again
        self._waited = 0.0
        return there

    def _ask(self) -> Future[Mapping[str, Any]]:
        """Ask the scheduler who is there. A client of Dask would wait for it without end."""
        rpc, loop = self._client.scheduler, self._client.loop.asyncio_loop  # type: ignore[reportAttributeAccessIssue]
        if rpc is None:
            raise self._silent("the connection was closed")
        return asyncio.run_coroutine_threadsafe(rpc.identity(n_workers=-1), loop)  # type: ignore[reportReturnType]

    def _there(self) -> Mapping[str, Any]:
        """The workers that the scheduler knows now."""
        try:
            return self._ask().result(ANSWER_SECONDS)["workers"]
        except Exception as error:
            raise self._silent(said(error)) from None

    def _silent(self, why: str) -> UserError:
        return UserError(f"the scheduler {self._where} does not answer any more ({why}); {RESUME}")

    def _heard(self, there: Mapping[str, Any]) -> dict[str, int]:
        """The slots of the workers that are used: neither refused, nor closing, nor silent."""
        latest = max((about["last_seen"] for about in there.values()), default=0.0)
        return {
            address: about["nthreads"]
            for address, about in there.items()
            if address not in self.refused
            and about["status"] in ("running", "paused")
            and latest - about["last_seen"] < SILENT_SECONDS
        }
