"""A long plan stays lazy: the rows, events and promises are those of a short one."""

from dataclasses import replace

import pytest
from runner_fakes import FakeCells, completed, options, row, trial

from whyconv.runner import coordinator, environment, planning
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished, Planned, TrialFailed
from whyconv.runner.export import export
from whyconv.runner.reasons import Reasons
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
        (planned.kept_failed, planned.other_environment, planned.differences),
        [trial.key for trial in planned.new],
        sorted((each.key, sorted(each.labels.items()), each.status) for each in ended),
        [each.done for each in ended],
    )


def tables(folder):
    return {path.name: path.read_bytes() for path in export(folder).paths if path.name != "durations.csv"}


def test_rows_and_events_are_those_of_a_short_plan(tmp_path, request):
    short, events = run(tmp_path / "short")
    request.getfixturevalue("lazy")
    long, lazily = run(tmp_path / "long")
    assert isinstance(long.points, CellPlan) and isinstance(long.rows, Stored)
    assert list(long.points) == short.points and len(short.points) == 120
    assert dict(long.rows) == dict(short.rows) and len(long.rows) == 120
    assert told(lazily) == told(events)
    assert tables(tmp_path / "short") == tables(tmp_path / "long")
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


class Repeated(FakeCells, name="fake-repeated"):
    """Every place twice, under two names."""

    def cells(self):
        yield from super().cells()
        for cell in super().cells():
            yield replace(cell, labels={**cell.labels, "arm": "again"})


def found_there(folder):
    """Rows of another run: good, failed, of another processor, and of a trial that is not planned."""
    here = environment.describe()
    with Store.open(folder) as store:
        ours, other = (store.record_environment({**here, "cpu": cpu}) for cpu in (here["cpu"], "an abacus"))
        failed = {"status": "failed", "result": {}, "trace": {}, "error": "no"}
        for seed, changes in enumerate(
            [{}, failed, {"environment": other}, {**failed, "environment": other}]
        ):
            for m in (1, 2):
                store.put(row(trial(m=m, seed=seed), **{"environment": ours, **changes}), 0.1)
        store.put(row(trial(m=99)), 0.1)


@pytest.mark.parametrize(
    "changes", [{}, {"retry_failed": True}, {"strict_environment": True}], ids=["kept", "retried", "strict"]
)
def test_what_is_found_there_is_taken_as_by_a_short_plan(changes, tmp_path, request):
    for name in ("short", "long"):
        found_there(tmp_path / name)
    study = Repeated(places=2, seeds=30)
    short, events = run(tmp_path / "short", study, **changes)
    request.getfixturevalue("lazy")
    long, lazily = run(tmp_path / "long", study, **changes)
    assert isinstance(long.points, CellPlan) and len(long.points) == 120 and len(long.rows) == 60
    assert told(lazily) == told(events)
    assert (dict(long.rows), tables(tmp_path / "long")) == (dict(short.rows), tables(tmp_path / "short"))
    reused = {"kept": 8, "retried": 4, "strict": 4}[request.node.callspec.id]
    assert told(lazily)[0][:2] == (60, reused)


def test_a_plan_that_goes_on_is_not_looked_through_for_reasons(tmp_path, lazy, monkeypatch):
    """A million trials would take half a minute, all for one word."""
    run(tmp_path, FakeCells(places=1, seeds=40))
    asked, reason = [], Reasons.reason
    monkeypatch.setattr(
        Reasons, "reason", lambda self, trial: asked.append(trial.seed) or reason(self, trial)
    )
    assert completed(STUDY, tmp_path, options()).ran == 80
    assert asked == []


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
