"""What a run sends to every node: how to run its trials, and the files that they need."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from whyconv import system
from whyconv.runner import checkpoint
from whyconv.runner.cluster import nodes
from whyconv.runner.folder import as_user_error, refuse_odd
from whyconv.runner.pool import LOG, Errand
from whyconv.spec import to_json
from whyconv.tasks.images.places import VARIABLE

if TYPE_CHECKING:
    from distributed import Client


class Sent:
    """An errand as it travels: ``order`` is part of every chunk, ``cargo`` is fetched once by every node."""

    def __init__(self, client: Client, errand: Errand) -> None:
        folder = errand.folder.resolve()
        self.log = folder / LOG
        self._client, self._packed = client, nodes.packed(errand.loads, errand.kept_files())
        marker = f"shared-{uuid4().hex}"
        self._marker = folder / checkpoint.FOLDER / marker
        with as_user_error(errand.folder):
            refuse_odd(self._marker.parent, folder=True)
            self._marker.parent.mkdir(exist_ok=True)
            self._marker.touch()
            self.log.unlink(missing_ok=True)  # what is there may be a link or a pipe
            os.close(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.SAFE, 0o644))
        self.order = {
            "versions": nodes.versions(),
            "needs": [
                to_json(task.canonical())
                for task in errand.needs
                if not task.origin and not task.kept_files()
            ],
            "data": os.environ.get(VARIABLE, ""),
            "errand": {
                "folder": str(folder),
                "marker": marker,
                "limit": errand.limit,
                "loads": [name for name, _, _ in self._packed if name.startswith("loads/")],
                "execute": errand.execute,
                "rebuild": errand.rebuild,
            },
        }
        self.cargo: Any = ()

    def carry(self, workers: Iterable[str]) -> None:
        """Have the cargo with one of these workers, from which the others fetch it."""
        if self._packed:
            self.cargo = self._client.submit(
                _carried, self._packed, pure=False, workers=list(workers), allow_other_workers=True
            )

    def close(self) -> None:
        """Remove the sign by which nodes recognise that they share our disk."""
        with suppress(OSError):
            self._marker.unlink(missing_ok=True)
        self.cargo = ()


def _carried(packed: Any) -> Any:
    """Files as a task, not as data: Dask makes them again if the worker that holds them dies."""
    return packed
