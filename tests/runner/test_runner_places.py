"""Workers are used again by the next run of the same process, unless they would be started otherwise now."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from runner_fakes import EXECUTE, FakeGrid, FakeSearch, begun, completed, options, trial

from whyconv import system
from whyconv.runner import child, places
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished
from whyconv.runner.pool import Errand, Pool
from whyconv.runner.store import Store

pytestmark = pytest.mark.usefixtures("no_warm_workers")


@pytest.fixture
def pids(monkeypatch):
    """The processes as they are started."""
    found = []
    original = child.Child.__init__

    def noting(self, *args):
        original(self, *args)
        found.append(self.process.pid)

    monkeypatch.setattr(child.Child, "__init__", noting)
    return found


def ended(pid):
    """Whether the process is gone, or will be in a moment."""
    deadline = time.monotonic() + 5
    while system.alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not system.alive(pid)


def test_the_next_run_uses_the_same_workers(tmp_path, pids):
    for name in "abc":
        complete(FakeGrid(seeds=4), tmp_path / name, options())
    assert len(pids) == 2
    assert all(map(system.alive, pids))
    places.close()
    assert all(map(ended, pids))


def test_rows_of_warm_workers_are_the_same(tmp_path, pids):
    one, two = (complete(FakeGrid(seeds=4), tmp_path / name, options()) for name in "ab")
    assert one.rows == two.rows


def test_a_smaller_run_ends_the_workers_that_are_too_many(tmp_path, pids):
    complete(FakeGrid(seeds=4), tmp_path / "a", options(workers=2))
    complete(FakeGrid(seeds=4), tmp_path / "b", options(workers=1))
    assert len(pids) == 2
    assert sum(map(system.alive, pids)) == 1


@pytest.mark.parametrize("what", ["variable", "path", "file"])
def test_workers_that_would_be_started_otherwise_are_replaced(tmp_path, pids, monkeypatch, what):
    complete(FakeGrid(), tmp_path / "a", options(workers=1))
    changes = {}
    if what == "variable":
        monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
    elif what == "path":
        monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    else:
        (tmp_path / "mine.py").write_text("")
        changes = {"loads": (str(tmp_path / "mine.py"),)}
    for name in "bc":
        complete(FakeGrid(), tmp_path / name, options(workers=1, **changes))
    assert len(pids) == 2
    assert ended(pids[0])


def test_an_edited_file_of_pieces_replaces_the_workers(tmp_path, pids):
    mine = tmp_path / "mine.py"
    for name, text in zip("abc", ("", "", "x = 1"), strict=True):
        mine.write_text(text)
        complete(FakeGrid(), tmp_path / name, options(workers=1, loads=(str(mine),)))
    assert len(pids) == 2


def test_what_a_trial_prints_is_in_the_log_of_its_own_run(tmp_path, pids):
    for name in "ab":
        complete(FakeGrid(does=("print",), ms=(10,), seeds=1), tmp_path / name, options(workers=1))
    logs = [(tmp_path / name / "workers.log").read_text() for name in "ab"]
    assert len(pids) == 1
    assert logs[0] == logs[1] != ""


def test_idle_workers_end_by_themselves(tmp_path, pids, monkeypatch):
    monkeypatch.setattr(places, "IDLE_SECONDS", 0.2)
    complete(FakeGrid(), tmp_path / "a", options(workers=1))
    assert ended(pids[0])
    complete(FakeGrid(), tmp_path / "b", options(workers=1))
    assert len(pids) == 2


def test_a_worker_that_died_between_runs_is_replaced(tmp_path, pids):
    complete(FakeGrid(), tmp_path / "a", options(workers=1))
    os.kill(pids[0], signal.SIGKILL)
    summary = completed(FakeGrid(), tmp_path / "b", options(workers=1))
    assert (summary.ran, summary.failed, len(pids)) == (10, 0, 2)


def test_an_interrupted_run_ends_the_busy_workers_only(tmp_path, pids):
    def press(event):
        if isinstance(event, Finished):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        complete(FakeGrid(does=("work", "hang"), ms=(10,), seeds=1), tmp_path / "a", options(), press)
    assert len(pids) == 2
    assert sum(map(system.alive, pids)) == 1
    summary = completed(FakeGrid(seeds=4), tmp_path / "b", options())
    assert (summary.ran, summary.failed, len(pids)) == (8, 0, 3)


def test_two_threads_at_a_time_have_workers_of_their_own(tmp_path, pids):
    study = FakeGrid(does=("beat",), ms=(10,), seeds=1)
    runs = [
        threading.Thread(target=complete, args=(study, tmp_path / name, options(workers=1))) for name in "ab"
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    for name in "ab":
        with Store.read(tmp_path / name) as store:
            assert [row.status for row in store.rows().values()] == ["ok"]
    assert len(pids) == 2


def test_a_forked_child_leaves_the_workers_alone(tmp_path, pids):
    complete(FakeGrid(), tmp_path / "a", options(workers=1))
    fork = os.fork()
    if fork == 0:
        places.close()
        os._exit(0)
    os.waitpid(fork, 0)
    complete(FakeGrid(), tmp_path / "b", options(workers=1))
    assert len(pids) == 1


def test_a_place_that_was_given_is_used_and_left_open(tmp_path, pids):
    place = Pool()
    try:
        for name in "ab":
            complete(FakeSearch(seeds=2), tmp_path / name, options(workers=1), place=place)
        assert len(pids) == 1
        assert system.alive(pids[0])
    finally:
        place.close()
    assert ended(pids[0])


def test_workers_start_while_the_plan_is_made(tmp_path, pids):
    seen = []

    class Slow(FakeGrid):
        def plan(self, rows):
            seen.append(len(pids))
            return super().plan(rows)

    Slow.name = "slow-plan"
    complete(Slow(), tmp_path, options())
    assert seen == [1]
    complete(Slow(), tmp_path, options())
    assert len(pids) == 2, "nothing is missing, so nothing is started"


def test_idle_workers_that_are_killed_are_no_bad_starts(tmp_path):
    pool = begun(tmp_path)
    try:
        for _ in range(4):
            pool.start(Errand(tmp_path, 30.0, execute=EXECUTE), 1)
            (worker,) = pool._workers
            while not worker.ready:
                pool.wait(0.05)
            worker.process.kill()
            worker.process.wait()
            assert pool.wait(0.0) == []
            assert pool._workers == []
        assert pool._bad_starts == 0
    finally:
        pool.close()


def test_clearing_drops_what_waits(tmp_path):
    pool = begun(tmp_path)
    try:
        for of in (trial("hang"), trial("work")):
            pool.submit(of.key, of.canonical(), of.program)
        while not pool.running():
            pool.wait(0.05)
        pool.clear()
        assert pool.unfinished == 0
        pool.begin(Errand(tmp_path, 30.0, execute=EXECUTE), 1)
        of = trial("work", seed=3)
        pool.submit(of.key, of.canonical(), of.program)
        outcomes = []
        while pool.unfinished:
            outcomes += pool.wait(0.05)
        assert [(each.key, each.status) for each in outcomes] == [(of.key, "ok")]
    finally:
        pool.close()


def test_a_process_that_ends_leaves_no_worker(tmp_path):
    script = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from runner_fakes import FakeGrid, options\n"
        "from whyconv.runner import places\n"
        "from whyconv.runner.coordinator import complete\n"
        f"complete(FakeGrid(seeds=4), {str(tmp_path / 'out')!r}, options())\n"
        "print(*[worker.process.pid for worker in places._keeper._pool._workers])\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    pids = [int(word) for word in told.stdout.split()]
    assert len(pids) == 2
    assert all(map(ended, pids))


def test_a_worker_imports_what_trials_are_made_of_and_finds_the_rest_when_it_is_asked_for():
    code = (
        "import sys; from whyconv import registry; from whyconv.runner.worker import _prepare; "
        "_prepare([], 'builtins:print'); "
        "print([name for name in sys.modules if name.startswith(('whyconv.papers', 'whyconv.page.'))]); "
        "print(registry.known('learner', 'gradient').name, registry.find('study', 'brutzkus.fig3a').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "gradient brutzkus.fig3a"]
