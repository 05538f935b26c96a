"""Training steps against a plain loop where PyTorch would be, really run; and the words on given numbers."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from training import plain_loop

from whyconv.spec import build

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """The script as a module, with the threads of this process, which writes into a folder of the test."""
    monkeypatch.syspath_prepend(BENCH)
    module = importlib.import_module("training_step")
    monkeypatch.setattr(module, "allow", lambda threads: None)
    monkeypatch.setattr(module, "OUT", tmp_path)
    return module


def step(goal, ratio, losses_agree=True):
    return {
        "title": "a network", "whyconv_ms": 1.0, "torch_ms": ratio, "ratio": ratio, "processor_ratio": ratio,
        "goal": goal, "met": ratio >= goal, "share_of_peak": 0.5, "losses_agree": losses_agree,
        "first_losses": (1.0, 1.0),
    }  # fmt: skip


def called(bench, monkeypatch, *arguments, gib=1.0, lines=()):
    memory = {"peak_bytes": gib * 2**30, "goal_bytes": bench.MEMORY_GOAL, "seconds": 60.0, "met": gib <= 4}
    told = {"machine": "m", "versions": {}, "threads": 1, "sgemm_peak_gflops": 1.0, "cases": list(lines)}
    monkeypatch.setattr(bench, "paper_memory", lambda: memory)
    monkeypatch.setattr(bench, "steps", lambda *_: told)
    monkeypatch.setattr("sys.argv", ["training_step.py", *arguments])
    return bench.main()


def test_every_goal_is_told_and_a_missed_one_fails(bench, monkeypatch, capsys):
    assert called(bench, monkeypatch, lines=[step(1.3, 1.31), step(0.75, 0.8)]) == 0
    told = capsys.readouterr().out
    assert told.count(" met ") == 3 and "missed" not in told
    assert "1.00 GiB at most, goal 4 GiB, met (60 s)" in told
    assert called(bench, monkeypatch, lines=[step(1.3, 1.31), step(1.5, 1.49)]) == 1
    assert capsys.readouterr().out.count("missed") == 1
    assert called(bench, monkeypatch, lines=[step(1.3, 1.4, losses_agree=False)]) == 1


def test_the_memory_alone(bench, monkeypatch, capsys, tmp_path):
    assert called(bench, monkeypatch, "--memory", gib=5, lines=[step(1.3, 1.4)]) == 1
    assert "5.00 GiB at most, goal 4 GiB, missed" in capsys.readouterr().out
    assert list(json.loads((tmp_path / "training_step_memory.json").read_text())) == ["memory"]


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
def tiny(bench, monkeypatch):
    """Measures a network of three neurons with both sides; the goal is given."""
    monkeypatch.setattr(bench, "BATCH", 8)
    monkeypatch.setattr(bench, "BATCHES", 4)
    monkeypatch.setitem(sys.modules, "torch_training_step", SimpleNamespace(Loop=Loop))
    case = {"network": {"name": "deep-fcn", "widths": [3]}, "shape": (2, 3, 1), "optimiser": "sgd"}
    return lambda goal: bench.measured(bench.Case("tiny", **case, rate=0.5, options={}, goal=goal), 3, 1)


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


def test_the_memory_is_that_of_the_papers_largest_trial(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    trial = importlib.import_module("paper_trial").largest()
    assert trial.network.name == "deep-lcn" and trial.network.channels == (1024,)
    assert trial.m == 60_000 and trial.task.digits == 19 and trial.task.images == "mnist"
    assert trial.learner.epochs == 1


def test_images_that_are_missing_are_told_in_a_sentence(bench, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("WHYCONV_DATA", raising=False)
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path / "cache"))
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody answers there
    monkeypatch.setattr("sys.argv", ["training_step.py", "--memory"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "training_step.py: " in told and "MNIST" in told and "Traceback" not in told
