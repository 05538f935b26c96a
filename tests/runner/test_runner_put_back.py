"""A worker that is killed from outside says nothing about its trial, which is tried again."""

import os
import signal

import pytest
from runner_fakes import FakeGrid, completed, options, outcome, trial

from whyconv.runner import child
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished, PutBack, Tick
from whyconv.runner.store import Store

pytestmark = pytest.mark.usefixtures("no_warm_workers")


@pytest.fixture
def dying(tmp_path, monkeypatch):
    """Run trials whose workers die so often by this signal; the events, the rows and the tries."""
    (tmp_path / "tries").mkdir()
    monkeypatch.setenv("FAKE_TRIES", str(tmp_path / "tries"))

    def run(name, deaths, seeds=1):
        monkeypatch.setenv("FAKE_SIGNAL", name)
        monkeypatch.setenv("FAKE_DEATHS", str(deaths))
        events = []
        study = FakeGrid(does=("dies",), ms=(10,), seeds=seeds)
        rows = complete(study, tmp_path / "out", options(), events.append).rows
        tries = {path.name: len(path.read_text()) for path in (tmp_path / "tries").iterdir()}
        return events, rows, tries

    return run


@pytest.fixture
def hangup():
    """Workers inherit what to do at a hangup, and under nohup that is nothing."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_two_kills_change_nothing(dying, name, hangup):
    events, rows, tries = dying(name, 2)
    of = trial("dies")
    assert (rows[of.key].status, rows[of.key].result) == ("ok", outcome(of)[0])
    assert tries == {of.key: 3}
    told = [event for event in events if not isinstance(event, Tick)][1:]
    back = PutBack({"does": "dies", "m": 10}, of.key, f"worker died: killed by {name}")
    assert told[:2] == [back, back]
    assert [type(event) for event in told[2:]] == [Finished]


def test_the_third_kill_is_the_result_and_every_trial_has_three_tries_of_its_own(dying, tmp_path):
    events, rows, tries = dying("SIGKILL", 99, seeds=2)
    assert {row.error for row in rows.values()} == {"worker died: killed by SIGKILL"}
    assert set(tries.values()) == {3}
    assert sum(isinstance(event, PutBack) for event in events) == 4
    with Store.read(tmp_path / "out") as store:
        assert len(store.contents().durations()) == 2  # a trial that was put back has not ended


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT"])
def test_a_crash_of_its_own_fails_at_once(dying, name):
    events, rows, tries = dying(name, 1)
    assert [row.error for row in rows.values()] == [f"worker died: killed by {name}"]
    assert list(tries.values()) == [1]
    assert not any(isinstance(event, PutBack) for event in events)


def test_a_kill_by_somebody_else(tmp_path, monkeypatch):
    workers, killed = [], []
    original = child.Child.__init__

    def noting(self, *args):
        workers.append(self)
        original(self, *args)

    def kill(event):
        if isinstance(event, Tick) and event.running and event.running[0][1] > 0 and not killed:
            killed.append(workers[0].process.pid)
            os.kill(killed[0], signal.SIGTERM)

    monkeypatch.setattr(child.Child, "__init__", noting)
    study = FakeGrid(does=("beat",), ms=(10,), seeds=1)
    summary = completed(study, tmp_path, options(workers=1), kill)
    assert killed
    assert (summary.ran, summary.failed, len(workers)) == (1, 0, 2)
