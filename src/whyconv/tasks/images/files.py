"""Reading the published files: IDX in gzip, and the binary batches of CIFAR-10. Nothing is unpickled.

A file is used only if its MD5 sum is the published one. If not, its content is examined, so that the error
message distinguishes a truncated file from a different one.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from math import prod
from pathlib import Path

from whyconv.errors import UserError
from whyconv.lazy import np
from whyconv.tasks.images.catalogue import File, known
from whyconv.tasks.images.places import mend

MAGIC = {"images": 0x00000803, "labels": 0x00000801}
"""The first four bytes of an IDX file: unsigned bytes in three dimensions, or in one."""

LARGEST = 2**30
"""The largest file that is examined, in bytes; published files are far smaller."""


class Damage(Exception):
    """Why a file is not the published one, as a predicate that follows the file's name."""


def md5(data: bytes) -> str:
    """The checksum that the sets were published with."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def read(name: str, file: File, path: Path) -> np.ndarray:
    """The content of a file of the set: images, labels, or records of a label and an image, as uint8."""
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise UserError(f"{path} has {size:,} bytes instead of {file.size:,}; {mend(name, path)}.")
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; make it readable or remove it.") from None
    try:
        content = (_records if file.kind == "records" else _idx)(file, data, known(name).shape)
        if md5(data) != file.md5:
            raise Damage("is not the published file")
    except Damage as why:
        sums = f"MD5 {md5(data)}, published {file.md5}"
        raise UserError(f"{path} {why} ({sums}); {mend(name, path)}.") from None
    return content


def _idx(file: File, data: bytes, shape: tuple[int, int, int]) -> np.ndarray:
    """An IDX file: magic, the sizes of axes, all as big-endian 32-bit numbers, then one byte per value."""
    axes: tuple[int, ...] = (file.items, *shape[:2]) if file.kind == "images" else (file.items,)
    start = 4 + 4 * len(axes)
    content = _unzip(data, start + prod(axes), file)
    if content[:4] != MAGIC[file.kind].to_bytes(4):
        raise Damage(
            f"begins with 0x{content[:4].hex()}, but a file of {file.kind} begins with "
            f"0x{MAGIC[file.kind]:08x}"
        )
    found = tuple(int.from_bytes(content[place : place + 4]) for place in range(4, start, 4))
    if found[0] != file.items:
        other = "labels" if file.kind == "images" else "images"
        raise Damage(f"holds {found[0]:,} {file.kind} for {file.items:,} {other}")
    if found != axes:
        sizes = (" x ".join(map(str, each[1:])) for each in (found, axes))
        raise Damage(f"holds images of {' instead of '.join(sizes)}")
    if len(content) != start + prod(axes):
        more = "more" if len(content) > start + prod(axes) else "fewer"
        raise Damage(f"holds {more} bytes than the {prod(axes):,} that its header announces")
    return np.frombuffer(content, np.uint8, offset=start).reshape(axes)


def _unzip(data: bytes, expected: int, file: File) -> bytes:
    """The unzipped content, at most one byte more than expected, as a guard against zip bombs."""
    try:
        if not data:
            raise EOFError
        return gzip.GzipFile(fileobj=io.BytesIO(data)).read(expected + 1)
    except EOFError:
        raise Damage(_truncated(file, data)) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Damage(f"is not an intact gzip file: {error}") from None


def _records(file: File, data: bytes, shape: tuple[int, int, int]) -> np.ndarray:
    """A batch of CIFAR-10: records of a label and the red, green and blue plane, one byte per value."""
    length = 1 + prod(shape)
    if len(data) < file.items * length:
        raise Damage(_truncated(file, data))
    if len(data) > file.items * length:
        raise Damage(f"has {len(data):,} bytes, but {file.items:,} records of {length:,} were published")
    return np.frombuffer(data, np.uint8).reshape(file.items, length)


def _truncated(file: File, data: bytes) -> str:
    return f"is truncated: it ends after {len(data):,} of {file.size:,} bytes"
