"""Takes files in: by a name of our own, within caps, and unpacks archives of images without trusting them."""

from __future__ import annotations

import lzma
import os
import re
import secrets
import shutil
import zipfile
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from whyconv import system
from whyconv.errors import UserError, one_sentence

KINDS = ("npz", "csv", "zip")
LARGEST = 200 * 2**20
"""Bytes of a file that is sent."""
UNPACKED = 500 * 2**20
"""Bytes of everything in an archive."""
MEMBERS = 50_000
ENTRY = rb"PK\x01\x02"
"""How every entry in the list of an archive begins."""
MINUTES = ("1", "2", "5", "15")
FOLDER = "page-data"
ROOM = re.compile(r"(?P<server>[0-9]{1,9})-[0-9a-f]{16}")
"""Names of folders for one upload each, by the process that took it in."""
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".pbm", ".tif", ".tiff", ".webp")
IMAGES_FOLDER = "images"
CHUNK = 2**20


DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, ValueError)


@dataclass(frozen=True)
class Wanted:
    """What an upload says of itself; the name is only shown, and never used as one."""

    kind: str
    name: str
    label: str | None
    minutes: float

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Wanted:
        if unknown := set(given) - {"kind", "name", "label", "minutes"}:
            raise UserError(f"{min(unknown)} was given; give kind, name, label and minutes alone.")
        kind, minutes = given.get("kind", ""), given.get("minutes", "2")
        if kind not in KINDS:
            raise UserError(f"kind = {kind} was given; give one of {', '.join(KINDS)}.")
        if minutes not in MINUTES:
            raise UserError(f"minutes = {minutes} was given; take one of {', '.join(MINUTES)}.")
        label = given.get("label") or None
        for text in (given.get("name", ""), label or ""):
            if len(text) > 100 or not text.isprintable():
                raise UserError("a name of more than 100 or of unprintable characters was given; shorten it.")
        return cls(kind, given.get("name", "") or f"data.{kind}", label, float(minutes))


async def received(stream: AsyncIterator[bytes], wanted: Wanted, out: Path) -> Path:
    """A new folder with the file that is sent, or with what an archive holds."""
    room = out / FOLDER / f"{os.getpid()}-{secrets.token_hex(8)}"
    file = sent(room, wanted)
    try:
        room.mkdir(parents=True, mode=0o700)
        size = 0
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as kept:
            async for part in stream:
                size += len(part)
                if size > LARGEST:
                    raise UserError(
                        f"{wanted.name} has more than {LARGEST:,} bytes; use whyconv audit for it."
                    )
                kept.write(part)
        if not size:
            raise UserError(f"{wanted.name} is empty; give a file with data.")
        await run_in_threadpool(_opened, file, room / IMAGES_FOLDER, wanted)
    except OSError as error:
        forget(room)
        raise UserError(
            f"{wanted.name} cannot be kept in {out} ({error.strerror or error}); free some space, or start "
            "the page with another --out."
        ) from None
    except BaseException:
        forget(room)
        raise
    return room


def sent(room: Path, wanted: Wanted) -> Path:
    """Where the file that was sent lies in its room; the name is like no word of a sentence."""
    return room / f"{room.name}.{wanted.kind}"


def _opened(file: Path, images: Path, wanted: Wanted) -> None:
    if wanted.kind != "csv":
        check_archive(file, wanted.name)
    if wanted.kind == "zip":
        unpack(file, images, wanted.name)
        file.unlink()


def sweep(out: Path) -> None:
    """Delete what servers that were killed have left."""
    place = out / FOLDER
    if place.is_symlink() or not place.is_dir():
        return
    for room in place.iterdir():
        ours = ROOM.fullmatch(room.name)
        if ours and abandoned(ours["server"]):
            forget(room)


def abandoned(server: str) -> bool:
    """Whether the server of this number is gone, if we are only about to become one."""
    return int(server) == os.getpid() or not system.alive(int(server))


def forget(room: Path) -> None:
    """Delete what was sent."""
    shutil.rmtree(room, ignore_errors=True)


def check_archive(file: Path, name: str) -> None:
    """Refuse archives with too much in them before anything is unpacked (an .npz is one, too)."""
    try:
        if (count := _entries(file)) > MEMBERS:
            raise UserError(f"{name} holds {count:,} files; at most {MEMBERS:,} are taken.")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UserError(one_sentence(f"{name} cannot be opened ({error}); give a whole archive")) from None
    if sum(each.file_size for each in members) > UNPACKED:
        raise UserError(f"{name} unpacks to more than {UNPACKED:,} bytes; use whyconv audit for it.")


def _entries(file: Path) -> int:
    """How many files an archive can list, without reading its list, which takes much memory.

    The number in the end record may be a lie; every entry has its own :data:`ENTRY`.
    """
    with open(file, "rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as content:
        return sum(1 for _ in re.finditer(ENTRY, content))


def unpack(file: Path, room: Path, name: str) -> None:
    """Write the images of an archive as class/number.ending; nothing else of their names is used.

    The last folder of a name is its class. Sizes that an archive announces are not believed: reading ends at
    the cap.
    """
    left = UNPACKED
    with zipfile.ZipFile(file) as archive:
        for number, member in enumerate(archive.infolist()):
            parts = [part for part in re.split(r"[\\/]", member.filename) if part not in ("", ".")]
            if not parts or member.is_dir() or any(part.startswith((".", "__MACOSX")) for part in parts):
                continue
            ending = os.path.splitext(parts[-1])[1].lower()
            if len(parts) < 2 or ending not in IMAGES:
                raise UserError(
                    one_sentence(
                        f"{name} holds {parts[-1]}; give an archive with a folder of images per class"
                    )
                )
            if not re.fullmatch(r"\w[\w .+-]{0,59}", parts[-2]):
                raise UserError(
                    one_sentence(f"{name} has a folder {parts[-2]!r}; name it with letters and digits")
                )
            place = room / parts[-2].strip()
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            left = _copy(archive, member, place / f"{number:06}{ending}", left, name)
    if not room.exists():
        raise UserError(f"{name} holds no images; give an archive with a folder of images per class.")


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, to: Path, left: int, name: str) -> int:
    """Unpack one member; returns how many bytes may still follow."""
    try:
        with archive.open(member) as source, open(to, "xb") as target:
            while part := source.read(CHUNK):
                left -= len(part)
                if left < 0:
                    raise UserError(
                        f"{name} unpacks to more than {UNPACKED:,} bytes; use whyconv audit for it."
                    )
                target.write(part)
    except DAMAGED as error:
        raise UserError(
            one_sentence(f"{name} is damaged or locked ({error}); give a whole archive")
        ) from None
    return left
