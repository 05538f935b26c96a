"""The folder of a study: its lock, atomic writing, and disk errors as one sentence."""

from __future__ import annotations

import errno
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whyconv import system
from whyconv.errors import UserError

PART = re.compile(r".+\.(?P<writer>[0-9]{1,9})-[0-9a-f]{8}\.tmp")
"""Names of files that are being written; see :func:`write_whole`."""
KEPT = "every row acknowledged so far is kept"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_BARRED = {errno.EACCES, errno.EPERM, errno.EROFS}


class Lock:
    """The right to write to a folder, held by one process at a time.

    It is an ``flock``, which the operating system releases when the process ends, however it ends: there is
    no stale lock and nothing to remove by hand. Workers do not inherit it.
    """

    def __init__(self, folder: Path) -> None:
        with as_user_error(folder):
            self._fd = open_plain(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            held = system.lock(self._fd)
        except OSError as error:
            os.close(self._fd)
            raise UserError(f"{folder} is on a file system without locks; choose a local folder.") from error
        if not held:
            holder = os.read(self._fd, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise UserError(
                f"{folder} is being written by another run (process {holder}); "
                "wait for it or choose another folder."
            )
        with suppress(OSError):  # the number only serves the sentence above
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._fd)


def prepare(folder: Path) -> None:
    """Create the folder if it is missing; refuse a file in its place."""
    for place in (folder, *folder.parents):
        if place.exists():
            if not place.is_dir():
                raise UserError(f"{place} is a file; give the name of a folder.")
            break
    with as_user_error(folder):
        folder.mkdir(parents=True, exist_ok=True)


def open_plain(path: Path, flags: int) -> int:
    """Open a plain file and nothing else: never follow a link, never block on a pipe."""
    refuse_odd(path)
    return os.open(path, flags | system.SAFE, 0o644)


def refuse_odd(path: Path, *, folder: bool = False) -> None:
    """Refuse a link, a device or a pipe in place of one of our files (or folders)."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    good = stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)
    if not good:
        kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not a plain file"
        wanted = "folder" if folder else "file"
        raise UserError(
            f"{path} is {kind}, but whyconv keeps a {wanted} there; remove it or choose another folder."
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never half of one.

    It is written under a random name and then renamed; a link in its place is not followed. Removes what
    killed writers left behind.
    """
    refuse_odd(path)
    sweep(path.parent, f"{path.name}.")
    part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with open(open_plain(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def sweep(folder: Path, start: str = "") -> None:
    """Remove files that killed writers left half-written and whose names begin with ``start``."""
    for part in folder.glob("*.tmp"):
        ours = PART.fullmatch(part.name)
        if ours and part.name.startswith(start) and not system.alive(int(ours["writer"])):
            with suppress(OSError):
                part.unlink(missing_ok=True)


@contextmanager
def as_user_error(folder: Path) -> Iterator[None]:
    """Turn errors of the disk and of SQLite into a :class:`UserError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(_sqlite_sentence(folder, error)) from error
    except OSError as error:
        raise UserError(_os_sentence(folder, error)) from error


def _sqlite_sentence(folder: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return f"the disk of {folder} is full; {KEPT}: free some space and run the same command again."
    if code == sqlite3.SQLITE_IOERR:
        return f"{folder} could not be read or written ({error}); {KEPT}: check the disk and its free space."
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return _barred(folder)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"the store in {folder} is held by another program; end that program and try again."
    return (
        f"the store in {folder} is damaged or was not written by whyconv ({error}); "
        "put back a copy of it, or choose another folder."
    )


def _os_sentence(folder: Path, error: OSError) -> str:
    if error.errno in _FULL:
        return f"the disk of {folder} is full; {KEPT}: free some space and run the same command again."
    if error.errno in _BARRED:
        return _barred(folder)
    return f"{folder} could not be used ({error.strerror or error}); choose another folder."


def _barred(folder: Path) -> str:
    return f"{folder} cannot be written; choose a folder of your own or change its permissions."
