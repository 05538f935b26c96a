"""Real images: MNIST, Fashion-MNIST, CIFAR-10, and the digits that ship inside scikit-learn.

A set is read from the folder given by WHYCONV_DATA or --data, else from the cache, else it is downloaded
into the cache. Every file is checked against its published checksum before it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from whyconv import spec
from whyconv.errors import UserError
from whyconv.lazy import np
from whyconv.tasks.images.catalogue import BATCHED, DIGITS, File, ImageSet, Known, known
from whyconv.tasks.images.digits import Images
from whyconv.tasks.images.files import read
from whyconv.tasks.images.places import Place, find, places, unpacked, use_folder

__all__ = [
    "ImageSet",
    "Images",
    "batches_here",
    "describe",
    "digest",
    "here",
    "in_order",
    "load",
    "problems",
    "resolve",
    "unused",
    "use_folder",
]


def load(name: str, batches: tuple[int, ...] | None = None) -> ImageSet:
    """The set, every file checked; downloaded if it is missing. Cached in the process.

    ``batches`` are training batches of CIFAR-10, 1 to 5; None means those of the first place with the set.
    """
    batches = in_order(name, batches)
    if known(name).embedded:
        return _embedded(name)
    place = find(name, batches)
    if place is None:
        from whyconv.tasks.images.download import fetch

        place = Place(fetch(name), batches or known(name).batches, ())
    return _read(name, place.folder, place.batches)


def here(name: str, batches: tuple[int, ...] | None = None) -> bool:
    """Whether the set (CIFAR-10: with these batches, or any) needs no download, judging by file names."""
    return known(name).embedded is not None or find(name, batches) is not None


def batches_here() -> tuple[int, ...]:
    """The training batches of CIFAR-10 that need no download; all if there are none."""
    place = find(BATCHED)
    return (place.batches if place else known(BATCHED).batches) or ()


def unused(names: Sequence[str]) -> str:
    """Why files of these sets in the user's folder are not used; empty if there are no such files."""
    reasons = []
    for name in names:
        if find(name) is None:
            reasons += [f"{place.folder} lacks {', '.join(place.missing)}" for place in places(name)]
            reasons += [what] if (what := unpacked(name)) else []
    return "; ".join(reasons)


def resolve(wanted: str, preference: Sequence[str]) -> str:
    """The set ``wanted``; for ``auto`` the first of ``preference`` on this machine, else the digits."""
    if wanted == "auto":
        return next((name for name in preference if here(name)), DIGITS)
    in_order(wanted, None)
    return wanted


def digest(name: str, batches: tuple[int, ...] | None = None) -> str:
    """The identity of the data from published checksums; no file is read, and none need exist.

    Unlike in :func:`load`, None means all batches of CIFAR-10.
    """
    batches, about = in_order(name, batches), known(name)
    return about.sha256 or spec.digest(
        [name, [[file.name, file.md5] for file in about.files(batches or about.batches)]]
    )


def describe(name: str, batches: tuple[int, ...] | None = None) -> str:
    """The set in one line; ``batches`` of CIFAR-10, None for those on this machine."""
    batches, about = in_order(name, batches), known(name)
    if about.about:
        return about.about
    if about.batched and batches is None:
        batches = batches_here()
    train, every, test = map(about.images, (about.training(batches), about.train, about.test))
    if train < every:
        numbers = ", ".join(map(str, batches or ()))
        plural = "batches" if len(batches or ()) > 1 else "batch"
        return f"{about.title} in part: {train:,} of {every:,} training images ({plural} {numbers})"
    colour = "colour " if about.shape[2] == 3 else ""
    return f"{about.title}, {train:,} + {test:,} {colour}images of {about.shape[0]} x {about.shape[1]}"


def problems(name: str, place: Place) -> list[str]:
    """One sentence per problem with the files of a set in a place; all files are read."""
    found = []
    for file in known(name).files(known(name).batches):
        path = place.folder / file.name
        try:
            if path.is_file():
                read(name, file, path)
        except UserError as error:
            found.append(str(error))
    if place.missing:
        found.append(
            f"{place.folder} lacks {', '.join(place.missing)}, without which {known(name).title} cannot be "
            f"used; add what is missing, or run whyconv data fetch {name}."
        )
    return found


def in_order(name: str, batches: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The batches of a set in order; unknown names and batches are refused."""
    every = known(name).batches
    if batches is None:
        return None
    if every is None:
        raise UserError(f"batches {batches} of {name} were asked for; only {BATCHED} comes in batches.")
    if not batches or any(each not in every for each in batches) or len(set(batches)) < len(batches):
        raise UserError(f"batches {batches} of {name} were asked for; name some of {every}, each once.")
    return tuple(sorted(batches))


@lru_cache(maxsize=4)
def _read(name: str, folder: Path, batches: tuple[int, ...] | None) -> ImageSet:
    about = known(name)
    parts = (_part(name, about, folder, files) for files in (about.training(batches), about.test))
    return ImageSet(name, about.title, about.classes, *parts)


def _part(name: str, about: Known, folder: Path, files: tuple[File, ...]) -> Images:
    contents = [read(name, file, folder / file.name) for file in files]
    height, width, channels = about.shape
    if about.batched:
        records = np.concatenate(contents)
        planes = records[:, 1:].reshape(-1, channels, height, width)
        return _fixed(planes.transpose(0, 2, 3, 1), records[:, 0])
    images, labels = contents
    return _fixed(images[..., None], labels)


def _fixed(images: np.ndarray, labels: np.ndarray) -> Images:
    """Contiguous and read-only, since the whole process shares these arrays."""
    part = Images(np.ascontiguousarray(images), np.ascontiguousarray(labels))
    for array in part:
        array.setflags(write=False)
    return part


@lru_cache(maxsize=1)
def _embedded(name: str) -> ImageSet:
    about = known(name)
    assert about.embedded is not None
    train, test = (_fixed(*part) for part in about.embedded())
    return ImageSet(name, about.title, about.classes, train, test)
