"""Work that does not fit is refused before it starts, in a sentence with what would fit."""

import shutil
from types import SimpleNamespace

import pytest
from runner_fakes import FakeGrid, FakeLearner, FakeSearch, options, trial

from whyconv import system
from whyconv.errors import UserError
from whyconv.learners import Cost
from whyconv.runner import fit
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Planned
from whyconv.runner.forecast import WORKER_BYTES, forecast


@pytest.fixture
def machine(monkeypatch):
    """A machine of this size."""

    def of(cores=4, memory=8e9, disk=1e12):
        monkeypatch.setattr(system, "cores", lambda: cores)
        monkeypatch.setattr(system, "free_memory", lambda: memory)
        monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=int(disk)))

    of()
    return of


def asked(workers, m=10, trials=8, force=False, folder="some/where"):
    todo = [trial(m=m, seed=seed) for seed in range(trials)]
    return fit.workers(todo, fit.Path(folder), options(workers=workers, force=force))


def refusal(*args, **settings):
    with pytest.raises(UserError) as caught:
        asked(*args, **settings)
    return str(caught.value)


def test_what_fits_is_not_changed(machine):
    assert [asked(workers) for workers in (1, 4, None)] == [1, 4, 4]


def test_more_workers_than_cores_are_refused(machine):
    assert refusal(5) == (
        "workers = 5 was given; give at most 4, one for every core, or run it anyway with --force."
    )
    assert asked(5, force=True) == 5


def test_more_memory_than_there_is(machine):
    """A worker holds 0.45 GB and 1,000 bytes an example: with m = 2,550,000, three in all."""
    assert refusal(4, m=2_550_000) == (
        "workers = 4 would need 12.0 GB of memory, and 8.0 GB are free; give at most 2, or run it anyway "
        "with --force."
    )
    assert asked(2, m=2_550_000) == 2
    assert asked(4, m=2_550_000, force=True) == 4
    assert asked(4, m=2_550_000, trials=2) == 2  # no more than two can be at work
    assert refusal(4, m=9_000_000) == (
        "workers = 4 would need 37.8 GB of memory, and 8.0 GB are free, too little for even one; take fewer "
        "examples (the largest m is 9,000,000) or a smaller network, or run it anyway with --force."
    )


def test_without_a_number_there_are_as_many_as_fit(machine):
    assert asked(None, m=2_550_000) == 2
    assert "too little for even one" in refusal(None, m=9_000_000)
    machine(memory=None)
    assert asked(None, m=9_000_000) == 4


def test_the_forecast_and_the_refusal_count_alike(machine):
    todo = [trial(m=m) for m in (10, 1000)]
    assert forecast(todo, 2).memory == 2 * (WORKER_BYTES + 1000 * 1000)


def test_more_rows_than_the_disk_takes(machine):
    machine(disk=10_003_999)
    assert asked(1, trials=1) == 1
    assert refusal(1, trials=2) == (
        "2 more rows would need 10 MB on the disk of some/where, and 10 MB are free, enough for 1; free some "
        "space, take fewer seeds or another folder, or run it anyway with --force."
    )
    assert asked(1, trials=2, force=True) == 1


def test_a_disk_is_asked_for_a_folder_that_is_not_there_yet(tmp_path, monkeypatch):
    asked_for = []
    monkeypatch.setattr(
        shutil, "disk_usage", lambda place: asked_for.append(place) or SimpleNamespace(free=0)
    )
    with pytest.raises(UserError, match="0 MB are free, enough for 0"):
        fit.workers([trial()], tmp_path / "a" / "b", options(workers=1, force=False))
    assert asked_for == [tmp_path]


def test_what_is_refused_leaves_nothing_and_what_is_done_is_not_counted(machine, tmp_path):
    machine(cores=2, memory=1e9)
    study = FakeGrid(ms=(10,), seeds=2)
    large = FakeGrid(ms=(10, 2_000_000), seeds=2)
    with pytest.raises(UserError, match="too little for even one"):
        complete(large, tmp_path / "out", options(force=False))
    assert not (tmp_path / "out").exists()
    complete(study, tmp_path / "out", options(force=False))
    with pytest.raises(UserError, match="too little for even one"):
        complete(large, tmp_path / "out", options(force=False))
    complete(large, tmp_path / "out", options(force=True))
    events = []
    complete(large, tmp_path / "out", options(force=False), events.append)
    assert events == [Planned(4, 4, 0, {}, 0)]


def test_an_adaptive_study_is_judged_by_its_outlook(machine, tmp_path, monkeypatch):
    machine(cores=2, memory=1e9)
    monkeypatch.setattr(FakeSearch, "adaptive", True)
    monkeypatch.setattr(FakeSearch, "outlook", lambda self: [trial(m=2_000_000)])
    with pytest.raises(UserError, match="the largest m is 2,000,000"):
        complete(FakeSearch(seeds=1), tmp_path / "out", options(force=False))
    assert not (tmp_path / "out").exists()


def test_the_workers_that_fit_are_told(machine, tmp_path, monkeypatch):
    machine(cores=2, memory=1e9)
    monkeypatch.setattr(FakeLearner, "cost", lambda self, network, shape, m: Cost(1.0, 1.0, 2e8))
    events = []
    complete(FakeGrid(seeds=1), tmp_path, options(workers=None, force=False), events.append)
    assert events[0].workers == 1
