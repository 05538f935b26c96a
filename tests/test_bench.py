"""The bench of training steps judges itself: goals that are missed are told, and fail it."""

import importlib
import json
import sys
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """The script as a module, without PyTorch, on a machine that measures nothing."""
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


def test_a_goal_is_compared_with_the_ratio_of_the_sides(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_training_step", SimpleNamespace(Loop=lambda *_: lambda: 1.0))
    monkeypatch.setattr(bench, "whyconv_side", lambda *_: (lambda: 1.0, None, 1.0))
    turns = cycle([(1.0, 1.0), (2.0, 2.0)])  # seconds and processor seconds, of either side
    monkeypatch.setattr(bench, "timed", lambda epoch: next(turns))
    for goal, met in ((1.9, True), (2.1, False)):
        told = bench.measured(bench.Case("a network", {}, (2, 2, 1), "sgd", 1.0, {}, goal), 2, 1)
        assert told["ratio"] == 2.0 and told["met"] is met


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
