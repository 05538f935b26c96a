"""Asks who listens at an address before a client of Dask does, which may wait for an answer for ever.

It also takes what other services send for sizes of arrays, and a worker's answers for a scheduler's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from whyconv.errors import UserError

START = "start one with dask scheduler, or give the address that it prints."


def require_scheduler(url: str, seconds: float) -> None:
    """Refuse an address at which no scheduler says in time that it is one."""
    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook has a running loop in this one
            kind = thread.submit(asyncio.run, _identity(url, seconds)).result()["type"]
    except TimeoutError:
        raise UserError(f"no scheduler answers at {url} within {seconds:g} s; {START}") from None
    except OSError as error:
        raise UserError(f"no scheduler answers at {url} ({_first_line(error)}); {START}") from None
    except Exception:  # of a service that speaks otherwise, anything
        raise UserError(f"what answers at {url} is no scheduler of Dask; {START}") from None
    if kind != "Scheduler":
        raise UserError(f"what answers at {url} is a {kind.lower()} of Dask and no scheduler; {START}")


async def _identity(url: str, seconds: float) -> Mapping[str, Any]:
    from distributed.comm.core import connect
    from distributed.core import send_recv
    from distributed.security import Security

    async def asked() -> Mapping[str, Any]:
        comm = await connect(url, timeout=seconds, **Security().get_connection_args("client"))
        try:
            return await send_recv(comm, op="identity")  # type: ignore[reportReturnType]
        finally:
            comm.abort()

    return await asyncio.wait_for(asked(), 1.5 * seconds)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:200]
