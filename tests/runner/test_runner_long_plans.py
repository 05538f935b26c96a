"""A long plan stays lazy: the rows, events and promises are those of a short one."""

import pytest
from runner_fakes import FakeCells, completed, options

from whyconv.runner import coordinator, planning
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished, Planned, TrialFailed
from whyconv.runner.export import export
from whyconv.runner.store import Store
from whyconv.runner.stored import Stored
from whyconv.studies.lazily import CellPlan

STUDY = FakeCells(places=3, seeds=40)


@pytest.fixture
def lazy(monkeypatch):
    monkeypatch.setattr(planning, "LAZY_ABOVE", 50)
    monkeypatch.setattr(coordinator, "WAITING", 20)


def run(folder, study=STUDY, **changes):
    events = []
    return complete(study, folder, options(**changes), events.append), events


def told(events):
    planned = next(each for each in events if isinstance(each, Planned))
    ended = [each for each in events if isinstance(each, Finished)]
    return (
        (planned.total, planned.reused, planned.new_by_reason, planned.workers, planned.kept),
        [trial.key for trial in planned.new],
        sorted((each.key, sorted(each.labels.items()), each.status) for each in ended),
        [each.done for each in ended],
    )


def test_rows_and_events_are_those_of_a_short_plan(tmp_path, request):
    short, events = run(tmp_path / "short")
    request.getfixturevalue("lazy")
    long, lazily = run(tmp_path / "long")
    assert isinstance(long.points, CellPlan) and isinstance(long.rows, Stored)
    assert list(long.points) == short.points and len(short.points) == 120
    assert dict(long.rows) == dict(short.rows) and len(long.rows) == 120
    assert told(lazily) == told(events)
    tables = [
        {
            path.name: path.read_bytes()
            for path in export(tmp_path / name).paths
            if path.name != "durations.csv"
        }
        for name in ("short", "long")
    ]
    assert tables[0] == tables[1]
    lines = [STUDY.table(each.points, each.rows).drop(columns="seconds") for each in (long, short)]
    assert lines[0].equals(lines[1])


def test_it_goes_on_where_it_was(tmp_path, lazy, monkeypatch):
    monkeypatch.setattr(coordinator._Batch, "LONGEST", 0.0)  # a slow disk would have all rows in one batch

    class Enough(Exception):
        pass

    def watch(event):
        if isinstance(event, Finished) and event.done >= 30:
            raise Enough

    with pytest.raises(Enough):
        complete(STUDY, tmp_path, options(), watch)
    with Store.read(tmp_path) as store:
        kept = set(store.rows())
    done = len(kept)
    assert 30 <= done < 120
    events = []
    again = completed(STUDY, tmp_path, options(), events.append)
    assert (again.ran, again.total) == (120 - done, 120)
    planned = next(each for each in events if isinstance(each, Planned))
    assert (planned.reused, planned.new_by_reason) == (done, {"never run": 120 - done})
    assert [trial.seed for trial in planned.new] == [
        point.trial.seed for point in again.points if point.trial.key not in kept
    ]
    assert completed(STUDY, tmp_path, options()).ran == 0


def test_rows_are_told_in_full(tmp_path, lazy):
    _, events = run(tmp_path, FakeCells(places=2, seeds=30))
    told = {each.key: each.row for each in events if isinstance(each, Finished)}
    with Store.read(tmp_path) as store:
        assert told == store.rows() and len(told) == 60


def test_the_first_failure_ends_the_run_if_asked_for(tmp_path, lazy):
    with pytest.raises(TrialFailed, match=r"arm fake, m \d failed \(ValueError.*without --fail-fast"):
        run(tmp_path, FakeCells(places=2, seeds=30, does="raise"), fail_fast=True)


def test_few_trials_wait_at_the_place(tmp_path, lazy, monkeypatch):
    from whyconv.runner.pool import Pool

    most, submit = [0], Pool.submit

    def noting(self, *words):
        submit(self, *words)
        most[0] = max(most[0], self.unfinished)

    monkeypatch.setattr(Pool, "submit", noting)
    run(tmp_path)
    assert most == [20]


def test_more_seeds_reuse_the_rows_of_a_short_plan(tmp_path, lazy):
    run(tmp_path, FakeCells(places=1, seeds=40))
    assert completed(STUDY, tmp_path, options()).ran == 80
