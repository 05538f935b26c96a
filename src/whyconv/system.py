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
"""For ``os.open``: a link is refused, a pipe not waited for, nothing inherited, no byte changed."""
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    SAFE |= getattr(os, _flag, 0)

OUTSIDE = ("SIGHUP", "SIGKILL", "SIGTERM")
"""Signals that come from outside a process: a user, a closed terminal, a scheduler, memory running out."""

_LOCKED = 1 << 30
"""The byte that stands for the lock on Windows, where a locked byte cannot be read by others."""


# -- files --------------------------------------------------------------------------------------------


def lock(fd: int, wait: bool = False) -> bool:
    """Take the exclusive lock of an open file; False if another process has it, unless one is to wait.

    The system lets go of it when the file is closed or the process ends, however it ends. A file
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
    """Make a file, or the names in a folder, survive a loss of power; Windows keeps names by itself."""
    if sys.platform == "win32" and path.is_dir():
        return
    fd = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# -- what there is to use -----------------------------------------------------------------------------


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process and its children can still get; None where the system does not tell.

    On Linux what the kernel says is available, or what the control group (a container, a job of a
    scheduler) still allows, if that is less. Elsewhere at best what is built in.
    """
    told = [*_available(root), *_allowed(root)]
    if told:
        return max(0, min(told))
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _available(root: Path) -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024


def _allowed(root: Path) -> Iterator[int]:
    """What every control group above this process leaves of its limit, versions 1 and 2."""
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
                # "max" is no number; files kept in memory count as used and are given up when needed.
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
    """Whether there is such a process; where one cannot ask without harm, yes."""
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
    """The signal that a return code of ``subprocess`` stands for; empty for an ordinary end."""
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def die_with_parent(parent: int) -> None:
    """Be killed when the thread that started this process ends, also in the middle of compiled code.

    Linux only. ``parent`` is the process that should be there; if it is gone already, so is this one.
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
    """Let Ctrl-C pass: it is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Take note of Ctrl-C instead of being torn out of whatever is being done, however often it comes.

    Only the main thread can and need do so: no other ever gets a KeyboardInterrupt.
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
