"""Reaches a cluster and makes sure that trials can run there before anything is written."""

from __future__ import annotations

import logging
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
"""How long a scheduler may take to answer, and its first worker to be there."""

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
        return _placed(client, None, where, lambda: None, CONNECT_SECONDS)
    found = named(cluster)
    if isinstance(found, ClusterFile):
        from whyconv.runner.cluster.starting import started

        client, stop, patience, what = started(found)
        return _placed(client, what, what, stop, patience)
    client = _client(found)
    return _placed(client, None, found.url, lambda: client.close(timeout=3), CONNECT_SECONDS)


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
    from dask import config
    from distributed import Client

    for name in ("distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said in a sentence of ours
    if at.url.startswith("tls://") and not config.get("distributed.comm.tls.ca-file", None):
        raise UserError(
            f"--cluster {at.url} was given, but no certificate: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE and "
            "those of the client (docs/cluster.md)."
        )
    require_scheduler(at.url, CONNECT_SECONDS)
    try:
        return Client(at.url, timeout=CONNECT_SECONDS, set_as_default=False, name="whyconv")
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise UserError(f"the scheduler {at.url} answers no more ({said(error)}); {START}") from None


def _placed(client: Client, what: str | None, where: str, stop: Any, patience: float) -> DaskPlace:
    members = Members(client, where)
    try:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            start = f"start one with dask worker {where} --nthreads N"
            hint = start if what is None else "look at the queue, or wait longer with wait in that file"
            raise UserError(f"{where} has no worker after {patience:.0f} s; {hint}.") from None
        members.look(ANSWER_SECONDS)
        members.admit()
        return DaskPlace(client, where, members, stop)
    except BaseException:
        with suppress(Exception):
            stop()
        raise
