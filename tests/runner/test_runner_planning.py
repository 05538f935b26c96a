"""A plan is made once if rows do not matter to it, and never from failed rows."""

from runner_fakes import FakeGrid, FakeSearch, completed, options, row, trial

from whyconv.runner.coordinator import complete
from whyconv.runner.events import Planned
from whyconv.runner.planning import Planner


def counting(study_class, monkeypatch):
    calls = []
    original = study_class.plan
    monkeypatch.setattr(study_class, "plan", lambda self, rows: calls.append(rows) or original(self, rows))
    return calls


def test_a_grid_is_planned_once(tmp_path, monkeypatch):
    calls = counting(FakeGrid, monkeypatch)
    complete(FakeGrid(seeds=2), tmp_path, options(force=False, workers=1))
    assert len(calls) == 1


def test_a_search_is_planned_every_round(tmp_path, monkeypatch):
    calls = counting(FakeSearch, monkeypatch)
    summary = completed(FakeSearch(seeds=1), tmp_path, options())
    assert len(calls) == 1 + summary.total, "before there is a store, and after every round"


def test_an_outlook_is_asked_for_once(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(FakeSearch, "adaptive", True)
    monkeypatch.setattr(FakeSearch, "outlook", lambda self: asked.append(1) or [trial(m=10), trial(m=20)])
    events = []
    complete(FakeSearch(seeds=1), tmp_path, options(force=False, workers=1), events.append)
    assert len(asked) == 1
    first = events[0]
    assert isinstance(first, Planned) and [each.m for each in first.outlook] == [10, 20]


def test_failed_rows_are_not_shown():
    class Looking(FakeGrid):
        def plan(self, rows):
            return [] if trial().key in rows else super().plan(rows)

    Looking.name = "looking"
    planner = Planner(Looking())
    failed = row(trial(), status="failed", result={}, trace={}, error="no memory")
    assert planner.plan({trial().key: failed})
    assert planner.plan({trial().key: row(trial())}) == []
