"""Reaches a cluster and makes sure that trials can run there before anything is written."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv.errors import UserError, said
from whyconv.runner.cluster.addresses import Address, ClusterFile, named
from whyconv.runner.cluster.asking import START, require_scheduler
from whyconv.runner.cluster.members import ANSWER_SECONDS, Members
from whyconv.runner.cluster.place import DaskPlace

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer."""
WORKER_SECONDS = 30.0
"""How long its first worker may take to be there, which may be starting just now."""

AGAIN_SECONDS = 0.2
"""How long to wait for other workers if all that were there went away."""

Given = Any
"""An address, a file, a ``distributed.Client``, or a place that is open already."""


@contextmanager
def connected(cluster: Given) -> Iterator[DaskPlace]:
    """The place that ``cluster`` stands for, closed at the end unless it was given open."""
    if isinstance(cluster, DaskPlace):
        yield cluster
        return
    place = reached(cluster)
    try:
        yield place
    finally:
        place.close()


def reached(cluster: Given) -> DaskPlace:
    """Connect, wait for a worker, and compare versions; refused in a sentence."""
    require_dask()
    if not isinstance(cluster, str | Path):
        client = _clients_own(cluster)
        where: str = client.scheduler.address  # type: ignore[reportOptionalMemberAccess]
        return _placed(client, None, where, lambda: None, WORKER_SECONDS)
    found = named(cluster)
    if isinstance(found, ClusterFile):
        from whyconv.runner.cluster.starting import started

        client, stop, patience, what = started(found)
        return _placed(client, what, what, stop, patience)
    client = _client(found)
    return _placed(client, None, found.url, lambda: client.close(timeout=3), WORKER_SECONDS)


def require_dask() -> None:
    """Refuse if the extra is not installed."""
    if any(find_spec(name) is None for name in ("distributed", "dask_jobqueue", "yaml")):
        raise UserError("--cluster needs Dask, which is not installed; install whyconv[cluster].")


def _clients_own(cluster: Given) -> Client:
    from distributed import Client

    if not isinstance(cluster, Client) or cluster.asynchronous or cluster.status != "running":
        raise UserError(
            f"cluster = {cluster!r:.80} was given; give the address of a scheduler, a file, or a "
            "distributed.Client that is connected and not asynchronous."
        )
    return cluster


def _client(at: Address) -> Client:
    from distributed import Client

    for name in ("distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said in a sentence of ours
    if at.url.startswith("tls://"):
        _require_certificates(at.url)
    require_scheduler(at.url, CONNECT_SECONDS)
    try:
        return Client(at.url, timeout=CONNECT_SECONDS, set_as_default=False, name="whyconv")
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise UserError(f"the scheduler {at.url} answers no more ({said(error)}); {START}") from None


def _require_certificates(url: str) -> None:
    from dask import config
    from distributed.security import Security

    names = ("ca-file", "client.cert", "client.key")
    if missing := [name for name in names if not config.get(f"distributed.comm.tls.{name}", None)]:
        variables = (name.upper().replace("-", "_").replace(".", "__") for name in missing)
        raise UserError(
            f"--cluster {url} was given, but no certificate: set "
            f"{', '.join(f'DASK_DISTRIBUTED__COMM__TLS__{each}' for each in variables)} (docs/cluster.md)."
        )
    try:
        Security().get_connection_args("client")
    except OSError as error:
        raise UserError(
            f"the certificates for {url} cannot be used ({said(error)}); see that the files that "
            "DASK_DISTRIBUTED__COMM__TLS__... name are there and belong together (docs/cluster.md)."
        ) from None


def _await_worker(client: Client, what: str | None, where: str, patience: float) -> None:
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        start = f"start one with dask worker {where} --nthreads N"
        hint = start if what is None else "look at the queue, or wait longer with wait in that file"
        raise UserError(f"{where} has no worker after {patience:.0f} s; {hint}.") from None


def _placed(client: Client, what: str | None, where: str, stop: Any, patience: float) -> DaskPlace:
    members, deadline = Members(client, where), time.monotonic() + patience
    try:
        while not members.threads:  # workers may come and go meanwhile
            _await_worker(client, what, where, patience)
            members.look(ANSWER_SECONDS)
            members.admit()
            if not members.threads and time.monotonic() > deadline:
                raise UserError(f"no worker of {where} answers; end those that are there, and start others.")
            time.sleep(0 if members.threads else AGAIN_SECONDS)
        return DaskPlace(client, where, members, stop)
    except BaseException:
        with suppress(Exception):
            stop()
        raise
