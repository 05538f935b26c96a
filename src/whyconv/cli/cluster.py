"""The option ``--cluster``: where trials run, if not in worker processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from whyconv.errors import UserError
from whyconv.runner.cluster.addresses import ClusterFile, named
from whyconv.runner.cluster.connecting import connected, require_dask

Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|FILE",
        help="Run trials on a Dask cluster: tcp://HOST:PORT, or a .json or .yaml file.",
    ),
]

Slots = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=100_000, help="Forecast a study on a cluster of N slots, too."),
]


def require_one(cluster: str | None, workers: int | None) -> None:
    """Refuse --workers beside --cluster, whose workers were started with their number of threads."""
    if cluster is not None and workers is not None:
        raise UserError(
            "--workers and --cluster were both given; a cluster runs one trial per thread of its Dask "
            "workers, so leave --workers out."
        )


def described(cluster: str | None, workers: int | None) -> list[str]:
    """What --dry-run shows of a cluster: the job script of a cluster file. Nothing is started."""
    require_one(cluster, workers)
    if cluster is None:
        return []
    found = named(cluster)
    if not isinstance(found, ClusterFile):
        return [f"Trials would run on the cluster at {found.url}."]
    require_dask()
    from whyconv.runner.cluster.starting import read

    recipe = read(found)
    return [f"Trials would run on a cluster of kind {recipe.kind}, started by this:", "", recipe.script()]


@contextmanager
def opened(cluster: str | None, workers: int | None) -> Iterator[Any]:
    """The cluster, connected once for all studies of a command; None if none was given."""
    require_one(cluster, workers)
    if cluster is None:
        yield None
        return
    with connected(cluster) as place:
        yield place
