"""Rows from another environment are announced, and computed anew if asked for; a folder that goes is told."""

import shutil

import pytest
from runner_fakes import FakeGrid, completed, options, row, trial

from whyconv.errors import UserError
from whyconv.runner import environment
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished
from whyconv.runner.store import Store

HERE = environment.identity(environment.describe())


def run(study, out, **changes):
    events = []
    return completed(study, out, options(**changes), events.append), events[0]


@pytest.fixture
def mixed(tmp_path):
    """A folder with rows of another processor, of an environment that nobody described, and of here."""
    study = FakeGrid(ms=(10,), seeds=3)
    run(study, tmp_path)
    with Store.open(tmp_path) as store:
        other = store.record_environment({**environment.describe(), "cpu": "an abacus"})
        store.put(row(trial(seed=1), environment=other), 0.1)
        store.put(row(trial(seed=2)), 0.1)
    return study, tmp_path


def test_what_is_different_is_told(mixed):
    summary, planned = run(*mixed)
    assert (summary.ran, planned.other_environment, planned.reused) == (0, 2, 3)
    assert planned.differences == (f"cpu: an abacus, here {environment.describe()['cpu']}",)


def test_the_environment_of_a_dead_worker_is_not_compared(mixed):
    with Store.open(mixed[1]) as store:
        store.put(row(trial(seed=2), environment=store.record_environment({})), 0.1)
    _, planned = run(*mixed)
    assert len(planned.differences) == 1 and planned.differences[0].startswith("cpu: an abacus")


def test_rows_from_elsewhere_are_computed_anew_if_asked_for(mixed):
    summary, planned = run(*mixed, strict_environment=True)
    assert (planned.reused, planned.other_environment, summary.ran) == (1, 0, 2)
    assert planned.new_by_reason == {"computed in another environment": 2}
    assert {each.environment for each in summary.rows.values()} == {HERE}
    summary, planned = run(*mixed, strict_environment=True)
    assert (planned.reused, summary.ran) == (3, 0)


def test_a_row_has_the_environment_of_its_worker(tmp_path, monkeypatch):
    assert HERE  # described before the variable is set, as by a coordinator that sets it for its workers
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=SSE4_2")
    summary, _ = run(FakeGrid(does=("work", "raise", "exit3"), ms=(10,), seeds=1), tmp_path)
    (there,) = {each.environment for each in summary.rows.values()}
    assert there != HERE
    with Store.read(tmp_path) as store:
        assert store.contents().environments() == {
            there: {**environment.describe(), "switches": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"}}
        }


def moved(folder):
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder):
    moved(folder)
    with Store.open(folder):
        pass


@pytest.mark.parametrize("go", [moved, replaced, shutil.rmtree])
@pytest.mark.parametrize("after", [1, 4])
def test_a_folder_that_goes_during_a_run_is_an_error(tmp_path, go, after):
    told = []

    def watch(event):
        if isinstance(event, Finished):
            told.append(event.key)
            if event.done == after:
                go(tmp_path / "out")

    with pytest.raises(UserError, match=r"out was deleted or moved while it was being written; "):
        complete(FakeGrid(seeds=2), tmp_path / "out", options(workers=1), watch)
    assert len(told) == after
    if go is not shutil.rmtree:
        with Store.read(tmp_path / "elsewhere") as store:
            assert set(told) <= store.rows().keys()
