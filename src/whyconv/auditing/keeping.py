"""The copy of a user's data in the folder of its audit: one file, named by its digest."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from whyconv.auditing.dataset import Dataset
from whyconv.lazy import np
from whyconv.runner import folder as folders
from whyconv.tasks.own_data import FOLDER


def digest(dataset: Dataset) -> str:
    """SHA-256 of type, shape and bytes of the arrays: the same data have the same name anywhere."""
    sha = hashlib.sha256()
    for given in (dataset.x, dataset.y, dataset.groups):
        if given is not None:
            array = np.ascontiguousarray(given)
            sha.update(f"|{array.dtype.str}{array.shape}|".encode())
            sha.update(array.tobytes())
    return sha.hexdigest()[:32]


def keep(dataset: Dataset, folder: Path, name: str) -> None:
    """Write the copy, unless it is there."""
    file = folder / FOLDER / f"{name}.npz"
    if file.is_file():
        return
    folders.prepare(folder / FOLDER)
    parts = {"x": dataset.x, "y": dataset.y}
    if dataset.groups is not None:
        parts["groups"] = dataset.groups
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **parts)
    folders.write_whole(file, buffer.getvalue())
