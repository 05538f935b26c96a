"""The coordinator gets everything done, whatever single trials do."""

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext
from types import SimpleNamespace

import pytest
from runner_fakes import (
    FakeGrid,
    FakeNetwork,
    FakeRefusal,
    FakeSearch,
    FakeTwice,
    begun,
    completed,
    options,
    row,
    trial,
)

from whyconv.errors import UserError
from whyconv.runner import child, coordinator, environment, pool
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished, Interrupted, Planned, Tick, TrialFailed
from whyconv.runner.reasons import Reasons
from whyconv.runner.store import Store


def run(study, out, **changes):
    """The events of a run, and its summary."""
    events = []
    summary = completed(study, out, options(**changes), events.append)
    return events, summary


def planned(events):
    return next(event for event in events if isinstance(event, Planned))


def test_every_trial_gets_a_row_and_nothing_is_run_twice(tmp_path):
    study = FakeGrid(seeds=3)
    events, summary = run(study, tmp_path / "a" / "b")
    assert planned(events) == Planned(6, 0, 0, {"never run": 6}, 0)
    finished = [event for event in events if isinstance(event, Finished)]
    assert [event.done for event in finished] == [1, 2, 3, 4, 5, 6]
    assert {event.total for event in finished} == {6}
    assert (len(summary.rows), summary.reused, summary.ran, summary.failed) == (6, 0, 6, 0)
    for point in study.plan({}):
        wanted = row(point.trial, environment=environment.identity(environment.describe()))
        assert summary.rows[point.trial.key] == wanted
    events, summary = run(study, tmp_path / "a" / "b")
    assert events == [Planned(6, 6, 0, {}, 0)]
    assert (summary.reused, summary.ran) == (6, 0)
    left = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    assert left == {"whyconv.sqlite", "lock", "acknowledged"}


FATES = {
    "raise": "ValueError: a trial that fails",
    "nan": "ValueError: the column 'value' holds nan, which is not a finite number",
    "inf": "ValueError: the column 'third' holds -inf, which is not a finite number",
    "trace": "ValueError: the trace 'loss' holds nan, which is not a finite number",
    "array": "TypeError: the column 'value' holds a list; allowed are numbers, texts, True and False.",
    "hang": "hung: no progress for 2 s",
    "kill": "worker died: killed by SIGKILL",
    "exit0": "worker died: exit code 0",
    "exit3": "worker died: exit code 3",
    "leave": "SystemExit: no more",
    "read": "EOFError: EOF when reading a line",
    "mute": "worker died: it closed its pipe",
    "address": "RuntimeError: <object object at 0x...> is no good",
    "print": "",
    "surrogate": "",
    "beat": "",
    "work": "",
}


def test_a_trial_that_ends_badly_costs_itself_only(tmp_path):
    study = FakeGrid(does=tuple(FATES), ms=(10,), seeds=1)
    _, summary = run(study, tmp_path, limit=2.0)
    errors = {does: set() for does in FATES}
    for each in summary.rows.values():
        errors[each.spec["learner"].get("does", "work")].add(each.error)
        assert each.status == ("failed" if each.error else "ok")
    assert errors == {does: {error} for does, error in FATES.items()}
    with Store.read(tmp_path) as store:
        assert 'raise ValueError("a trial\\nthat fails")' in store.contents().tracebacks()[trial("raise").key]
        assert store.verify() == []
    assert "noise" in (tmp_path / "workers.log").read_text()


def test_failed_rows_are_kept_unless_they_are_to_be_retried(tmp_path):
    study = FakeGrid(does=("work", "raise"), ms=(10,), seeds=2)
    run(study, tmp_path)
    events, summary = run(study, tmp_path)
    assert events == [Planned(4, 4, 2, {}, 0)]
    assert summary.failed == 2
    events, summary = run(study, tmp_path, retry_failed=True)
    assert events[0] == Planned(4, 2, 0, {"failed before and tried again": 2}, 0)
    assert events[0].new == (trial("raise"), trial("raise", seed=1))
    assert events[0].kept == {trial("work").key, trial("work", seed=1).key}
    assert (summary.reused, summary.ran, summary.failed) == (2, 2, 2)
    with Store.read(tmp_path) as store:
        assert [d.attempt for d in store.contents().durations() if d.key == trial("raise").key] == [1, 2]


def test_fail_fast_stops_at_the_first_failure_and_keeps_the_rows(tmp_path):
    study = FakeGrid(does=("work", "raise", "hang"), ms=(10,), seeds=3)
    began = time.monotonic()
    with pytest.raises(TrialFailed, match=r"does raise, m 10 failed \(ValueError: a trial that fails\)"):
        run(study, tmp_path, fail_fast=True, workers=1)
    assert time.monotonic() - began < 10
    with Store.read(tmp_path) as store:
        assert len(store.rows()) == 4


def test_two_labels_of_one_trial_run_it_once(tmp_path):
    events, summary = run(FakeTwice(seeds=2), tmp_path)
    assert planned(events).total == summary.ran == 4
    assert len(summary.points) == 8


def test_an_adaptive_plan_is_asked_until_it_wants_no_more(tmp_path):
    study = FakeSearch(seeds=2)
    events, summary = run(study, tmp_path)
    rounds = [event for event in events if isinstance(event, Planned)]
    assert len(rounds) > 1
    assert [each.total for each in rounds] == [2 * (i + 1) for i in range(len(rounds))]
    assert all(each.new_by_reason == {"never run": 2} for each in rounds)
    assert len(summary.points) == len(summary.rows) == rounds[-1].total
    assert run(study, tmp_path)[0] == [Planned(len(summary.rows), len(summary.rows), 0, {}, 0)]


def test_a_failed_trial_does_not_steer_a_search(tmp_path):
    study = FakeSearch(seeds=2)
    _, whole = run(study, tmp_path / "whole")
    assert len(whole.rows) > 2
    with Store.open(tmp_path / "broken") as store:
        store.put(row(trial(seed=1), status="failed", result={}, trace={}, error="out of memory"), 0.1)
    events, summary = run(study, tmp_path / "broken")
    assert (len(summary.rows), summary.failed) == (2, 1)
    assert planned(events).new_by_reason == {"never run": 1}
    _, summary = run(study, tmp_path / "broken", retry_failed=True)
    assert (summary.rows, summary.points) == (whole.rows, whole.points)


def test_ticks_tell_what_runs_and_how_far_it_is(tmp_path):
    events, _ = run(FakeGrid(does=("beat",), ms=(10,), seeds=1), tmp_path)
    seen = [event.running[0] for event in events if isinstance(event, Tick) and event.running]
    assert {labels["does"] for labels, _ in seen} == {"beat"}
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert 0.5 < fractions[-1] < 1


@pytest.fixture
def started(no_warm_workers, monkeypatch):
    """The workers as they are started."""
    workers = []
    original = child.Child.__init__

    def noting(self, *args):
        workers.append(self)
        original(self, *args)

    monkeypatch.setattr(child.Child, "__init__", noting)
    return workers


def test_no_more_workers_than_allowed_and_no_more_than_needed(tmp_path, started):
    run(FakeGrid(ms=(10,), seeds=1), tmp_path / "one", workers=4)
    assert len(started) == 1
    run(FakeGrid(seeds=10), tmp_path / "many", workers=2)
    assert len(started) == 2, "the first one is used again"


# -- why trials are run -------------------------------------------------------------------------------


def test_a_raised_version_is_named(tmp_path, monkeypatch):
    run(FakeGrid(seeds=2), tmp_path)
    monkeypatch.setattr(FakeNetwork, "version", 2)
    monkeypatch.setenv("FAKE_NETWORK_VERSION", "2")
    events, summary = run(FakeGrid(seeds=2), tmp_path)
    assert planned(events).new_by_reason == {"network fake-network is now version 2 (rows have 1)": 4}
    assert summary.ran == 4
    with Store.read(tmp_path) as store:
        assert len(store.rows()) == 8


def test_changed_settings_are_named(tmp_path):
    run(FakeGrid(seeds=2, ms=(10,)), tmp_path)
    events, _ = run(FakeGrid(seeds=3, ms=(10,)), tmp_path)
    assert planned(events) == Planned(3, 2, 0, {"the settings changed": 1}, 0)


def test_a_damaged_row_is_run_again(tmp_path):
    _, summary = run(FakeGrid(seeds=2), tmp_path)
    key = trial(seed=1).key
    with Store.open(tmp_path) as store:
        store._connection.execute("UPDATE rows SET result = '{}' WHERE key = ?", (key,))
    events, again = run(FakeGrid(seeds=2), tmp_path)
    assert planned(events).new_by_reason == {"the stored row was damaged": 1}
    assert again.rows == summary.rows


def test_rows_of_another_environment_are_reused_and_counted(tmp_path):
    with Store.open(tmp_path) as store:
        store.put(row(trial(seed=1)), 0.1)
    events, summary = run(FakeGrid(seeds=2), tmp_path)
    assert planned(events) == Planned(4, 1, 0, {"never run": 3}, 1)
    assert summary.rows[trial(seed=1).key].environment == "0" * 16


def test_the_reason_is_what_differs_from_the_nearest_row():
    of = trial()
    now = of.versions

    def reason(*versions):
        older = [row(of, versions=each) for each in versions]
        return Reasons(older, set(), set(), False).reason(of)

    network = {**now, "network fake-network": "7"}
    assert reason({**network, "trial": "9"}, network) == "network fake-network is now version 1 (rows have 7)"
    assert reason({**now, "data": "ab"}) == "the data files changed"
    assert reason({**now, "task fake-task": "1+abcdef"}) == "the file of task fake-task changed"
    assert reason() == "never run"


USERS_FILE = """
from whyconv.networks import Network

class Mine(Network, name="users-own"):
    \"\"\"A user's own.\"\"\"
    {extra}
    init = apply = parameter_count = flops = lambda *_: None
"""


def own_study(path):
    """A study over the network in a user's own file."""
    from whyconv import registry
    from whyconv.studies import Point

    registry.load(path)
    own = registry.find("network", "users-own")

    class Own(FakeGrid):
        def plan(self, rows):
            trials = [trial(seed=seed).model_copy(update={"network": own()}) for seed in range(self.seeds)]
            return [Point({"seed": each.seed}, each) for each in trials]

    Own.name = "users-study"
    return Own(seeds=2)


def test_pieces_of_a_users_file_work_in_workers_and_an_edit_is_noticed(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(USERS_FILE.format(extra="width: int = 3"))
    study = own_study(mine)
    with pytest.raises(UserError, match="give it with --load") as caught:
        run(study, tmp_path / "out")
    assert "there is no network 'users-own'" in str(caught.value)
    _, summary = run(study, tmp_path / "out", loads=(str(mine),))
    assert summary.failed == 0
    mine.write_text(USERS_FILE.format(extra="width: int = 4"))
    with pytest.raises(UserError, match="changed during the run"):  # this process holds the old one
        run(study, tmp_path / "new", loads=(str(mine),))
    events, summary = run(own_study(mine), tmp_path / "out", loads=(str(mine),))
    assert planned(events).new_by_reason == {"the file of network users-own changed": 2}


# -- starting and stopping ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("execute", "sentence"),
    [
        ("runner_fakes:nothing", "a worker could not start: AttributeError: module 'runner_fakes' has no"),
        (
            "no_such_module:f",
            "a worker could not start: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("runner_dies_at_import:f", "3 workers in a row ended while starting (worker died: exit code 9)"),
    ],
)
def test_workers_that_cannot_start_end_the_run(tmp_path, monkeypatch, execute, sentence):
    (tmp_path / "runner_dies_at_import.py").write_text("import os; os._exit(9)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught:
        run(FakeGrid(), tmp_path / "out", execute=execute)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_an_idle_worker_that_is_killed_is_replaced(tmp_path, started, pause):
    """Between two rounds it has nothing in its hands; without a pause it dies while it gets a trial."""

    def kill(event):
        if isinstance(event, Finished) and event.done == 1:
            os.kill(started[0].process.pid, signal.SIGKILL)
            time.sleep(pause)

    start = next(m for m in range(10, 20) if row(trial(m=m)).result["value"] < 0.5)
    summary = completed(FakeSearch(seeds=1, start=start), tmp_path, options(), kill)
    assert summary.ran > 1
    assert summary.failed == 0
    assert len(started) == 2


def test_a_trial_handed_to_a_dying_worker_is_handed_to_another(tmp_path, started):
    local = begun(tmp_path, 30.0)
    local.submit(trial().key, trial().canonical(), trial().program)
    while not (started and started[0].ready):
        local._hand_out()
        local._listen(started[0])
    os.kill(started[0].process.pid, signal.SIGSTOP)
    local._hand_out()
    assert local.running() == {trial().key: 0.0}
    os.kill(started[0].process.pid, signal.SIGKILL)
    outcomes = []
    while not outcomes:
        outcomes = local.wait(0.1)
    local.close()
    assert [(outcome.key, outcome.status) for outcome in outcomes] == [(trial().key, "ok")]


def test_what_a_worker_said_before_it_died_counts(tmp_path):
    local = begun(tmp_path, 30.0)
    of = trial("doomed")
    local.submit(of.key, of.canonical(), of.program)
    while not local.running():
        local.wait(0.01)
    (worker,) = local._workers
    worker.process.wait()
    (outcome,) = local._look_after(worker)
    assert (outcome.key, outcome.status) == (of.key, "ok")
    assert local.unfinished == 0
    local.close()


def test_a_study_that_cannot_be_planned_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="fetch them"):
        run(FakeRefusal(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


LIMITS = (0, -1, 0.5, 1e-320, float("nan"), float("inf"), True, "long")
WORKERS = (0, -1, 1001, 2**63, 2.0, True, "two")


@pytest.mark.parametrize(
    "changes", [*({"workers": each} for each in WORKERS), *({"limit": each} for each in LIMITS)], ids=str
)
def test_impossible_options_are_refused(changes):
    (given,) = changes.values()
    with pytest.raises(UserError, match=rf"{given} (seconds )?was given; give a "):
        options(**changes)


def test_an_error_of_the_watcher_ends_the_workers_and_keeps_the_rows(tmp_path):
    def fail(event):
        if isinstance(event, Finished):
            raise RuntimeError("a broken pipe, say")

    with pytest.raises(RuntimeError):
        complete(FakeGrid(), tmp_path, options(), fail)
    with Store.read(tmp_path) as store:
        kept = len(store.rows())
    assert kept >= 1, "at least what was reported"
    assert run(FakeGrid(), tmp_path)[1].reused == kept


def test_it_works_in_another_thread_than_the_main_one(tmp_path):
    results = []
    thread = threading.Thread(target=lambda: results.append(run(FakeGrid(seeds=2), tmp_path)))
    thread.start()
    thread.join()
    assert results[0][1].ran == 4


def test_interrupting_keeps_rows_and_counts_them(tmp_path):
    def press(event):
        if isinstance(event, Finished) and event.done == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    study = FakeGrid(does=("work", "hang"), ms=(10,), seeds=3)
    with pytest.raises(Interrupted) as caught:
        complete(study, tmp_path, options(), press)
    assert (caught.value.done, caught.value.total) == (3, 6)
    assert "3 of 6 trials are done and kept" in str(caught.value)
    assert signal.getsignal(signal.SIGINT) is before
    with Store.read(tmp_path) as store:
        assert len(store.rows()) == 3


def test_an_interrupt_just_when_rows_wait_to_be_written_loses_none(tmp_path, monkeypatch):
    """Pressed at the worst moment: after it was decided whether to write, before the run looks once more."""
    place, ended, asked = pool.Pool(), [], [0]

    def wait(seconds, original=place.wait):
        asked[0] = 0
        ended.extend(found := original(seconds))
        return found

    def interrupted():
        asked[0] += 1
        return len(ended) >= 3 and asked[0] > 1

    monkeypatch.setattr(place, "wait", wait)
    monkeypatch.setattr(coordinator.system, "deferred_interrupt", lambda: nullcontext(interrupted))
    monkeypatch.setattr(coordinator._Batch, "patience", 0.01)  # not time to write
    with closing(place), pytest.raises(Interrupted):
        complete(FakeGrid(seeds=4), tmp_path, options(workers=1), place=place)
    with Store.read(tmp_path) as store:
        assert store.rows().keys() == {each.key for each in ended}


def test_an_interrupt_while_planning_is_told_the_same_way(tmp_path):
    class Pressed(FakeGrid):
        def plan(self, rows):
            if rows:
                raise KeyboardInterrupt
            return super().plan(rows)

    Pressed.name = "pressed"
    with pytest.raises(Interrupted):
        run(Pressed(), tmp_path)


def test_a_stopped_clock_does_not_count_as_a_hang(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(pool.time, "monotonic", lambda: now[0])
    clock = pool._Clock()
    for step in (0.2, 3600.0, 0.3):
        now[0] += step
        clock.advance()
    assert clock.seconds == pytest.approx(1.5)


def test_a_worker_that_was_heard_just_now_is_not_hung(tmp_path):
    """However long the coordinator was at something else before it listened."""
    waiting = begun(tmp_path, 1.0)
    beat = {"type": "beat", "fraction": 0.5}
    worker = SimpleNamespace(
        key="k", job={}, ready=True, heard=0.0, death=lambda: "", messages=lambda: [beat], end=lambda: None
    )
    reading, writing = os.pipe()
    os.write(writing, b".")
    waiting._selector.register(reading, selectors.EVENT_READ, worker)
    waiting._workers.append(worker)
    waiting._clock = SimpleNamespace(seconds=0.0)
    waiting._clock.advance = lambda: setattr(waiting._clock, "seconds", 5.0)
    try:
        assert waiting.wait(0.0) == [] and worker.heard == 5.0
    finally:
        waiting._workers.clear()
        waiting.close()
        os.close(reading)
        os.close(writing)


def test_surroundings_of_a_worker():
    from whyconv.runner.worker import surroundings

    made = surroundings({"XLA_FLAGS": "--a=b", "WHYCONV_CACHE": "/c", "OMP_NUM_THREADS": "8"})
    assert made["XLA_FLAGS"] == "--a=b --xla_cpu_multi_thread_eigen=false"
    assert made["JAX_COMPILATION_CACHE_DIR"] == "/c/xla"
    assert made["JAX_PLATFORMS"] == "cpu"
    assert {made[name] for name in ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS")} == {"1"}
    assert surroundings(made) == made
    assert surroundings({"XDG_CACHE_HOME": "/x"})["JAX_COMPILATION_CACHE_DIR"] == "/x/whyconv/xla"
    assert surroundings({"JAX_PLATFORMS": "cuda"})["JAX_PLATFORMS"] == "cuda"


def test_a_platform_that_jax_does_not_have_is_refused_before_any_trial(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "no-such")
    with pytest.raises(
        UserError, match=r"JAX_PLATFORMS=no-such was given, but JAX cannot use it here \(.*\); "
    ):
        run(FakeGrid(seeds=1), tmp_path)
    with Store.read(tmp_path) as store:
        assert not store.rows()


def test_the_environment_of_rows_knows_what_they_were_computed_on(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    there = environment.describe.__wrapped__()
    monkeypatch.delenv("JAX_PLATFORMS")
    assert environment.describe.__wrapped__() == environment.describe()
    assert there == {**environment.describe(), "jax_platforms": "cuda"}


def test_importing_the_runner_is_light():
    program = (
        "import sys, whyconv.runner.coordinator, whyconv.runner.export; "
        "print({'jax', 'numpy', 'pandas', 'sklearn', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
