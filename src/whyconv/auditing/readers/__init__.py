"""Files of data, one module per format, found by the suffix of a file's name.

A reader is a function under ``@reader(".suffix", ...)``: it gets the path and what the user :class:`Asked`
for, and gives arrays. None unpickles or executes anything, and each asks for room before it makes arrays.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from whyconv import system
from whyconv.auditing.bad_data import BadData
from whyconv.auditing.dataset import Dataset, from_arrays
from whyconv.auditing.features import Channels, Lengths

FOLDER = "a folder"
"""The suffix of folders."""


@dataclass(frozen=True)
class Asked:
    """What the user said about a file: names of the labels, the features and the groups in it.

    ``memory`` is the cap in GB.
    """

    label: str | None = None
    x: str | None = None
    groups: str | None = None
    memory: float | None = None


@dataclass(frozen=True)
class Read:
    """What a file holds, in the words of :func:`~whyconv.auditing.dataset.from_arrays`.

    ``regression``: the file itself says that labels are real targets.
    """

    X: Any
    y: Any
    groups: Any = None
    grid: str = "auto"
    channels: Channels | None = None
    regression: bool = False


Reader = Callable[[Path, Asked], Read]
_READERS: dict[str, Reader] = {}


def reader(*suffixes: str) -> Callable[[Reader], Reader]:
    """Register a reader for names that end so."""

    def register(function: Reader) -> Reader:
        _READERS.update(dict.fromkeys(suffixes, function))
        return function

    return register


@cache
def readers() -> dict[str, Reader]:
    """Readers by suffix; every module of this folder is imported."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return _READERS


def read(
    path: Path,
    asked: Asked,
    grid: str = "auto",
    channels: Channels | None = None,
    metric: str = "auto",
    lengths: Lengths | None = None,
) -> Dataset:
    """The data in a file or folder."""
    kind = FOLDER if _mode(path) is stat.S_IFDIR else path.suffix.lower()
    if kind not in readers():
        raise BadData(_unknown(path, kind))
    found = readers()[kind](path, asked)
    if found.regression and metric not in ("auto", "mse"):
        raise BadData(f"{path.name} says that it holds real targets; give --metric mse, not {metric}.")
    return from_arrays(
        found.X,
        found.y,
        found.groups,
        found.grid if grid == "auto" else grid,
        channels or found.channels,
        "mse" if found.regression else metric,
        path.stem if kind != FOLDER else path.resolve().name,
        lengths=lengths,
        memory=asked.memory,
    )


def _mode(path: Path) -> int:
    """The type of a file or folder; links and whatever is neither are refused."""
    try:
        mode = stat.S_IFMT(path.lstat().st_mode)
    except OSError as error:
        raise BadData(f"{path}: {error.strerror or error}; give a file or folder of data.") from error
    if mode == stat.S_IFLNK:
        raise BadData(f"{path} is a link; give what it points to, {os.path.realpath(path)}.")
    if mode == stat.S_IFDIR:
        return stat.S_IFDIR
    if mode != stat.S_IFREG:
        raise BadData(f"{path} is neither a file nor a folder; give a file or folder of data.")
    return stat.S_IFREG


def _unknown(path: Path, kind: str) -> str:
    known = ", ".join(sorted(set(readers()) - {FOLDER}))
    ends = f"ends in {kind}" if kind else "has no ending"
    if kind in (".pkl", ".pickle", ".joblib", ".pt", ".pth"):
        ends += ", a pickle, and pickles run code, so they are never loaded"
    return (
        f"{path.name} {ends}; give {known} or a folder with a subfolder per class: from Python, save arrays "
        "with "
        "numpy.savez('data.npz', X=X, y=y)."
    )


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A plain file to read from, never a link, a pipe or a device."""
    if _mode(path) != stat.S_IFREG:
        raise BadData(f"{path} is a folder; give a file.")
    try:
        with open(os.open(path, os.O_RDONLY | system.SAFE), "rb") as file:
            yield file
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror or error}; check the file.") from error


def refuse(path: Path, asked: Asked, *names: str) -> None:
    """Refuse options that make no sense for a format."""
    for name in names:
        if (value := getattr(asked, name)) is not None:
            raise BadData(
                f"--{name} {value} was given, but {path.name} has nothing to be named; leave it out."
            )
