"""What a node is asked before it runs trials: versions, the data that trials read, and files by digest.

These functions run in Dask workers, in the scheduler, and here.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whyconv import registry, system
from whyconv.errors import UserError
from whyconv.runner.folder import write_whole
from whyconv.spec import build
from whyconv.tasks.images.places import VARIABLE

COMPARED = ("whyconv", "jax", "jaxlib", "numpy")
"""Packages whose versions must be equal everywhere; others only show in a row's environment."""
Cargo = Iterable[tuple[str, str, bytes]]
"""Files as (path below the scratch folder, SHA-256, content)."""


@cache
def versions() -> dict[str, str]:
    """What must be the same on every node."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in COMPARED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    found["whyconv"] += f" (source {_source()})"
    return found


def _source() -> str:
    """A digest of the code of this package, which changes more often than its version."""
    root, sha = Path(registry.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()[:8]


def differing(wanted: Mapping[str, str], there: Mapping[str, str]) -> str:
    """How another process differs, in a clause; empty if it does not.

    >>> differing({"jax": "1.2", "numpy": "2"}, {"jax": "1.1", "numpy": "2"})
    'has jax 1.1, here it is 1.2'
    """
    others = {name: there.get(name, "absent") for name in wanted if there.get(name) != wanted[name]}
    told = [f"{name} {other}, here it is {wanted[name]}" for name, other in others.items()]
    return f"has {'; '.join(told)}" if told else ""


def report() -> dict[str, Any]:
    """Versions and free memory of the node that this process is on."""
    return {"versions": versions(), "memory": system.free_memory()}


_searching = threading.Lock()
_usable: set[tuple[str, str]] = set()
"""Tasks whose data were found and checked here, with the coordinator's folder. What lacks may come."""


@contextmanager
def searching(folder: str) -> Iterator[None]:
    """Name the coordinator's folder of image sets for a moment, where a node has none of its own.

    A pool that begins meanwhile keeps it. The Dask worker does not, since the next run may name another.
    """
    with _searching:
        ours = bool(folder) and not os.environ.get(VARIABLE) and Path(folder).is_dir()
        if ours:
            os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            if ours:
                del os.environ[VARIABLE]


def lacking(needs: tuple[str, ...], folder: str) -> str:
    """Why the data of these tasks (JSON of their specs) cannot be used here, in a clause; empty if they can.

    ``folder`` is the coordinator's folder of image sets, searched where a node has none of its own. Nothing
    is downloaded: a thousand nodes would do it at once.
    """
    if _usable.issuperset((need, folder) for need in needs):
        return ""
    with searching(folder):
        for need in needs:
            try:
                task = build("task", json.loads(need))
                if why := task.absent():
                    return f"lacks data: {why}"
                task.fetch()
            except UserError as error:
                return f"cannot use its data: {error}"
            _usable.add((need, folder))
    return ""


def unpack(cargo: Cargo, room: Path) -> None:
    """Write files that are not there yet, each checked against its digest."""
    for name, digest, content in cargo:
        path = room / name
        if not path.is_relative_to(room) or ".." in path.parts:
            raise UserError(f"a file named {name} was sent; names of files lie below the scratch folder.")
        if hashlib.sha256(content).hexdigest() != digest:
            raise UserError(f"the file {path.name} arrived damaged; run the same command again.")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)


def packed(loads: Iterable[str], kept: Iterable[Path]) -> list[tuple[str, str, bytes]]:
    """The user's own files of pieces, and data kept with the rows, as they are sent."""
    found = []
    for file in loads:
        path = Path(file)
        found.append((f"loads/{registry.file_digest(path)}/{path.name}", path))
    found += [(f"kept/data/{path.name}", path) for path in kept]
    contents = [(name, path.read_bytes()) for name, path in found]
    return [(name, hashlib.sha256(content).hexdigest(), content) for name, content in contents]
