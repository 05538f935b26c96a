"""Whatever dies: no acknowledged row is lost, one row per key, no child stays, the same command goes on."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from dask_cluster import Cluster, waited
from runner_fakes import FakeGrid, completed, options

from whyconv.errors import UserError
from whyconv.runner.cluster import members
from whyconv.runner.cluster import place as place_
from whyconv.runner.cluster.connecting import connected
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished, Tick
from whyconv.runner.export import export
from whyconv.runner.store import Store

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""Of Dask, which leaves sockets to be closed when they are collected."""

HERE = Path(__file__).parent
STUDY = FakeGrid(seeds=60, sleep=0.05)
"""120 trials of 50 ms."""
SLOT = 2 * 20
"""The most trials that begin again for a slot that is lost: a chunk of a second, and the one behind it."""


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    """The bytes that every run must end with."""
    folder = tmp_path_factory.mktemp("wanted")
    complete(STUDY, folder, options())
    return tables(folder)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler; begun trials are noted in a file."""
    (tmp_path / "dask").mkdir()
    made = Cluster(tmp_path / "dask", FAKE_BEGUN=str(tmp_path / "begun"))
    yield made
    made.close()


@pytest.fixture
def begun(tmp_path):
    """How often each trial was begun so far."""

    def count():
        noted = tmp_path / "begun"
        return Counter(noted.read_text().split()) if noted.exists() else Counter()

    return count


def tables(folder):
    return {path.name: path.read_bytes() for path in export(folder).paths if path.name != "durations.csv"}


class Meanwhile:
    """Watches a run and does something once, when so many rows are kept."""

    def __init__(self, after, act):
        self.after, self.act = after, act
        self.acknowledged, self.slots, self.notes, self.at = [], [], (), None

    def __call__(self, event):
        if isinstance(event, Tick):
            self.slots.append(event.standing.slots)
            self.notes = event.standing.notes
        if isinstance(event, Finished):
            self.acknowledged.append(event.key)
            if len(self.acknowledged) >= self.after and self.at is None:
                self.at = time.monotonic()
                self.act()


def run(cluster, folder, after, act, study=STUDY, **changes):
    with connected(cluster.address) as place:
        return completed(
            study, folder, options(**changes), meanwhile := Meanwhile(after, act), place
        ), meanwhile


def assert_kept(folder, wanted, begun, summary, twice):
    """All rows once, the right bytes, and few trials begun more than once."""
    assert (summary.total, summary.failed) == (120, 0)
    assert tables(folder) == wanted
    count = begun()
    assert len(count) == 120 and sum(count.values()) <= 120 + twice, count.most_common(3)


def test_a_worker_is_killed(tmp_path, cluster, wanted, begun):
    first, _ = cluster.worker(1), cluster.worker(1)
    cluster.ready()
    children = []

    def kill():
        children.extend(pid for pid in cluster.pids() if parent(pid) == first.pid)
        first.kill()

    summary, meanwhile = run(cluster, tmp_path / "out", 20, kill)
    assert len(set(meanwhile.acknowledged)) == len(meanwhile.acknowledged) == 120
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=SLOT)
    first.wait()
    assert children
    waited(lambda: not set(children) & set(cluster.pids()))


@pytest.mark.long
def test_a_nanny_is_killed_and_the_worker_of_another(tmp_path, cluster, wanted, begun):
    nannies = [cluster.worker(1, nanny=True) for _ in range(2)]
    cluster.ready()

    def kill():
        nannies[0].kill()
        (worker,) = (pid for pid in cluster.pids() if is_worker_of(nannies[1].pid, pid))
        os.kill(worker, signal.SIGKILL)

    summary, meanwhile = run(cluster, tmp_path / "out", 20, kill)
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=2 * SLOT)
    assert meanwhile.slots[-1] == 1, "the nanny that lives has a new worker"
    left = [pid for pid in cluster.pids() if "whyconv.runner.worker" in command(pid)]
    assert len(left) <= 1, "the dead worker's processes are gone"


def is_worker_of(nanny, pid):
    return parent(pid) == nanny and "spawn_main" in command(pid)


def parent(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.long
def test_a_worker_that_joins_late_gets_work(tmp_path, cluster, wanted, begun):
    cluster.worker(1)
    summary, meanwhile = run(cluster, tmp_path / "out", 5, lambda: (cluster.worker(2), cluster.ready()))
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=0)
    assert max(meanwhile.slots) == 3


@pytest.mark.long
def test_a_worker_of_other_versions_gets_no_work_and_is_refused_by_address(
    tmp_path, cluster, wanted, begun, whyconv
):
    """Late it is left out, and named; on connection it is refused."""
    cluster.worker(1)

    def join():
        cluster.worker(1, "--preload", "other_versions")
        cluster.ready()

    summary, meanwhile = run(cluster, tmp_path / "out", 5, join)
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=0)
    (note,) = meanwhile.notes
    (address,) = re.findall(r"the worker (tcp://\S+) has jax 9, here it is \S+; \d+ trials? of it", note)
    done = whyconv("run", "brutzkus.fig3a", "--cluster", cluster.address, "--out", tmp_path / "new")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"the worker {address} has jax 9, here it is" in done.stderr and not (tmp_path / "new").exists()


@pytest.mark.long
def test_a_stopped_worker_is_a_network_that_is_cut(tmp_path, cluster, wanted, begun, monkeypatch):
    monkeypatch.setattr(members, "SILENT_SECONDS", 10.0)  # not the other one, too
    first, _ = cluster.worker(1), cluster.worker(1)
    cluster.ready()
    summary, _ = run(cluster, tmp_path / "out", 20, lambda: first.send_signal(signal.SIGSTOP))
    first.send_signal(signal.SIGCONT)
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=SLOT)


@pytest.mark.long
def test_a_worker_that_is_silent_from_the_start_is_left_out(tmp_path, cluster, wanted, begun, monkeypatch):
    monkeypatch.setattr(members, "ANSWER_SECONDS", 3.0)
    monkeypatch.setattr(members, "SILENT_SECONDS", 6.0)
    stopped, _ = cluster.worker(1), cluster.worker(1)
    with connected(cluster.address) as place:
        waited(lambda: place._members.look(1.0) or place.standing().slots == 2)
    stopped.send_signal(signal.SIGSTOP)
    summary, _ = run(cluster, tmp_path / "out", 10**9, lambda: None)
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=0)


@pytest.mark.long
def test_a_stopped_scheduler_is_told_and_does_not_hold_up_the_end(
    tmp_path, cluster, wanted, begun, monkeypatch
):
    """As if the network between command and scheduler was cut."""
    monkeypatch.setattr(members, "ANSWER_SECONDS", 3.0)
    cluster.worker(2)
    stop = lambda: cluster.scheduler.send_signal(signal.SIGSTOP)  # noqa: E731
    with pytest.raises(UserError, match=r"does not answer any more \(for 3 s\); every row acknowledged"):
        run(cluster, tmp_path / "out", 20, stop)
    with Store.read(tmp_path / "out") as store:
        kept = len(store.rows())
    cluster.scheduler.send_signal(signal.SIGCONT)
    summary, _ = run(cluster, tmp_path / "out", 10**9, lambda: None)
    assert summary.reused == kept >= 20
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=2 * SLOT)


@pytest.mark.long
def test_a_walltime_ends_a_worker(tmp_path, cluster, wanted, begun):
    cluster.worker(1)
    short = cluster.worker(1, "--lifetime", "4s")
    summary, _ = run(cluster, tmp_path / "out", 200, lambda: None)
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=SLOT)
    assert short.wait(60) == 0


def test_the_scheduler_is_killed_and_another_goes_on(tmp_path, cluster, wanted, begun):
    cluster.worker(2, "--preload", "quick_idle")
    old, children = cluster.processes[1], []

    def kill():
        children.extend(pid for pid in cluster.pids() if parent(pid) == old.pid)
        cluster.scheduler.kill()

    with pytest.raises(UserError, match=r"(is lost|does not answer any more).*acknowledged so far is kept"):
        run(cluster, tmp_path / "out", 20, kill)
    cluster.scheduler.wait()
    with Store.read(tmp_path / "out") as store:
        kept = len(store.rows())
    assert kept >= 20 and children
    cluster.scheduler = cluster.start_scheduler()
    cluster.worker(2)
    summary, _ = run(cluster, tmp_path / "out", 1000, lambda: None)
    assert summary.reused == kept
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=2 * SLOT)
    waited(lambda: old.poll() is not None and not set(children) & set(cluster.pids()))


@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.long)])
def test_the_client_is_killed_or_interrupted(how, tmp_path, cluster, wanted, begun):
    """Its trials end, its processes too, and the same command goes on."""
    cluster.worker(2, "--preload", "quick_idle")
    words = [sys.executable, str(HERE / "run_fake_study.py"), str(tmp_path / "out"), "seeds=60", "sleep=0.05"]
    words.append(f'cluster="{cluster.address}"')
    client = subprocess.Popen(words, stdout=subprocess.PIPE, env=cluster.environ, cwd=tmp_path)
    lines = [client.stdout.readline() for _ in range(20)]
    client.send_signal(signal.Signals[how])
    lines += client.communicate()[0].splitlines(keepends=True)
    acknowledged = {line.decode().strip() for line in lines if line.endswith(b"\n")}
    waited(lambda: not [pid for pid in cluster.pids() if "whyconv.runner.worker" in command(pid)], 60)
    with Store.read(tmp_path / "out") as store:
        assert acknowledged <= store.rows().keys()
        assert store.verify() == []
    summary, _ = run(cluster, tmp_path / "out", 1000, lambda: None)
    assert summary.reused >= len(acknowledged) >= 20
    assert_kept(tmp_path / "out", wanted, begun, summary, twice=2 * SLOT)


SIGNS = {"trial": "whyconv.runner.worker", "worker": "spawn_main", "nanny": "--nanny"}
"""What stands in the command of each kind of process."""


@pytest.mark.long
def test_a_hundred_random_kills_in_one_run(tmp_path, cluster, begun):
    """Of trials, of Dask workers, of nannies (each followed by another one)."""
    study, chance = FakeGrid(seeds=3000, sleep=0.05), random.Random(0)
    complete(study, tmp_path / "wanted", options(workers=12))
    for _ in range(4):
        cluster.worker(1, nanny=True)
    kills, over = Counter(), threading.Event()

    def kill():
        """One after every 55 rows or so, however fast they come."""
        for number in range(100):
            rows, what = 55 * number + chance.randrange(50), chance.choices(tuple(SIGNS), (6, 3, 1))[0]
            pids = []
            while not pids:
                if over.wait(0.05):
                    return
                if len(meanwhile.acknowledged) > rows:
                    pids = [pid for pid in cluster.pids() if SIGNS[what] in command(pid)]
            with suppress(ProcessLookupError):
                os.kill(chance.choice(pids), signal.SIGKILL)
            if what == "nanny":
                cluster.worker(1, nanny=True)
            kills[what] += 1

    thread = threading.Thread(target=kill)
    meanwhile = Meanwhile(1, thread.start)
    try:
        with connected(cluster.address) as place:
            summary = completed(study, tmp_path / "out", options(), meanwhile, place)
    finally:
        over.set()
    thread.join()
    assert sum(kills.values()) == 100, kills
    acknowledged = meanwhile.acknowledged
    assert len(acknowledged) == len(set(acknowledged)) == 6000
    assert [row.error for row in summary.rows.values() if row.error] == []
    assert summary.total == 6000
    assert tables(tmp_path / "out") == tables(tmp_path / "wanted")
    with Store.read(tmp_path / "out") as store:
        assert store.verify() == [] and store.rows().keys() == set(acknowledged)
    count = begun()
    print(dict(kills), sum(count.values()))
    assert count.keys() == set(acknowledged)
    assert sum(count.values()) <= 6000 + 40 * 100, "two chunks of a second for a kill"


@pytest.mark.long
def test_a_full_disk_at_the_coordinator_is_told(tmp_path, cluster, begun):
    cluster.worker(2, "--preload", "quick_idle")
    program = (
        "import resource, runpy, sys; sys.path.insert(0, '.'); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600_000,) * 2); runpy.run_path('run_fake_study.py')"
    )
    words = [
        sys.executable,
        "-c",
        program,
        str(tmp_path / "out"),
        "seeds=700",
        f'cluster="{cluster.address}"',
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=HERE, env=cluster.environ)
    assert done.returncode == 1
    assert done.stderr.startswith("refused: ") and done.stderr.count("\n") == 1, done.stderr
    assert "every row acknowledged so far is kept" in done.stderr
    acknowledged = set(done.stdout.split())
    with Store.read(tmp_path / "out") as store:
        kept = set(store.rows())
    assert len(acknowledged) > 10 and acknowledged <= kept <= set(begun())
    waited(lambda: not [pid for pid in cluster.pids() if "whyconv.runner.worker" in command(pid)], 60)
    summary, _ = run(cluster, tmp_path / "out", 10**9, lambda: None, FakeGrid(seeds=700))
    assert (summary.total, summary.reused, summary.failed) == (1400, len(kept), 0)
    assert len(begun()) == 1400 and sum(begun().values()) <= 1400 + 2 * 2 * 500


@pytest.mark.long
def test_a_trial_that_kills_every_dask_worker_fails_and_the_others_do_not(tmp_path, monkeypatch):
    """What brings down a whole node, again and again, is a result."""
    monkeypatch.setattr(place_, "DEATHS", {True: 2, False: 2})
    cluster = Cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    try:
        cluster.worker(1, nanny=True)
        study = FakeGrid(does=("work", "fell"), ms=(10,), seeds=1)
        with connected(cluster.address) as place:
            rows = complete(study, tmp_path / "out", options(), place=place).rows
    finally:
        cluster.close()
    works, fell = sorted(row.error for row in rows.values())
    assert works == "" and re.fullmatch("3 Dask workers died (while|before) it ran", fell)
