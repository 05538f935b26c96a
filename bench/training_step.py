"""A training step of networks on images against PyTorch eager: same examples, same start, same steps.

Batches of 128 in single precision. whyconv runs the compiled programs of its ``gradient`` learner, PyTorch an
ordinary loop; both in this process with the same number of threads, taking turns, 16 steps each. Shown are
medians over the turns, the median ratio of neighbouring turns, in seconds and in processor seconds (which
neighbours hardly change, if threads do not wait for each other), and the share of the machine's sgemm peak
(NumPy, as many threads) at which whyconv makes the products of a step. Compilation is not counted.

Before that a trial of the paper's size runs in a process of its own (``paper_trial.py``, a minute or two; it
needs MNIST and is left out where that is missing), for the memory it takes. Exits with 1 if a goal is missed,
or if the sides do not have the same losses in the first epoch; with 2 if PyTorch is missing, or, with
``--memory``, MNIST. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from outcome import Outcome, at_least, skipped, write

OUT = Path("build/bench")
BATCH, BATCHES = 128, 16
AGREE = 0.01
GIB = 2**30
MEMORY_GOAL = 4 * GIB
"""What a trial of the paper's size may take at most."""


@dataclass(frozen=True)
class Case:
    """A network, its inputs, its optimiser, and what its speed over PyTorch's should be at least."""

    title: str
    network: dict[str, Any]
    shape: tuple[int, int, int]
    optimiser: str
    rate: float
    options: dict[str, float]
    goal: float


ADADELTA = ("adadelta", 1.0, {"rho": 0.9, "eps": 1e-6})
RMSPROP = ("rmsprop", 1e-3, {"decay": 0.99, "eps": 1e-8, "eps_in_sqrt": 0})
SEQUENCE = {"kernel": [24, 24], "stride": [24, 8]}
IMAGE = {"kernel": 3, "stride": 2, "padding": "same", "channels": [32, 64, 128, 128], "outputs": 10}
CASES = [
    Case("FCN 3648-1024-1, AdaDelta", {"name": "deep-fcn", "widths": [1024]}, (24, 152, 1), *ADADELTA, 1.3),
    *(
        Case(
            f"CNN 24 x 152, 17 windows, {channels} channels, AdaDelta",
            {"name": "deep-cnn", "channels": [channels], **SEQUENCE},
            (24, 152, 1),
            *ADADELTA,
            1.5,
        )
        for channels in (256, 1024)
    ),
    Case("CNN 32 x 32 x 3, 4 layers, RMSprop", {"name": "deep-cnn", **IMAGE}, (32, 32, 3), *RMSPROP, 0.75),
]


def main() -> int:
    """Measure, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="of both sides; 1 as in whyconv's workers")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side")
    parser.add_argument("--patience", type=float, default=2, help="minutes to wait for a quiet machine")
    parser.add_argument("--memory", action="store_true", help="only the memory of a trial; needs no PyTorch")
    parser.add_argument("--json", action="store_true", help="print what is written to build/bench")
    chosen = parser.parse_args()
    allow(chosen.threads)
    if not chosen.memory:
        from machine import require_torch

        require_torch()
    told = {"memory": paper_memory()}  # first: a process that is started begins with its parent's peak
    if not chosen.memory:
        told |= steps(chosen.threads, chosen.rounds, chosen.patience)
    OUT.mkdir(parents=True, exist_ok=True)
    name = "memory" if chosen.memory else chosen.threads
    (OUT / f"training_step_{name}.json").write_text(json.dumps(told, indent=2) + "\n")
    write("training_step", outcomes(told), told)
    print(json.dumps(told, indent=2)) if chosen.json else show(told)
    if chosen.memory and "missing" in told["memory"]:
        return 2
    return 0 if good(told) else 1


def good(told: dict[str, Any]) -> bool:
    """Whether every goal that was measured was met, by sides that did the same."""
    lines, memory = told.get("cases", []), told["memory"]
    return memory.get("met", True) and all(line["met"] and line["losses_agree"] for line in lines)


def outcomes(told: dict[str, Any]) -> list[Outcome]:
    """A row for every network, and one for the memory."""
    rows = [at_least(line["title"], line["goal"], line["ratio"]) for line in told.get("cases", [])]
    memory, name = told["memory"], "memory of a trial, paper's size"
    if "missing" in memory:
        return [*rows, skipped(name, memory["missing"])]
    limit, peak = (f"{memory[key] / GIB:.2g} GiB" for key in ("goal_bytes", "peak_bytes"))
    return [*rows, Outcome(name, f"<= {limit}", peak, memory["met"])]


def paper_memory() -> dict[str, Any]:
    """The largest memory of a trial of the paper's size, in a process of its own; or why there is none."""
    from machine import timed as process
    from whyconv.runner.worker import surroundings

    print("A trial of the paper's size ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out, script = Path(folder) / "out.json", Path(__file__).with_name("paper_trial.py")
        command = [sys.executable, str(script), str(out)]
        took = process(command, surroundings(os.environ), Path(folder) / "log")
        told = json.loads(out.read_text())
    if "missing" in told:
        return told
    met = told["peak_bytes"] <= MEMORY_GOAL
    return {**told, "seconds": took.seconds, "goal_bytes": MEMORY_GOAL, "met": met}


def steps(threads: int, rounds: int, patience: float) -> dict[str, Any]:
    """Training steps of every case."""
    from machine import describe, sgemm_peak, wait_until_quiet

    lines = []
    peak = sgemm_peak()
    for case in CASES:
        wait_until_quiet(patience)
        print(f"{case.title} ...", file=sys.stderr, flush=True)
        lines.append(measured(case, rounds, threads))
    peak = max(peak, sgemm_peak())
    for line in lines:
        line["share_of_peak"] = line["gflop"] * 1e12 / line["whyconv_ms"] / peak
    return {
        "machine": describe(),
        "versions": {name: version(name) for name in ("whyconv", "jax", "torch", "optax")},
        "threads": threads,
        "sgemm_peak_gflops": peak / 1e9,
        "cases": lines,
    }


def allow(threads: int) -> None:
    """So many threads for every library; before any of them is imported."""
    if threads == 1:
        from whyconv.runner.worker import surroundings

        os.environ.update(surroundings(os.environ))
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    os.environ.update(dict.fromkeys(names, str(threads)), JAX_PLATFORMS="cpu")


def measured(case: Case, rounds: int, threads: int) -> dict[str, Any]:
    """The two sides of a case, taking turns."""
    import numpy as np

    from torch_training_step import Loop

    rng = np.random.default_rng(0)
    outputs = case.network.get("outputs", 1)
    x = rng.standard_normal((BATCH * BATCHES, *case.shape), dtype=np.float32)
    y = rng.integers(0, outputs, len(x)) if outputs > 1 else 2 * rng.integers(0, 2, len(x)) - 1
    ours, params, gflop = whyconv_side(case, x, y.astype(np.float32))
    theirs = Loop(case.network, params, x, y, case.optimiser, case.rate, threads)
    losses = ours(), theirs()
    turns = [(timed(ours), timed(theirs)) for _ in range(rounds)]
    mine, other = (statistics.median(turn[side][0] for turn in turns) for side in (0, 1))
    ratio, processor_ratio = (statistics.median(b[clock] / a[clock] for a, b in turns) for clock in (0, 1))
    return {
        "title": case.title,
        "whyconv_ms": 1e3 * mine,
        "torch_ms": 1e3 * other,
        "ratio": ratio,
        "processor_ratio": processor_ratio,
        "goal": case.goal,
        "met": ratio >= case.goal,
        "gflop": gflop,
        "first_losses": losses,
        "losses_agree": abs(losses[0] - losses[1]) <= AGREE * losses[1],
    }


def timed(epoch: Callable[[], float]) -> tuple[float, float]:
    """Seconds and processor seconds of a step."""
    began, spent = time.perf_counter(), time.process_time()
    epoch()
    return (time.perf_counter() - began) / BATCHES, (time.process_time() - spent) / BATCHES


def whyconv_side(case: Case, x: Any, y: Any) -> tuple[Callable[[], float], Any, float]:
    """An epoch that returns its mean loss; the first parameters; GFLOP of a step's products."""
    import jax.numpy as jnp

    from whyconv.learners import Feed, Job, Maker
    from whyconv.learners.gradient import Gradient
    from whyconv.spec import build
    from whyconv.streams import stream
    from whyconv.tasks import Sample

    network = build("network", case.network)
    loss = "cross-entropy" if network.score_count > 1 else "logistic"
    learner = Gradient(
        optimiser=case.optimiser, rate=case.rate, options=case.options, batch=BATCH, loss=loss, tolerance=0,
        epochs=8_000_000,
    )  # fmt: skip
    taken = Maker(lambda arrays, epoch: (), lambda arrays, order, chosen: arrays_at(arrays, chosen), True)
    feed = Feed(taken, Sample(jnp.asarray(x), jnp.asarray(y)), len(x))
    nothing = Sample(jnp.zeros((0, *case.shape)), jnp.zeros(0))
    job = Job(network, nothing, len(x), stream("bench", 0), stream("bench", 1), feed)
    state = first = learner.start(job)

    def epoch() -> float:
        nonlocal state
        state = learner.advance(job, state, BATCHES)
        return float(state.loss)

    learner.advance(job, state, 1)  # compiles
    backward = network.flops(case.shape) - first_products(network, case.shape)
    return epoch, first.params, BATCH * (2 * network.flops(case.shape) + backward) / 1e9


def arrays_at(arrays: Any, chosen: Any) -> Any:
    """The examples with these numbers."""
    return type(arrays)(arrays.x[chosen], arrays.y[chosen])


def first_products(network: Any, shape: tuple[int, ...]) -> int:
    """Operations of the first layer, whose inputs get no gradient."""
    if network.name == "deep-fcn":
        return 2 * math.prod(shape) * network.sizes(shape)[0]
    layer = network.layers(shape)[0]
    return 2 * layer.windows.positions * layer.inputs * layer.channels


def show(told: dict[str, Any]) -> None:
    """Print the memory and the table."""
    memory = told["memory"]
    found = memory.get("missing") or (
        f"{memory['peak_bytes'] / GIB:.2f} GiB at most, goal {memory['goal_bytes'] / GIB:g} GiB, "
        f"{verdict(memory)} ({memory['seconds']:.0f} s)"
    )
    print(f"A trial of the paper's size, cut to one epoch: {found}")
    if "cases" not in told:
        return
    print(f"{told['machine']}; {', '.join(' '.join(item) for item in told['versions'].items())}")
    print(
        f"Threads: {told['threads']}, sgemm peak {told['sgemm_peak_gflops']:.0f} GFLOP/s, batches of {BATCH}"
    )
    heads = f"{'whyconv ms':>12}{'PyTorch ms':>12}{'ratio':>8}{'processor':>11}{'goal':>7}{'':8}{'peak':>7}"
    print(f"{'':50}{heads}")
    for line in told["cases"]:
        ratios = f"{line['ratio']:8.2f}{line['processor_ratio']:11.2f}{line['goal']:7.2f}{verdict(line):>8}"
        times = f"{line['whyconv_ms']:12.2f}{line['torch_ms']:12.2f}"
        print(f"{line['title']:50}{times}{ratios}{line['share_of_peak']:7.0%}")
        if not line["losses_agree"]:
            print(f"The sides differ: mean losses of the first epoch {line['first_losses']}")


def verdict(line: dict[str, Any]) -> str:
    """In a word."""
    return "met" if line["met"] else "missed"


if __name__ == "__main__":
    sys.exit(main())
