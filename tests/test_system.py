"""What is asked of the operating system, on a made-up tree of /proc and /sys where it matters."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import whyconv
from whyconv import system


def test_a_lock_is_held_once(tmp_path):
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert system.lock(first)
    assert not system.lock(second)
    os.close(first)
    assert system.lock(second)
    os.close(second)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"symbolic links"):
        os.open(tmp_path / "link", os.O_RDWR | os.O_CREAT | system.SAFE)
    assert not (tmp_path / "elsewhere").exists()


def tree(root, **files):
    for path, text in files.items():
        place = root / path.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


MEMINFO = "MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n"


def test_free_memory_is_what_the_kernel_calls_available(tmp_path):
    assert system.free_memory(tree(tmp_path, proc__meminfo=MEMINFO)) == 400 * 1024
    assert 0 < (system.free_memory() or 0) <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(("limit", "free"), [("max\n", 409_600), ("5000\n", 3100), ("1000\n", 0)])
def test_a_control_group_allows_less(tmp_path, limit, free):
    tree(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup="0::/job/step\n")
    group = tmp_path / "sys/fs/cgroup/job"
    (group / "step").mkdir(parents=True)
    (group / "step" / "memory.max").write_text("max\n")
    for name, text in {"max": limit, "current": "2000\n", "stat": "anon 5\ninactive_file 100\n"}.items():
        (group / f"memory.{name}").write_text(text)
    assert system.free_memory(tmp_path) == free


def test_a_control_group_of_version_1_that_is_seen_from_inside(tmp_path):
    tree(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup="3:cpu:/x\n2:memory:/docker/abc\n0::/\n")
    group = tmp_path / "sys/fs/cgroup/memory"
    group.mkdir(parents=True)
    for name, text in {"limit_in_bytes": "7000", "usage_in_bytes": "500"}.items():
        (group / f"memory.{name}").write_text(text)
    assert system.free_memory(tmp_path) == 6500


def test_memory_that_nobody_tells_of(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert system.free_memory(tmp_path) is None


def test_names_of_signals():
    assert [system.signal_name(code) for code in (0, 3, -9, -15, -11)] == [
        *("", "", "SIGKILL", "SIGTERM", "SIGSEGV")
    ]
    assert system.signal_name(-200) == "signal 200"


def test_processes_that_live_and_that_have_died():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert system.alive(process.pid)
    process.communicate(b"\n")
    assert not system.alive(process.pid)
    assert system.alive(1)


def test_a_child_of_another_parent_ends_at_once():
    program = "from whyconv import system; system.die_with_parent({}); print('here')"
    ends = [
        subprocess.run([sys.executable, "-c", program.format(pid)], capture_output=True, check=True).stdout
        for pid in (os.getpid(), 1)
    ]
    assert ends == [b"here\n", b""]


def test_interrupts_wait_until_they_are_asked_for():
    with system.deferred_interrupt() as interrupted:
        assert not interrupted()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted()


def test_no_other_module_asks_for_the_system():
    package = Path(whyconv.__file__).parent
    asking = re.compile(
        r"\b(fcntl|msvcrt|sched_getaffinity|O_CLOEXEC|O_NOFOLLOW|sys\.platform|signal\.SIG\w*)\b"
    )
    found = {path.name for path in package.rglob("*.py") if asking.search(path.read_text())}
    assert found == {"system.py"}
