"""Downloads into the cache: one mirror after another; a file is kept only if its checksum is right.

A file is downloaded next to the cache's files and then renamed, so that neither a kill nor a second process
leaves half a file. One process downloads at a time; the next one finds the files.
"""

from __future__ import annotations

import logging
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from whyconv import system
from whyconv.errors import UserError
from whyconv.tasks.images.catalogue import File, Known, known
from whyconv.tasks.images.files import md5
from whyconv.tasks.images.places import VARIABLE, cache, find, places, unpacked

CHUNK = 1 << 16


def fetch(name: str) -> Path:
    """The cache's folder of the whole set; missing or damaged files are downloaded."""
    about, home = known(name), cache() / name
    with _alone(cache()):
        lacking = [file for file in about.files(about.batches) if not _intact(home / file.name, file)]
        with TemporaryDirectory(prefix=".fetch-", dir=cache()) as room:
            for file in _downloaded(name, about, lacking, Path(room)):
                home.mkdir(exist_ok=True)
                (Path(room) / file.name).replace(home / file.name)
    return home


def _downloaded(name: str, about: Known, wanted: list[File], room: Path) -> Iterator[File]:
    """Each of the wanted files once it is in the room and checked; those of an archive all at the end.

    Files come in the order of the set: the test, without which a set is incomplete, is last.
    """
    if about.archive is None:
        for file in wanted:
            _download(name, about, file, room)
            yield file
    elif wanted:
        _download(name, about, about.archive, room)
        _unpack(room / about.archive.name, wanted, room)
        yield from wanted


def _download(name: str, about: Known, file: File, room: Path) -> None:
    """The file from the first mirror that has it."""
    import pooch
    from requests import RequestException

    pooch.get_logger().setLevel(logging.WARNING)
    failures = []
    for mirror in about.mirrors:
        with _bar(file) as bar:
            # the file as stored: requests would unzip a response marked as gzip
            plain = {"Accept-Encoding": "identity"}
            downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=CHUNK, headers=plain)
            try:
                pooch.retrieve(
                    mirror + file.name, f"md5:{file.md5}", file.name, path=room, downloader=downloader
                )
                return
            except (RequestException, ValueError) as error:
                failures.append(f"{urlsplit(mirror).netloc}: {_reason(error)}")
    raise UserError(
        f"{about.title} is needed, but {_looked(name, about)}, and {file.name} could not be downloaded "
        f"({'; '.join(failures)}); {_part(name, about)}give a folder that has it with --data DIR or "
        f"{VARIABLE}, run whyconv data fetch {name} with a network connection, or take the embedded digits "
        "with --set task.images=digits."
    )


def _part(name: str, about: Known) -> str:
    """In words: how to use only the batches that were found, if any."""
    place = find(name) if about.batched else None
    if place is None or place.batches is None:
        return ""
    return f"use what was found with --set task.batches=[{','.join(map(str, place.batches))}], "


def _looked(name: str, about: Known) -> str:
    """In words: where the set was searched, and what was wrong there."""
    lacks = [
        f"{place.folder} {'lacks ' + ', '.join(place.missing) if place.missing else 'is damaged'}"
        for place in places(name, about.batches)
    ]
    folder = os.environ.get(VARIABLE)
    lacks += [what] if (what := unpacked(name)) else []
    return ", ".join(lacks) or f"it is not in {f'{folder} or ' if folder else ''}the cache {cache()}"


def _reason(error: Exception) -> str:
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if type(error) is requests.ConnectionError:
        return "no connection"
    return type(error).__name__ if isinstance(error, requests.RequestException) else "a wrong checksum"


def _unpack(archive: Path, wanted: list[File], room: Path) -> None:
    """The wanted files of an archive, found by base name; paths in the archive are never followed."""
    left = {file.name: file for file in wanted}
    with tarfile.open(archive) as tar:
        for member in tar:
            file = left.get(member.name.rpartition("/")[2])
            stream = tar.extractfile(member) if file and member.isreg() else None
            if file and stream and md5(data := stream.read(file.size)) == file.md5:
                (room / file.name).write_bytes(data)
                del left[file.name]
    if left:
        raise UserError(
            f"{archive.name} was downloaded, but has no intact {', '.join(left)}; nothing is kept."
        )


def _intact(path: Path, file: File) -> bool:
    return path.is_file() and path.stat().st_size == file.size and md5(path.read_bytes()) == file.md5


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process downloads; a cache that cannot be used is an error.

    The lock is on the folder itself; the system releases it when the process ends. On a file system without
    locks two processes may download the same files, which only costs time.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):
                system.lock(lock, wait=True)
            yield
        finally:
            os.close(lock)
    except OSError as error:
        raise UserError(
            f"the cache {folder} cannot be used: {error.strerror}; set WHYCONV_CACHE to another folder."
        ) from None


@contextmanager
def _bar(file: File) -> Iterator[Any]:
    """A progress bar for pooch on stderr, if that is a terminal; else False."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield False
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(20), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress, file)


class _Bar:
    """The interface of pooch's progress bar, drawn by rich."""

    def __init__(self, progress: Any, file: File) -> None:
        self._progress = progress
        self._task = progress.add_task(file.name, total=file.size)

    def update(self, count: int) -> None:
        self._progress.update(self._task, advance=count)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.refresh()
