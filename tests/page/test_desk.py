"""The desk that runs questions in the background: what it compiles ahead, its line, its faults."""

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.errors import UserError
from whyconv.page import catalogue, desk, shown
from whyconv.page.desk import neighbours
from whyconv.page.known import Known


class QuietPool:
    """A pool that remembers what it was given; every trial is over at once."""

    unfinished = 0

    def __init__(self):
        self.given = []

    def start(self, *_):
        pass

    begin = clear = close = start

    def submit(self, key, spec, program):
        self.given.append(program)


def test_programs_that_a_click_may_need_are_compiled_ahead_once_each(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(desk, "Pool", lambda: made.append(QuietPool()) or made[-1])
    here = desk.Desk(Known(tmp_path), 1)
    try:
        question = catalogue.asked({"task": "bits"})
        wanted = {point.trial.program for near in neighbours(question) for point in shown.planned(near)}
        own = {point.trial.program for point in shown.planned(question)}
        here._compiled |= own
        here._ahead = here._neighbours(question)
        ends = time.monotonic() + 20
        while here._ahead:
            assert time.monotonic() < ends
            time.sleep(0.01)
    finally:
        here.close()
    assert sorted(made[0].given) == sorted(wanted - own) and wanted - own


def test_the_line_of_questions_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(desk, "Pool", QuietPool)
    here, free = desk.Desk(Known(tmp_path), 1), threading.Event()
    try:
        for _ in range(desk.MOST_WAITING):
            here.ask(None, lambda asked: free.wait(20) and None)
        with pytest.raises(UserError, match="questions wait already; stop one, or ask again later"):
            here.ask(None, lambda asked: None)
    finally:
        free.set()
        here.close()


class BrokenPool:
    """A pool whose workers cannot be started."""

    def __init__(self):
        self.cleared = threading.Event()

    def start(self, *_):
        raise RuntimeError("no process")

    begin = start

    def clear(self):
        self.cleared.set()

    def close(self):
        pass


def test_the_desk_goes_on_when_starting_or_compiling_ahead_fails(tmp_path, monkeypatch, capsys):
    made = []
    monkeypatch.setattr(desk, "Pool", lambda: made.append(BrokenPool()) or made[-1])
    here = desk.Desk(Known(tmp_path), 1)
    try:
        done = threading.Event()
        here.ask(None, lambda asked: done.set())
        assert done.wait(20) and made[0].cleared.wait(20), "the first start has failed, the line goes on"
        made[0].cleared.clear()
        here._ahead = catalogue.asked({"task": "bits"}).plan({})
        assert made[0].cleared.wait(20) and not here._ahead
        again = threading.Event()
        here.ask(None, lambda asked: again.set())
        assert again.wait(20)
    finally:
        here.close()
    assert "no process" in capsys.readouterr().err


def test_what_is_over_keeps_no_data(tmp_path, monkeypatch):
    monkeypatch.setattr(desk, "Pool", QuietPool)
    here = desk.Desk(Known(tmp_path), 1)

    class Data:
        """Stands for what an audit has read."""

    def begun(end):
        data = Data()
        return here.ask(None, lambda asked: end(data)), weakref.ref(data)

    def stopped(_):
        raise desk.Stopped

    def refused(_):
        raise UserError("no.")

    try:
        all_begun = [begun(end) for end in (id, stopped, refused)]
        ends = time.monotonic() + 20
        while not all(asked.work is None for asked, _ in all_begun):
            assert time.monotonic() < ends
            time.sleep(0.01)
        gc.collect()
        assert [asked.status for asked, _ in all_begun] == ["ended", "stopped", "refused"]
        assert [data() for _, data in all_begun] == [None] * 3
    finally:
        here.close()


@pytest.mark.skipif(sys.platform == "win32", reason="asks whether a process lives")
def test_temporary_folders_of_killed_servers_are_deleted_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = [f"{desk.ROOM}{gone.pid}-x_7", f"{desk.ROOM}{os.getppid()}-x", f"{desk.ROOM}mine-x", "other"]
    for name in names:
        (tmp_path / name / "checkpoints").mkdir(parents=True)
    desk.sweep()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])
    monkeypatch.setattr(desk, "Pool", QuietPool)
    here = desk.Desk(Known(tmp_path / "rows"), 1)
    try:
        ends = time.monotonic() + 20
        while not list(tmp_path.glob(f"{desk.ROOM}{os.getpid()}-*")):
            assert time.monotonic() < ends
            time.sleep(0.01)
    finally:
        here.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])
