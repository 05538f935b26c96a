"""A real scheduler and real workers on this machine: the rows are those of the local pool, byte for byte."""

import json
import re
import socketserver
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("distributed")

from dask_cluster import Cluster
from runner_fakes import FakeGrid, FakeLearner, FakeSearch, FakeTask, completed, options

import whyconv as package
from whyconv.auditing import planted
from whyconv.auditing.arms import FCN, LCN
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.errors import UserError
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner import environment
from whyconv.runner.cluster import nodes
from whyconv.runner.cluster.connecting import connected
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options, Planned, Tick
from whyconv.runner.export import export
from whyconv.runner.store import Store
from whyconv.studies import Point
from whyconv.trial import Trial

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""Of Dask, which leaves sockets to be closed when they are collected."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and a worker of two threads; its scratch is on the same disk."""
    room = tmp_path_factory.mktemp("dask")
    made = Cluster(room, FAKE_BEGUN=str(room / "begun"))
    made.worker(2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def place(cluster):
    with connected(cluster.address) as place:
        yield place


def tables(folder):
    """The exported bytes, without what a run took."""
    return {path.name: path.read_bytes() for path in export(folder).paths if path.name != "durations.csv"}


def both(study, tmp_path, place, **changes):
    """The study on the cluster and in the local pool, into two folders; the folders."""
    complete(study, tmp_path / "cluster", options(**changes), place=place)
    complete(study, tmp_path / "local", options(**changes))
    return tmp_path / "cluster", tmp_path / "local"


@pytest.mark.parametrize(
    "study",
    [
        FakeGrid(seeds=40),
        FakeSearch(),
        FakeGrid(does=("work", "raise", "nan", "exit3", "leave", "print"), ms=(10,), seeds=2),
    ],
    ids=["grid", "adaptive", "failures"],
)
def test_fakes_give_the_bytes_of_the_local_pool(study, tmp_path, place):
    there, here = both(study, tmp_path, place)
    assert tables(there) == tables(here)
    assert len(Store.read(there).rows()) >= 12
    left = {path.name for path in there.iterdir()} - {"workers.log"}
    assert left == {"whyconv.sqlite", "lock", "acknowledged", "export"}


def test_what_trials_print_is_in_the_log_of_the_run(tmp_path, place):
    complete(FakeGrid(does=("print",), ms=(10,), seeds=1), tmp_path, options(), place=place)
    assert "noise" in (tmp_path / "workers.log").read_text()


SMALL = {
    "brutzkus.fig3a": {"m": [20, 40], "task.positions": 4},
    "lahoti.vary-k": {
        "values": [2, 3], "task.patch_dim": 3, "sizes.cap": 40, "sizes.resolution": 0.5,
        **{f"arms.{arm}.learner": {"name": "projected", "steps": 20} for arm in ("CNN", "LCN", "FCN")},
        "arms.CNN on rotated patches.learner": {"name": "projected", "steps": 20},
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_studies_give_the_bytes_of_the_local_pool(name, tmp_path, cluster):
    runs = [
        package.run(name, set=SMALL[name], seeds=2, out=tmp_path / each, cluster=where, watch=id)
        for each, where in (("cluster", cluster.address), ("local", None))
    ]
    assert runs[0].rows == runs[1].rows and len(runs[0].rows) >= 8
    assert not any(run.failed for run in runs)
    assert tables(tmp_path / "cluster") == tables(tmp_path / "local")
    described = [
        json.loads((tmp_path / each / "export" / "environments.json").read_text())
        for each in ("cluster", "local")
    ]
    assert described[0] == described[1] and len(described[0]) == 1


@pytest.mark.long
def test_the_data_of_an_audit_travel(tmp_path, cluster, place):
    """Nodes have the bytes of the data and their digest, and nothing else of the folder."""
    dataset = planted.planted("shift", 80, 12, 3, 0)
    few = {"orders": 3, "order_steps": 5, "order_size": 20, "steps": 20, "seeds": 2, "extensions": 0}
    few |= {"rates": (0.004,), "channels": 4, "windows": (3,), "sizes": (30, 60), "arms": (FCN, LCN)}
    study = designed(dataset).model_copy(update=few)
    before, found = run_folder(), {}
    try:
        for name, where in (("there", place), ("here", None)):
            keep(dataset, tmp_path / name, study.task.data)
            use_run_folder(tmp_path / name)
            found[name] = complete(study, tmp_path / name, Options(preset="quick"), place=where).rows
    finally:
        use_run_folder(before)
    assert found["there"] == found["here"] and len(found["here"]) > 10
    assert all(row.status == "ok" for row in found["here"].values())
    (sent,) = {path.read_bytes() for path in cluster.room.rglob("kept/data/*")}
    assert sent == next((tmp_path / "here" / "data").iterdir()).read_bytes()


@pytest.mark.long
def test_an_audit_runs_on_the_cluster_that_the_command_names(tmp_path, cluster, whyconv, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = planted.planted("shift", 80, 12, 3, 1)
    np.savez("waves.npz", X=data.x[:, 0, :, 0], y=data.y)
    words = ["audit", "waves.npz", "--minutes", "0.5", "--arms", "FCN,CNN", "--out", "there", "--json"]
    done = whyconv(*words, "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    assert f"2 slots on 1 Dask worker of {cluster.address}; dashboard http" in done.stderr
    with Store.read(tmp_path / "there") as store:
        rows = store.rows().values()
    assert rows and {row.status for row in rows} == {"ok"}
    (kept,) = (tmp_path / "there" / "data").iterdir()
    assert {path.read_bytes() for path in cluster.room.rglob(f"kept/data/{kept.name}")} == {kept.read_bytes()}


@pytest.mark.long
def test_the_command_line_and_a_client(tmp_path, cluster, whyconv, monkeypatch):
    monkeypatch.setattr("whyconv.progress.PLAIN_EVERY", -1.0)  # a line for every trial
    sets = {"m": [20], "task.positions": 4}
    words = ["run", "brutzkus.fig3a", "--set", "m=[20]", "--set", "task.positions=4", "--seeds", "1"]
    done = whyconv(*words, "--cluster", cluster.file, "--out", tmp_path / "there", "--json")
    assert done.returncode == 0, done.stderr
    assert f"2 slots on 1 Dask worker of {cluster.address}; dashboard http" in " ".join(done.stderr.split())
    assert "trials a minute on 2 slots" in " ".join(done.stderr.split())
    here = package.run("brutzkus.fig3a", set=sets, seeds=1, out=tmp_path / "here", watch=id)
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert json.loads(done.stdout)["verdict"] == here.verdict
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        events = []
        again = package.run(
            "brutzkus.fig3a", set=sets, seeds=1, out=tmp_path / "there", cluster=client, watch=events.append
        )
        assert client.status == "running", "a client that was given stays open"
    assert again.rows == here.rows and events[0].reused == len(here.rows)


class WithMine(FakeGrid, name="fake-mine"):
    """A network from a file of the user's own."""

    def plan(self, rows):
        pieces = {"task": FakeTask(), "network": "own-network", "learner": FakeLearner()}
        return [Point({"m": 10}, Trial(**pieces, m=10, seed=seed)) for seed in range(self.seeds)]


def test_a_file_of_pieces_travels_as_bytes(tmp_path, cluster, place):
    """Nodes load the bytes that were sent, and nothing from where the original is."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from whyconv.networks import Network\n"
        "class Mine(Network, name='own-network'):\n    'Of mine.'\n"
        "    def init(self, *_): 0\n    apply = parameter_count = flops = init\n"
    )
    package.load(file)
    there, here = both(WithMine(seeds=4), tmp_path, place, loads=(str(file),))
    assert Store.read(there).rows() == Store.read(here).rows()
    assert all("network own-network" in row.versions for row in Store.read(there).rows().values())
    kept = list(cluster.room.rglob("loads/*/mine.py"))
    assert kept and all(path.read_bytes() == file.read_bytes() for path in kept)


@pytest.mark.long
def test_progress_has_slots_and_running_trials(tmp_path, place):
    events = []
    complete(FakeGrid(does=("beat",), ms=(10,), seeds=2), tmp_path, options(), events.append, place)
    planned = next(each for each in events if isinstance(each, Planned))
    assert planned.workers == 2 and planned.standing.where.startswith("1 Dask worker of tcp://")
    ticks = [each for each in events if isinstance(each, Tick)]
    assert max(len(each.running) for each in ticks) == 2
    assert max(fraction for each in ticks for _, fraction in each.running) > 0.4
    assert {each.standing.slots for each in ticks} == {2}


@pytest.mark.long
def test_a_deadline_ends_running_trials_and_the_next_run_goes_on(tmp_path, place, cluster):
    study = FakeGrid(does=("work", "hang"), ms=(10,), seeds=2)
    began = time.monotonic()
    rows = complete(study, tmp_path, options(seconds=3.0, limit=60.0), place=place).rows
    assert time.monotonic() - began < 8 and len(rows) == 2
    again = completed(FakeGrid(ms=(10,), seeds=2), tmp_path, options(), place=place)
    assert (again.ran, again.total) == (0, 2)


def test_a_trial_that_hangs_is_ended_on_its_node(tmp_path, place, cluster):
    study = FakeGrid(does=("work", "hang"), ms=(11,), seeds=1)
    rows = complete(study, tmp_path, options(limit=1.5), place=place).rows
    assert {row.error for row in rows.values()} == {"", "hung: no progress for 1.5 s"}
    begun = (cluster.room / "begun").read_text().split()
    assert [begun.count(key) for key in rows] == [1, 1]


@pytest.mark.long
def test_a_trial_whose_process_is_killed_is_tried_again_there(tmp_path, cluster):
    (tmp_path / "tries").mkdir()
    variables = {"FAKE_TRIES": str(tmp_path / "tries"), "FAKE_SIGNAL": "SIGKILL", "FAKE_DEATHS": "2"}
    own = Cluster(tmp_path, **variables)
    try:
        own.worker(1)
        with connected(own.address) as place:
            rows = complete(
                FakeGrid(does=("dies",), ms=(10,), seeds=1), tmp_path / "out", options(), place=place
            ).rows
        assert [row.status for row in rows.values()] == ["ok"]
        assert [len(path.read_text()) for path in (tmp_path / "tries").iterdir()] == [3]
    finally:
        own.close()


REFUSED = {
    "no scheduler": ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
    "scheme": ("http://127.0.0.1:8786", "whyconv speaks tcp and tls alone"),
    "no port": ("tcp://127.0.0.1", "is not tcp://HOST:PORT"),
    "a port too high": ("tcp://127.0.0.1:70000", "with a port up to 65535"),
    "a name": ("nonsense", "--cluster nonsense was given; give tcp://HOST:PORT"),
    "no certificate": ("tls://127.0.0.1:8786", "no certificate"),
    "no file": ("absent.json", "there is no such file"),
    "empty": ("", "was given"),
    "an option": ("-x.json", "looks like an option"),
}


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_bad_addresses_are_refused_in_a_sentence(given, said, tmp_path, monkeypatch, whyconv):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("whyconv.runner.cluster.connecting.CONNECT_SECONDS", 2.0)
    done = whyconv("run", "brutzkus.fig3a", f"--cluster={given}", "--out", "new")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@contextmanager
def listening(answer=b""):
    """The address of a service that is no scheduler: it sends this, or nothing."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(answer)
            self.request.recv(1 << 16)  # until the other side hangs up
            while self.request.recv(1 << 16):
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "said"),
    [(b"", "within 1 s; start one with"), (b"HTTP/1.1 400 Bad\r\n\r\n" * 9, "is no scheduler of Dask;")],
    ids=["silent", "other"],
)
def test_a_service_that_is_no_scheduler_is_refused(answer, said, tmp_path, monkeypatch, whyconv):
    """A client of Dask waits for one that is silent without end, and runs out of memory at the other."""
    monkeypatch.setattr("whyconv.runner.cluster.connecting.CONNECT_SECONDS", 1.0)
    with listening(answer) as where:
        done = whyconv("run", "brutzkus.fig3a", "--cluster", where, "--out", tmp_path / "new")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and f"{where} {said}" in done.stderr
    assert not (tmp_path / "new").exists()


def test_the_address_of_a_worker_is_refused(tmp_path, place, whyconv):
    (worker,) = place._members.threads
    done = whyconv("run", "brutzkus.fig3a", "--cluster", worker, "--out", tmp_path / "new")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{worker} is a worker of Dask and no scheduler; start" in done.stderr


def test_a_client_that_is_closed_is_refused(cluster):
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        pass
    with pytest.raises(UserError, match=r"give .* a distributed.Client that is connected"), connected(client):
        pass


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"address": 7}', '{"address": "ucx://a:1"}', "[" * 10_000])
def test_bad_scheduler_files_are_refused(text, tmp_path, whyconv):
    (tmp_path / "s.json").write_text(text)
    done = whyconv("run", "brutzkus.fig3a", "--cluster", tmp_path / "s.json", "--out", tmp_path / "new")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"s.json"}


def test_workers_and_a_cluster_are_one_too_many(whyconv):
    done = whyconv("run", "brutzkus.fig3a", "--cluster", "tcp://a:1", "--workers", "2")
    assert done.returncode == 2 and "--workers and --cluster were both given" in done.stderr


def test_a_cluster_without_workers_is_refused(tmp_path, monkeypatch, whyconv):
    monkeypatch.setattr("whyconv.runner.cluster.connecting.WORKER_SECONDS", 2.0)
    empty = Cluster(tmp_path)
    try:
        done = whyconv("run", "brutzkus.fig3a", "--cluster", empty.address, "--out", tmp_path / "new")
        assert (
            done.returncode == 2 and f"{empty.address} has no worker after 2 s; start one with" in done.stderr
        )
        assert not (tmp_path / "new").exists()
    finally:
        empty.close()


def test_other_versions_are_refused_by_address(tmp_path, cluster, monkeypatch, whyconv):
    mine = {**nodes.versions(), "numpy": "1.0", "jax": "9"}
    monkeypatch.setattr(nodes, "versions", lambda: mine)
    done = whyconv("run", "brutzkus.fig3a", "--cluster", cluster.address, "--out", tmp_path / "new")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.search(r"the worker tcp://127\.0\.0\.1:\d+ has jax \S+, here it is 9; numpy", done.stderr)
    assert not (tmp_path / "new").exists()


def test_a_worker_that_differs_is_not_used_by_a_run_that_has_others(tmp_path, cluster, place, monkeypatch):
    """One that joined after the versions were compared."""
    mine = {**nodes.versions(), "jax": "9"}
    monkeypatch.setattr(nodes, "versions", lambda: mine)
    with pytest.raises(UserError, match=r"has jax .*, here it is 9; no other worker of tcp"):
        complete(FakeGrid(seeds=2), tmp_path / "new", options(), place=place)
    place._members.refused.clear()


def test_data_that_a_node_lacks_are_said_by_address(tmp_path, cluster, monkeypatch):
    monkeypatch.delenv("WHYCONV_DATA", raising=False)
    monkeypatch.setattr("whyconv.tasks._image_task.ImageTask.fetch", lambda self: None)
    with pytest.raises(
        UserError, match=r"the worker tcp://\S+ lacks data: MNIST.* is not here; set WHYCONV_DATA"
    ):
        package.run(
            "malach.fig3",
            set={"task.images": "mnist"},
            seeds=1,
            out=tmp_path / "new",
            cluster=cluster.address,
            watch=id,
        )


def test_the_same_machine_is_the_same_environment(tmp_path, place):
    rows = complete(FakeGrid(ms=(10,), seeds=1), tmp_path, options(), place=place).rows
    assert {row.environment for row in rows.values()} == {environment.identity(environment.describe())}


def test_pieces_of_chunks_are_files_below_the_scratch_folder(tmp_path):
    for name in ("../out.py", "/etc/out.py", "a/../../out.py"):
        with pytest.raises(UserError, match="names of files lie below"):
            nodes.unpack([(name, "", b"")], tmp_path / "room")
    with pytest.raises(UserError, match="arrived damaged"):
        nodes.unpack([("a.py", "0" * 64, b"x")], tmp_path / "room")
    assert not list(tmp_path.iterdir())
