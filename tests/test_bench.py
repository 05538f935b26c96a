"""The bench scripts, really run with tiny sizes; PyTorch's side where PyTorch is installed."""

import importlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from page_server import gone
from training import plain_loop

from whyconv import registry
from whyconv.settings import configure
from whyconv.spec import build

BENCH = Path(__file__).parent.parent / "bench"
SCRIPTS = ("fig3a", "k_pattern", "sample_complexity", "training_step")
TINY = {"optimiser": "rmsprop", "rate": 1e-3, "options": {"decay": 0.99, "eps": 1e-8, "eps_in_sqrt": 0}}
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="PyTorch is not installed; make bench installs it"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def script(folder):
    """A script as a module that writes into the tests' folder; what it loads is forgotten afterwards."""
    registry.pieces("study")
    modules = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_pieces", dict(registry._pieces))
        patch.syspath_prepend(BENCH)
        patch.setattr("machine.PEAK_SIZE", 64)

        def load(name):
            module = importlib.import_module(name)
            if hasattr(module, "OUT"):
                patch.setattr(module, "OUT", folder / "out" / module.OUT.name)
            return module

        yield load
    for name in set(sys.modules) - modules:
        if name.startswith("whyconv_user_"):
            del sys.modules[name]


@pytest.fixture
def call(script, monkeypatch):
    """Runs a script as its command does, in this process; returns its exit code."""

    def run(name, *arguments):
        module = script(name)
        monkeypatch.setattr("sys.argv", [f"{name}.py", *arguments])
        try:
            return module.main()
        except SystemExit as ended:
            return ended.code

    return run


@pytest.fixture
def steps(script, monkeypatch, tmp_path):
    """``training_step`` with the threads of this process, and with no images in reach."""
    module = script("training_step")
    monkeypatch.setattr(module, "allow", lambda threads: None)
    monkeypatch.delenv("WHYCONV_DATA", raising=False)
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path / "cache"))
    return module


@pytest.fixture(scope="module")
def searched(script, tmp_path_factory):
    """The search for m* at k = 10, one seed: the workshop, and what whyconv found."""
    folder = tmp_path_factory.mktemp("search")
    shop = script("sample_complexity").Workshop([10], 1, 0.0, folder)
    return shop, shop.whyconv(folder / "cache")


@pytest.fixture(scope="module")
def stepped(script, tmp_path_factory):
    """A tiny k-pattern CNN: the workshop, and whyconv's steps."""
    sizes = script("k_pattern_sizes").Sizes(
        n=8, k=2, q=8, m=64, steps=5, chunks=(16,), many_filters=(8, 80), neuron_bits=16, neuron_parity=3,
        samples=1000, full=False,
    )  # fmt: skip
    shop = script("k_pattern_sides").Workshop(sizes, 1, 0.0, 1, tmp_path_factory.mktemp("steps"))
    return shop, shop.whyconv("theorem", rounds=1)


def positive(numbers):
    numbers = np.array(list(numbers), float)
    return len(numbers) > 0 and bool((np.isfinite(numbers) & (numbers > 0)).all())


@pytest.mark.long
def test_whyconvs_side_of_figure_3a(script, tmp_path):
    work = script("sides").Figure3a([10, 20], 1, 8, tmp_path)
    took, rows = work.whyconv(tmp_path / "cache")
    assert sorted(zip(rows["arm"], rows["m"], strict=True)) == [
        ("ConvPool", 10), ("ConvPool", 20), ("MLP", 10), ("MLP", 20)
    ]  # fmt: skip
    assert positive(work.flops(rows) / rows["seconds"]) and rows["seconds"].max() < took.seconds


@pytest.mark.long
@needs_torch
def test_figure_3a(call, folder, capsys):
    sizes = ("--m", "10", "--seeds", "2", "--channels", "8")
    assert call("fig3a", *sizes, "--no-compiled", "--patience", "0") == 0
    assert "Same work, equal test errors." in capsys.readouterr().out
    told = json.loads((folder / "out" / "fig3a.json").read_text())
    assert positive(told["sides"]["whyconv"][name] for name in ("cold_ratio", "warm_ratio"))


@pytest.mark.long
def test_whyconvs_side_of_the_search(searched):
    shop, side = searched
    assert positive(side.rows["seconds"]) and set(side.rows["arm"]) == {"CNN", "LCN"}
    assert side.trainings == 4 * len(side.rows)
    target = json.loads(shop.job([10]).read_text())["targets"]["10"]
    found = shop.study.complexities(side.rows, "CNN")[10]
    reached = side.rows[(side.rows["arm"] == "CNN") & (side.rows["risk"] <= target)]
    assert found.m_star == reached["m"].min()


@pytest.mark.long
def test_a_search_that_compares_nothing_complains(script, searched):
    bench, (shop, side) = script("sample_complexity"), searched
    sides = dict.fromkeys(("whyconv cold", "whyconv warm", "PyTorch eager"), side)
    assert bench.summarise(shop.study, sides)["complaints"] == []
    small = configure("bench.vary-k", "quick", {"values": [2]}, 1)
    (complaint,) = bench.summarise(small, sides)["complaints"]
    assert "m* is compared at no k" in complaint


@pytest.mark.long
@needs_torch
def test_the_search(script, searched, capsys):
    bench, (shop, side) = script("sample_complexity"), searched
    theirs = shop.torch(dict.fromkeys(bench.ARMS, "examples-last"), 1)
    sides = {"whyconv cold": side, "whyconv warm": side, "PyTorch eager": theirs}
    told = bench.summarise(shop.study, sides)
    assert [cell["m*"] for cell in told["m*"]] == ["agrees", "agrees"]
    assert positive(ratio["end_to_end"] for ratio in told["ratios"].values())


def test_whyconvs_steps_of_the_k_pattern(script, stepped):
    _, side = stepped
    assert positive([side.step_seconds, side.run_seconds])
    ended = script("k_pattern_summary").expanded(side.ends["run"])
    assert ended["w"].shape == (2, 8) and side.told["run"]["loss"] < side.told["single"]["loss"] < 1


@needs_torch
def test_the_k_pattern(script, stepped):
    shop, side = stepped
    theirs = shop.torch("theorem", script("k_pattern_sizes").Form("unfold", 16))
    summary, start = script("k_pattern_summary"), shop.start("theorem")
    assert summary.agreement(side, theirs, "single", start)["complaints"] == []
    theirs.ends["single"]["w"][0, 0] += 0.01
    assert summary.agreement(side, theirs, "single", start)["complaints"] != []


@needs_torch
def test_a_training_step_without_mnist(steps, call, monkeypatch, folder, capsys):
    networks = {
        "dense": ({"name": "deep-fcn", "widths": [3]}, (2, 3, 1)),
        "windows": ({**steps.IMAGE, "name": "deep-cnn", "channels": [2, 3]}, (8, 8, 3)),
    }
    cases = [steps.Case(title, *network, **TINY, goal=0) for title, network in networks.items()]
    monkeypatch.setattr(steps, "CASES", cases)
    assert call("training_step", "--rounds", "1", "--patience", "0") == 0
    assert "one epoch: MNIST is not here; run whyconv data fetch mnist" in capsys.readouterr().out
    told = json.loads((folder / "out" / "bench" / "training_step_1.json").read_text())
    assert [case["losses_agree"] for case in told["cases"]] == [True, True]
    assert positive(case["ratio"] for case in told["cases"])


@pytest.mark.parametrize("name", SCRIPTS)
def test_pytorch_that_is_missing_is_told_in_a_sentence(call, steps, monkeypatch, capsys, name):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert call(name) == 2
    out, told = capsys.readouterr()
    assert told == f"{name}.py: PyTorch is not installed; run make bench, which installs it.\n" and not out


def test_images_that_are_missing_are_told_in_a_sentence(steps, call, capsys):
    assert call("training_step", "--memory") == 2
    out, told = capsys.readouterr()
    assert "MNIST is not here" in out and out.count("\n") == 1 and "Traceback" not in told


def step(goal, ratio, losses_agree=True):
    return {
        "title": "a network", "whyconv_ms": 1.0, "torch_ms": ratio, "ratio": ratio, "processor_ratio": ratio,
        "goal": goal, "met": ratio >= goal, "share_of_peak": 0.5, "losses_agree": losses_agree,
        "first_losses": (1.0, 1.0),
    }  # fmt: skip


def told_of(steps, *cases, gib=1.0):
    memory = {"peak_bytes": gib * 2**30, "goal_bytes": steps.MEMORY_GOAL, "seconds": 60.0, "met": gib <= 4}
    shared = {"machine": "m", "versions": {}, "threads": 1, "sgemm_peak_gflops": 1.0}
    return {"memory": memory, **shared, "cases": list(cases)}


def test_every_goal_is_told_and_a_missed_one_fails(steps, capsys):
    good = told_of(steps, step(1.3, 1.31), step(0.75, 0.8))
    steps.show(good)
    told = capsys.readouterr().out
    assert told.count(" met ") == 3 and "missed" not in told and steps.good(good)
    assert "1.00 GiB at most, goal 4 GiB, met (60 s)" in told
    bad = told_of(steps, step(1.3, 1.31), step(1.5, 1.49))
    steps.show(bad)
    assert capsys.readouterr().out.count("missed") == 1 and not steps.good(bad)
    assert not steps.good(told_of(steps, step(1.3, 1.4, losses_agree=False)))
    large = told_of(steps, step(1.3, 1.4), gib=5)
    steps.show(large)
    assert "5.00 GiB at most, goal 4 GiB, missed" in capsys.readouterr().out and not steps.good(large)


class Loop:
    """What ``torch_training_step.Loop`` is, in JAX and step by step; ``pace`` is a factor on the rate."""

    pace = 1.0

    def __init__(self, network, params, x, y, optimiser, rate, threads):
        self.network, self.params = build("network", network), params
        self.optimiser = getattr(optax, optimiser)(self.pace * rate)
        self.batches = list(zip(np.split(x, len(x) // 8), np.split(y, len(y) // 8), strict=True))

    def __call__(self):
        def loss(f, y):
            return jnp.logaddexp(0, -y * f)

        self.params, losses = plain_loop(self.network, self.params, self.optimiser, loss, self.batches)
        return np.mean(losses)


@pytest.fixture
def tiny(steps, monkeypatch):
    """Measures a network of three neurons with both sides; the goal is given."""
    monkeypatch.setattr(steps, "BATCH", 8)
    monkeypatch.setattr(steps, "BATCHES", 4)
    monkeypatch.setitem(sys.modules, "torch_training_step", SimpleNamespace(Loop=Loop))
    case = {"network": {"name": "deep-fcn", "widths": [3]}, "shape": (2, 3, 1), "optimiser": "sgd"}
    return lambda goal: steps.measured(steps.Case("tiny", **case, rate=0.5, options={}, goal=goal), 3, 1)


def test_both_sides_do_the_same_training(tiny, monkeypatch):
    told = tiny(goal=0)
    assert told["losses_agree"] and told["first_losses"][0] == pytest.approx(
        told["first_losses"][1], rel=1e-4
    )
    assert told["gflop"] == pytest.approx(8 * (3 * 2 * (6 * 3 + 3) - 2 * 6 * 3) / 1e9)
    monkeypatch.setattr(Loop, "pace", 3.0)
    assert not tiny(goal=0)["losses_agree"]


def test_a_goal_is_compared_with_the_ratio_of_the_sides(tiny):
    told = tiny(goal=0)
    assert min(told["ratio"], told["processor_ratio"], told["whyconv_ms"], told["torch_ms"]) > 0
    assert told["met"] is True and tiny(goal=1e9)["met"] is False


def test_the_memory_is_that_of_the_papers_largest_trial(script):
    trial = script("paper_trial").largest()
    assert trial.network.name == "deep-lcn" and trial.network.channels == (1024,)
    assert trial.m == 60_000 and trial.task.digits == 19 and trial.task.images == "mnist"
    assert trial.learner.epochs == 1


def test_every_solver_of_margins(script):
    bench, rng = script("margins"), np.random.default_rng(0)
    rows = bench.separable(rng, 40, 5)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    solvers = [solve for name, solve in bench.SOLVERS.items() if find_spec(name)]
    gaps = [bench.badness(units, solve(units), True) for solve in (*solvers, bench.nnls)]
    assert len(gaps) >= 2 and max(gaps) < 1e-8
    assert {can for _, _, can in bench.cases()} == {True, False}


def test_trials_that_compute_nothing_are_all_stored_and_their_seconds_add_up(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("trivial_trials", "--trials", "30") in (0, 1)
    found = json.loads((tmp_path / "build" / "bench" / "trivial_trials.rows.json").read_text())["told"]
    assert found["trials"] == 36, "the quick study has twelve for every seed"
    assert {"planning", "sending", "receiving", "storing", "waiting"} <= found["parts"].keys()
    assert sum(found["parts"].values()) == pytest.approx(found["seconds"], rel=0.05)


@pytest.mark.long
def test_growth_of_two_points_of_three_axes(tmp_path):
    """The command, as it is typed, in another folder."""
    command = [sys.executable, str(BENCH / "growth.py"), "--tiny"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    told = json.loads((tmp_path / "build" / "bench" / "growth.rows.json").read_text())
    assert [row["reason"] for row in told["rows"] if not row["goal"]] == []  # none was skipped
    for points in told["told"].values():
        assert all(positive([*point["seconds"], *point["processor"]]) for point in points)


def test_an_exponent_is_found_and_one_that_is_too_large_is_missed(script):
    bench = script("growth")
    sizes = [10.0, 100.0, 1000.0]
    assert bench.slope(sizes, [size**1.5 for size in sizes])[0] == pytest.approx(1.5)
    points = [{"trials": size} for size in sizes]

    def words(power):
        found = [
            {"processor": [size**power * noise for noise in (0.99, 1.0, 1.01)], "bytes": size**power}
            for size in sizes
        ]
        return [row.word for row in bench.judged("trials", points, found)]

    assert words(1.5) == ["MISSED", "MISSED"] and words(0.0) == ["met", "met"]


@pytest.mark.long
def test_all_benches_end_in_a_table_and_are_kept(script, monkeypatch, tmp_path, capsys):
    bench = script("all")
    monkeypatch.setattr(script("outcome"), "RESULTS", tmp_path / "results")
    monkeypatch.setitem(bench.BENCHES, "growth", (["--tiny", "--axis", "m"], []))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["all.py", "--only", "growth"])
    codes = [bench.main(), bench.main()]
    (file,) = (tmp_path / "results").iterdir()
    kept = json.loads(file.read_text())
    assert len(kept) == 2 and all(each["machine"] and "growth" in each["benches"] for each in kept)
    out = capsys.readouterr().out
    assert "m: seconds" in out and "measured" in out and set(codes) <= {0, 1}
    assert max(map(len, out.splitlines())) <= 200


def test_what_has_no_time_left_is_told_beside_what_was_measured(script, monkeypatch, tmp_path):
    bench = script("all")
    monkeypatch.chdir(tmp_path)
    row = {"name": "a", "goal": "", "measured": "1", "met": True, "reason": ""}

    def written(command, limit):
        (tmp_path / "build" / "bench").mkdir(parents=True)
        (tmp_path / "build" / "bench" / "growth.rows.json").write_text(json.dumps({"rows": [row]}))

    assert bench.ended(["never started"], 0.0) is None
    monkeypatch.setattr(bench, "ended", written)
    found = bench.run("growth", [], 1.0)
    assert found["rows"][0] == row and not found["failed"]
    assert found["rows"][1]["reason"] == "no time was left; run it with --only growth"


def test_a_bench_that_is_ended_leaves_nothing_running(script, tmp_path):
    note = tmp_path / "child"
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    for limit in (1.0, 20.0):
        assert script("all").ended([sys.executable, "-c", program, str(note)], limit) is None
        if note.exists():
            break
    assert gone([int(note.read_text())])


@pytest.mark.long
def test_two_commits_are_compared_in_a_table_that_is_kept(script, monkeypatch, tmp_path, capsys):
    """Both of them this environment: cloning and installing is left out, the first answer is real."""
    bench = script("before_after")

    class Here(bench.Side):
        def __init__(self, commit, folder):
            folder.mkdir()
            self.room, self.bin, self.runs = folder, Path(sys.executable).parent, 0

    monkeypatch.setattr(bench, "Side", Here)
    monkeypatch.setattr(script("outcome"), "RESULTS", tmp_path)
    words = ["before_after.py", "--before", "one", "--after", "other", "--only", "first answer"]
    monkeypatch.setattr("sys.argv", words)
    assert bench.main() == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("first answer"))
    assert line.count("(") == 2
    (kept,) = json.loads(next(tmp_path.iterdir()).read_text())
    assert kept["commits"] == {"before": "one", "after": "other"} and kept["machine"]
    assert positive(took["seconds"] for took in kept["waits"]["first answer"].values())


@pytest.mark.long
@pytest.mark.parametrize(("name", "arguments", "rows"), [("cluster", ["--tiny"], 7), ("page", [], 8)])
def test_the_place_and_the_page_are_measured(name, arguments, rows, tmp_path):
    """The commands, as they are typed, in another folder; small numbers may miss their goals."""
    command = [sys.executable, str(BENCH / f"{name}.py"), *arguments]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    told = json.loads((tmp_path / "build" / "bench" / f"{name}.rows.json").read_text())["rows"]
    if told[0]["reason"] == "Chromium is not on this machine":
        pytest.skip(told[0]["reason"])
    assert len(told) == rows and all(row["met"] is not None for row in told)


@pytest.mark.long
def test_the_times_of_an_audit_are_measured(tmp_path):
    """The command, as it is typed, in another folder; tiny data are not judged."""
    command = [sys.executable, str(BENCH / "audit_times.py"), "--quick"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    content = json.loads((tmp_path / "build" / "bench" / "audit_times.rows.json").read_text())
    assert [row["met"] for row in content["rows"][1:]] == [None] * 9
    for told in content["told"].values():
        assert 0 < told["ended"] < 60 and told["cpu"] > 0 and told["ahead"]


def test_times_are_judged_by_their_goals(script, monkeypatch):
    bench = script("audit_times")
    monkeypatch.setattr(bench, "cores", lambda: 2)
    good = {"first": 29.0, "fifth": 100.0, "ended": 119.0, "rounds": 8, "decided": False, "neighbours": 0.01}
    assert [row.met for row in bench.judged("series", 2.0, good)] == [True] * 3
    for changed in ({"first": 31.0}, {"first": None}, {"fifth": None}, {"fifth": 121.0}, {"ended": 133.0}):
        assert [row.met for row in bench.judged("series", 2.0, {**good, **changed})].count(False) == 1
    early = {**good, "ended": 90.0, "fifth": 80.0}
    assert bench.judged("series", 2.0, early)[-1].met is False, "time was left"
    assert len(bench.judged("series", 2.0, {**early, "decided": True})) == 3
    assert {row.met for row in bench.judged("series", 2.0, {**good, "neighbours": 0.5})} == {None}
    images = bench.strokes(40, 28, 0)
    assert images.x.shape == (40, 28, 28, 1) and len(set(images.y.tolist())) == 10


@needs_torch
def test_an_audit_and_pytorch_do_the_same_work(script, tmp_path):
    """Every trial of a small audit, trained by both sides."""
    bench = script("audit")
    rows, told = bench.compared(tmp_path, bench.QUICK, quick=True)
    assert rows == [] and told["complaints"] == [] and positive([told["ratio"], *told["steps"]])
    assert abs(told["errors"][0] - told["errors"][1]) < 0.05
    networks = ("deep-fcn 128", "deep-fcn 512", "deep-lcn", "deep-cnn", "deep-cnn pool", "deep-cnn global")
    assert set(told["work"]) == {*networks, "majority", "linear", "forest"}
    assert all(positive(told["work"][name]) for name in networks)
    assert [told["work"][name] for name in ("majority", "linear", "forest")] == [[3, 0, 0]] * 3
    assert told["trials"] == sum(count for count, _, _ in told["work"].values())
