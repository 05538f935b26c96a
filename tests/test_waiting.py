"""A long plan is not silent, a short one is."""

import io
import re
import threading
import time

import pytest
from rich.console import Console

from whyconv import waiting
from whyconv.studies import Point


@pytest.fixture
def told(monkeypatch):
    """What is said while ``work`` goes on, in a terminal or not."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    monkeypatch.setattr(waiting, "PLAIN_EVERY", 0.05)

    def of(work, terminal=False):
        file = io.StringIO()
        one = waiting.Waiting(Console(file=file, force_terminal=terminal, width=80))
        one.start()
        work()
        one.stop()
        one.stop()
        return file.getvalue()

    return of


def planning(seconds, points=3):
    def work():
        for _ in range(points):
            Point({}, None)
        time.sleep(seconds)

    return work


def test_a_short_plan_is_silent(told):
    assert told(planning(0)) == ""


def test_a_long_plan_is_told_again_and_again(told):
    lines = told(planning(0.3)).splitlines()
    assert len(lines) >= 2
    assert set(lines) == {"planning: 3 trials so far, 0 s."}


def test_in_a_terminal_one_line_turns_and_goes(told):
    text = told(planning(0.3), terminal=True)
    assert "planning: 3 trials so far, 0 s" in text
    assert text.endswith("\x1b[1A\x1b[2K")
    assert threading.active_count() < 20


def test_a_run_that_plans_long_says_so(monkeypatch, capsys, tmp_path):
    from runner_fakes import EXECUTE, FakeGrid

    from whyconv import api
    from whyconv.runner import events

    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    monkeypatch.setattr(waiting, "PLAIN_EVERY", 0.05)
    original = FakeGrid.plan
    monkeypatch.setattr(FakeGrid, "plan", lambda self, rows: original(self, rows) + (time.sleep(0.3) or []))
    defaults = events.Options.__init__.__defaults__
    chosen = tuple(EXECUTE if value == "whyconv.execution:execute" else value for value in defaults)
    monkeypatch.setattr(events.Options.__init__, "__defaults__", chosen)
    api.run("fake-grid", seeds=1, out=tmp_path)
    lines = capsys.readouterr().err.splitlines()
    told = lines.index("2 trials: 0 reused; 2 new (never run).")
    assert told >= 1
    assert re.fullmatch(r"planning: 2 trials so far, \d+ s\.", lines[told - 1])
