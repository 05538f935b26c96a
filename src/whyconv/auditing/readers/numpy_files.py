"""NumPy's own formats: an .npz with X and y, or an .npy with the labels in a second file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from whyconv.auditing.bad_data import BadData, nearest, require_room
from whyconv.auditing.readers import Asked, Read, opened, reader
from whyconv.lazy import NDArray, np

FEATURES = ("X", "x", "data")
LABELS = ("y", "Y", "label", "labels", "target")
MEMBERS = 1000


@reader(".npz")
def npz(path: Path, asked: Asked) -> Read:
    """An archive of arrays: features X, or as ``--x`` says, and labels y, or as ``--label`` says."""
    with opened(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _of_archive(path, archive, asked)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
            raise BadData(
                f"{path.name} is not an intact .npz file; save it again with numpy.savez."
            ) from error


def _of_archive(path: Path, archive: zipfile.ZipFile, asked: Asked) -> Read:
    names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    if len(names) > MEMBERS:
        raise BadData(
            f"{path.name} holds {len(names)} arrays; save those to be audited in a file of their own."
        )

    def member(given: str | None, usual: Iterable[str], what: str, option: str) -> NDArray:
        name = given or next((each for each in usual if each in names), None)
        if name is None or name not in names:
            has = f"arrays there: {nearest(name or '', names)}"
            lacks = (
                f"no array {name!r}" if name else f"no array named {' or '.join(list(usual)[:2])} with {what}"
            )
            raise BadData(f"{path.name} has {lacks} ({has}); name it with {option}.")
        with archive.open(f"{name}.npy") as stream:
            return _array(stream, f"{name!r} in {path.name}", asked.memory)

    y = member(asked.label, LABELS, "labels", "--label")
    groups = member(asked.groups, (), "groups", "--groups") if asked.groups else None
    return Read(member(asked.x, FEATURES, "features", "--x"), y, groups)


@reader(".npy")
def npy(path: Path, asked: Asked) -> Read:
    """An array of features; labels and groups are other .npy files, by default ``y.npy`` beside ``x.npy``."""
    if asked.x is not None:
        raise BadData(f"--x {asked.x} was given, but {path.name} holds one array; leave it out.")
    label = Path(asked.label) if asked.label else _beside(path)
    y = _file(label, asked.memory)
    groups = _file(Path(asked.groups), asked.memory) if asked.groups else None
    return Read(_file(path, asked.memory), y, groups)


def _beside(path: Path) -> Path:
    """The file of labels that goes with a file of features: y_train.npy beside X_train.npy, else y.npy."""
    names = [path.name.replace(old, "y", 1) for old in ("X", "x") if path.name.startswith(old)] + ["y.npy"]
    for name in names:
        if (found := path.with_name(name)) != path and found.exists():
            return found
    raise BadData(f"there is no {names[0]} with labels beside {path.name}; name the file with --label.")


def _file(path: Path, memory: float | None) -> NDArray:
    if path.suffix.lower() != ".npy":
        raise BadData(f"{path} was given for an array beside an .npy file; give the name of an .npy file.")
    with opened(path) as file:
        return _array(file, path.name, memory)


def _array(stream: IO[bytes], what: str, memory: float | None) -> NDArray:
    """An array of plain values; its header tells its size before any memory is taken."""
    form: Any = np.lib.format
    try:
        version = form.read_magic(stream)
        head = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, fortran, kind = head(stream)
        if kind.hasobject:
            raise BadData(
                f"{what} holds Python objects, and loading these would run code; save an array of numbers "
                "or words."
            )
        if min(shape, default=0) < 0:
            raise ValueError("a negative size")
        require_room(float(np.prod(shape, dtype=np.float64)) * max(4, kind.itemsize), what, memory)
        total = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        content = stream.read(total)
        if len(content) < total:
            raise ValueError("too short")
        return np.frombuffer(content, kind).reshape(shape, order="F" if fortran else "C")
    except BadData:
        raise
    except Exception as error:  # whatever a damaged header or a damaged deflate stream leads to
        raise BadData(f"{what} is not an intact array; save it again with numpy.save or savez.") from error
