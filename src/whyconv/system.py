"""What differs between operating systems: locks, cores, memory, signals, the disk. See docs/platforms.md.

Nothing else in the package asks which system it runs on. Only Linux is tested.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SAFE = 0
"""Flags for ``os.open``: follow no link, do not wait for a pipe, inherit nothing, change no byte."""
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    SAFE |= getattr(os, _flag, 0)

OUTSIDE = ("SIGHUP", "SIGKILL", "SIGTERM")
"""Signals from outside a process: a user, a closed terminal, a scheduler, memory running out."""

_LOCKED = 1 << 30
"""The byte that stands for the lock on Windows, where a locked byte cannot be read by others."""


# -- files --------------------------------------------------------------------------------------------


def lock(fd: int, wait: bool = False) -> bool:
    """Take the exclusive lock of an open file; False if another process has it and ``wait`` is not set.

    The system releases it when the file is closed or the process ends, however it ends. A file
    system without locks raises ``OSError``.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(fd, _LOCKED, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        finally:
            os.lseek(fd, 0, os.SEEK_SET)
        return True
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a loss of power; Windows needs no sync of folders."""
    if sys.platform == "win32" and path.is_dir():
        return
    fd = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# -- resources ----------------------------------------------------------------------------------------


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def crowding(processes: int) -> float:
    """How many times longer so many processes take since others compute: by the load of the last minute.

    The load is that of the whole machine: ours is the share of the cores that this process may use. 1 where
    the system does not tell it.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    others = int(load * cores() / max(os.cpu_count() or 1, cores()))
    return max(1.0, (others + min(processes, cores())) / cores())


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process and its children can still get; None where the system does not report it.

    On Linux what the kernel reports as available, or what the control group (a container, a job of a
    scheduler) still allows, if that is less. Elsewhere at best the installed memory.
    """
    if known := [*_available(root), *_allowed(root)]:
        return max(0, min(known))
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _available(root: Path) -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024


def _allowed(root: Path) -> Iterator[int]:
    """What every control group of this process (versions 1 and 2) has left of its limit."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers in ("", "memory"):
            mount = root / "sys/fs/cgroup" / controllers
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            limit, used = names if controllers else ("memory.max", "memory.current")
            here = mount / place.lstrip("/")
            for group in (here, *(parent for parent in here.parents if parent.is_relative_to(mount))):
                # "max" is not a number; cached files count as used, but are released when needed.
                with suppress(OSError, ValueError):
                    kept = int((group / limit).read_text()) - int((group / used).read_text())
                    yield kept + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    with suppress(OSError, ValueError):
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    return 0


# -- processes ----------------------------------------------------------------------------------------


def alive(pid: int) -> bool:
    """Whether there is such a process; True where asking would do harm."""
    if sys.platform == "win32":  # os.kill(pid, 0) is a Ctrl-C there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def signal_name(code: int) -> str:
    """The signal that a return code of ``subprocess`` stands for; empty for a normal exit."""
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def die_with_parent(parent: int) -> None:
    """Have this process killed when the thread that started it ends, even in the middle of compiled code.

    Linux only. ``parent`` is the expected parent process; if it has ended already, this process exits.
    """
    if sys.platform != "linux":
        return
    import ctypes

    set_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def ignore_interrupt() -> None:
    """Leave Ctrl-C to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Record Ctrl-C instead of raising KeyboardInterrupt; yields a function that says whether it was pressed.

    Does nothing outside of the main thread, since no other gets a KeyboardInterrupt.
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
