"""A folder of images with one subfolder per class, read with Pillow."""

from __future__ import annotations

import stat
from collections import Counter
from pathlib import Path
from typing import Any

from whyconv.auditing.bad_data import BadData, listed, require_room
from whyconv.auditing.readers import FOLDER, Asked, Read, opened, reader, refuse
from whyconv.lazy import np

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".pbm", ".tif", ".tiff", ".webp"}
LARGEST = 2048
"""Pixels of a side: what is larger is no image to train on here, and may be a trap for memory."""
MOST = 1_000_000
GREY, DEEP = ("1", "L", "LA"), ("I", "F", "I;16", "I;16B", "I;16L")
"""Modes of Pillow with one channel: of bytes, and of wider numbers. All others are read as colours."""


@reader(FOLDER)
def folder(path: Path, asked: Asked) -> Read:
    """Images of one size; the name of the subfolder is the class. Colours if any image has some."""
    refuse(path, asked, "label", "x", "groups")
    files = _files(path)
    try:
        from PIL import Image
    except ImportError as error:
        raise BadData(
            "a folder of images needs Pillow; install whyconv[images], or save the images as .npz."
        ) from error
    first, modes = None, set()
    for file, _ in files:
        with _image(Image, file) as image:
            if max(image.size) > LARGEST:
                raise BadData(
                    f"{_short(file)} has {image.size} pixels; give images of at most {LARGEST} a side."
                )
            if first is None:
                first = image.size
                require_room(4.0 * len(files) * 3 * first[0] * first[1], f"{len(files)} images", asked.memory)
            if image.size != first:
                sizes = (
                    f"{image.size[0]} x {image.size[1]}, and {_short(files[0][0])} is {first[0]} x {first[1]}"
                )
                raise BadData(f"{_short(file)} is {sizes}; resize all images to one size.")
            modes.add(image.mode)
    assert first is not None
    mode = "L" if modes <= set(GREY) else "F" if modes <= {*GREY, *DEEP} else "RGB"
    depth = 3 if mode == "RGB" else 1
    x = np.empty((len(files), first[1], first[0], depth), np.float32 if mode == "F" else np.uint8)
    for place, (file, _) in enumerate(files):
        with _image(Image, file) as image:
            x[place] = _converted(image, mode, file).reshape(first[1], first[0], depth)
    return Read(x, np.array([name for _, name in files]), grid=f"{first[1]}x{first[0]}x{depth}")


def _files(path: Path) -> list[tuple[Path, str]]:
    """Every image with the name of its class, in order of names."""
    found: list[tuple[Path, str]] = []
    loose: Counter[str] = Counter()
    for place in sorted(path.iterdir()):
        mode = place.lstat().st_mode
        if place.name.startswith("."):
            continue
        if stat.S_ISLNK(mode):
            raise BadData(f"{place} is a link; put a folder of images in its place.")
        if not stat.S_ISDIR(mode):
            loose[place.suffix.lower() or place.name] += 1
            continue
        for file in sorted(place.iterdir()):
            if file.name.startswith("."):
                continue
            if not stat.S_ISREG(file.lstat().st_mode):
                raise BadData(f"{_short(file)} is not a plain file; a folder of a class holds images only.")
            if file.suffix.lower() not in SUFFIXES:
                raise BadData(
                    f"{_short(file)} is not an image known here ({', '.join(sorted(SUFFIXES))}); leave it "
                    "out."
                )
            found.append((file, place.name))
            if len(found) > MOST:
                raise BadData(f"{path} holds more than {MOST:,} images; give fewer.")
    if not found:
        has = f" (it holds {listed(list(loose))})" if loose else ""
        raise BadData(
            f"{path} has no subfolders with images{has}; give a folder with one subfolder per class."
        )
    return found


class _image:
    """An opened image: the header is read, pixels are not yet. Any damage is one sentence."""

    def __init__(self, pillow: Any, path: Path) -> None:
        self._pillow, self._path = pillow, path

    def __enter__(self) -> Any:
        self._file = opened(self._path)
        file = self._file.__enter__()
        try:
            return self._pillow.open(file, formats=FORMATS)
        except Exception as error:  # Pillow's plugins raise whatever a damaged file makes them raise
            self._file.__exit__(None, None, None)
            raise BadData(_unreadable(self._path)) from error

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)


def _converted(image: Any, mode: str, path: Path) -> Any:
    """The pixels, which are decoded here."""
    try:
        return np.asarray(image if image.mode == mode else image.convert(mode))
    except Exception as error:
        raise BadData(_unreadable(path)) from error


def _unreadable(path: Path) -> str:
    return f"{_short(path)} is not an intact image; repair it or leave it out."


def _short(path: Path) -> str:
    """A file with its class."""
    return f"{path.parent.name}/{path.name}"
