"""Where sets are searched: the user's folder, then the cache. No file is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from whyconv.errors import UserError
from whyconv.paths import cache_folder, given_path
from whyconv.tasks.images.catalogue import Known, known, published

VARIABLE = "WHYCONV_DATA"
"""Names the folder to search first; the option --data sets it for a command and its workers."""


class Place(NamedTuple):
    """A folder with files of a set: its training batches (None if it has none) and the missing files."""

    folder: Path
    batches: tuple[int, ...] | None
    missing: tuple[str, ...]


def cache() -> Path:
    """The folder of downloads: data/ in WHYCONV_CACHE, by default in the user's cache."""
    return cache_folder(os.environ) / "data"


def use_folder(path: str | Path) -> None:
    """Search this folder first, in this process and those it starts, as with WHYCONV_DATA."""
    _check(given_path(path))
    os.environ[VARIABLE] = str(Path(path).resolve())


def given() -> Path | None:
    """The user's folder, if any; refused if it is not a folder or has no file of any set."""
    if not os.environ.get(VARIABLE):
        return None
    folder = Path(os.environ[VARIABLE])
    _check(folder)
    return folder


def places(name: str, batches: tuple[int, ...] | None = None) -> list[Place]:
    """The folders with files of the set, complete or not, in search order."""
    folder, about = given(), known(name)
    inside = _inside(about, folder, batches) if folder else ()
    return [*inside, *_look(about, cache() / name, batches)]


def find(name: str, batches: tuple[int, ...] | None = None) -> Place | None:
    """The first folder that has the set, for CIFAR-10 with these batches or with any."""
    return next((place for place in places(name, batches) if not place.missing), None)


def wrong_sizes(name: str, place: Place) -> dict[Path, str]:
    """Files of a set in a place whose size shows that they are not the published ones, and why."""
    reasons = {}
    for file in known(name).files(known(name).batches):
        path = place.folder / file.name
        if path.is_file() and (size := path.stat().st_size) != file.size:
            reasons[path] = f"has {size:,} bytes instead of {file.size:,}"
    return reasons


def mend(name: str, path: Path) -> str:
    """What to do about a file that is not the published one."""
    again = f"whyconv data fetch {name}"
    if path.parent == cache() / name:
        return f"{again} downloads it again"
    return f"replace it with the published file, or remove it and run {again}"


def unpacked(name: str) -> str:
    """A clause about unpacked files of a set in the user's folder, which are not read; empty if none."""
    folder = given()
    return _unpacked(known(name), folder) if folder else ""


def _unpacked(about: Known, folder: Path) -> str:
    """Files without their .gz are not read: the published checksums are those of the packed files."""
    for home in (*(folder / name for name in about.folders), folder):
        packed = [file.name for file in about.files(about.batches) if file.name.endswith(".gz")]
        lacking = [name for name in packed if not (home / name).is_file()]
        if found := [name for name in lacking if (home / name.removesuffix(".gz")).is_file()]:
            names = ", ".join(name.removesuffix(".gz") for name in found)
            return (
                f"{home} has {names} unpacked, but only the published .gz files are read, "
                "since the published checksums are theirs"
            )
    return ""


def _check(folder: Path) -> None:
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UserError(
            f"the data folder {folder} {what}; give --data or {VARIABLE} a folder with image sets."
        )
    if not any(place for about in published().values() for place in _inside(about, folder)):
        for name, about in published().items():
            if what := _unpacked(about, folder):
                raise UserError(
                    f"{what}; put the published files there, or omit this folder and run whyconv data "
                    f"fetch {name}."
                )
        raise UserError(
            f"the data folder {folder} has no file of {', '.join(published())}; give --data or {VARIABLE} a "
            f"folder with their published files, as in {folder}/mnist (of CIFAR-10 the binary version; "
            "pickles are never loaded)."
        )


def _inside(about: Known, folder: Path, batches: tuple[int, ...] | None = None) -> Iterator[Place]:
    """Places of a set in a user's folder.

    MNIST and Fashion-MNIST use the same file names, so files directly in the folder belong to a set if at
    least one of them has its published size.
    """
    for name in about.folders:
        yield from _look(about, folder / name, batches)
    sizes = ((folder / file.name, file.size) for file in about.files(about.batches))
    if any(path.is_file() and path.stat().st_size == size for path, size in sizes):
        yield from _look(about, folder, batches)


def _look(about: Known, folder: Path, batches: tuple[int, ...] | None) -> Iterator[Place]:
    """The folder as a place if it has any file of the set."""
    there = {file.name for file in about.files(about.batches) if (folder / file.name).is_file()}
    if not there:
        return
    found = batches
    if about.batched and batches is None:
        found = tuple(n for n, file in enumerate(about.train, 1) if file.name in there) or (1,)
    missing = tuple(file.name for file in about.files(found) if file.name not in there)
    yield Place(folder, found, missing)
