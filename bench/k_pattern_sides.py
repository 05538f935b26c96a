"""The contestants as processes: whyconv's learner, PyTorch's dense forms, exact and sampled gradients."""

from __future__ import annotations

import json
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from k_pattern_sizes import Form, Sizes
from machine import QUIET, Timed, timed, wait_until_quiet
from whyconv.execution import draw
from whyconv.runner.worker import surroundings
from whyconv.streams import streams
from whyconv.trial import Trial

BENCH = Path(__file__).parent
ROUNDS = 5
"""Rounds of whyconv's milliseconds for every repetition of PyTorch's seconds."""
BIAS = 0.5
"""Of the neuron whose gradient is computed: without it half of the coefficients of tanh' vanish."""

Parameters = dict[str, np.ndarray]


@dataclass(frozen=True)
class Ours:
    """whyconv's learner on one trial: what its process reported, and the parameters it ended with."""

    told: dict[str, Any]
    process: Timed
    ends: dict[str, Parameters]

    @property
    def step_seconds(self) -> float:
        """The median of single steps."""
        return statistics.median(self.told["single"]["seconds"])

    @property
    def run_seconds(self) -> float:
        """The median of runs that found everything compiled."""
        return statistics.median(self.told["run"]["seconds"])


@dataclass(frozen=True)
class Dense:
    """The same for one form of the dense network in PyTorch."""

    form: Form
    told: dict[str, Any]
    process: Timed
    ends: dict[str, Parameters]

    @property
    def step_seconds(self) -> float:
        """The median of single steps."""
        return statistics.median(self.told["single"]["seconds"])


@dataclass(frozen=True)
class Gradient:
    """All coordinates of a neuron's population gradient (of the reference: some)."""

    values: np.ndarray
    seconds: float
    peak_bytes: int
    process: Timed


class Gradients(NamedTuple):
    """The same gradient three times; the reference knows the coordinates ``chosen`` only."""

    exact: Gradient
    sampled: Gradient
    reference: Gradient
    chosen: np.ndarray


class Workshop:
    """Starts processes, one after another, each when the machine is quiet; keeps files in a folder.

    ``patience``: minutes to wait for that; ``tries``: how often to start a process that others disturb.
    """

    def __init__(self, sizes: Sizes, repeats: int, patience: float, tries: int, folder: Path) -> None:
        self.sizes, self.repeats = sizes, repeats
        self._patience, self._tries, self._folder, self._count = patience, tries, folder, 0
        for start in ("theorem", "normal"):
            np.savez(folder / f"{start}.npz", **self.start(start))

    def start(self, start: str) -> Parameters:
        """The examples whyconv trains on, and its plain network's first parameters."""
        trial: Any = Trial(**self.sizes.trial(start))
        keys = streams(trial)
        sample = draw(trial.task, keys["world"], keys["train"], trial.m)
        first = trial.network.init(keys["init"], trial.task.shape)
        parts = {"x": sample.x, "y": sample.y, "w": first["w"][0], "b": first["b"][0], "u": first["u"]}
        return {name: np.asarray(part, np.float32) for name, part in parts.items()}

    def whyconv(self, start: str, rounds: int | None = None) -> Ours:
        """Single steps and runs of one trial; the first process of a start finds nothing compiled."""
        rounds = ROUNDS * self.repeats if rounds is None else rounds
        return self._whyconv([self.sizes.trial(start)], rounds, f"cache-{start}")[0]

    def filters(self) -> tuple[list[Ours], list[Ours]]:
        """Runs with more and more filters: in turns in one process, and each in a process of its own."""
        trials = [self.sizes.trial("theorem", q) for q in self.sizes.many_filters]
        together = self._whyconv(trials, 2 * ROUNDS * self.repeats, "cache-filters")
        return together, [self._whyconv([trial], 1, "cache-filters")[0] for trial in trials]

    def torch(self, start: str, form: Form, run: bool = False) -> Dense:
        """Single steps, or a run, of one dense form."""
        out = self._fresh("json")
        how = ["--form", form.form, "--rate", repr(self.sizes.rate(start, self.sizes.q))]
        how += ["--chunk", str(form.chunk)] if form.chunk else []
        how += ["--compiled"] if form.compiled else []
        how += ["--run", str(self.sizes.steps)] if run else ["--single", str(1 + self.repeats)]
        script = ["torch_k_pattern.py", *how, str(self._folder / f"{start}.npz"), str(out)]
        process = self._timed(form.name, script, {"TORCHINDUCTOR_CACHE_DIR": str(self._folder / "inductor")})
        name = "run" if run else "single"
        end = dict(np.load(out.with_suffix(f".{name}.npz")))
        return Dense(form, json.loads(out.read_text()), process, {name: end})

    def gradient(self) -> Gradients:
        """The gradient of one neuron: exact, sampled, and on a few coordinates with many digits."""
        sizes, neuron = self.sizes, self._fresh("npz")
        bits, size = sizes.neuron_bits, sizes.neuron_parity
        weights = np.random.default_rng(0).standard_normal(bits) / bits**0.5
        chosen = np.array([0, size // 2, size - 1, size, bits // 2, bits - 1])
        np.savez(
            neuron, weights=weights, bias=BIAS, size=size, samples=np.int64(sizes.samples), chosen=chosen
        )
        exact, sampled, reference = (self._gradient(how, neuron) for how in ("exact", "sampled", "reference"))
        return Gradients(exact, sampled, reference, chosen)

    def _gradient(self, how: str, neuron: Path) -> Gradient:
        out = self._fresh("npz")
        process = self._timed(f"{how} gradient", ["population_gradient.py", how, str(neuron), str(out)], {})
        with np.load(out) as told:
            return Gradient(told["gradient"], float(told["seconds"]), int(told["peak_bytes"]), process)

    def _whyconv(self, trials: list[dict[str, Any]], rounds: int, cache: str) -> list[Ours]:
        out = self._fresh("json")
        call = json.dumps({"trials": trials, "rounds": rounds, "single": 1 + self.repeats})
        (self._folder / cache).mkdir(exist_ok=True)
        environment = surroundings({**os.environ, "WHYCONV_CACHE": str(self._folder / cache)})
        tries = self._tries if rounds else 1  # a second time would find everything compiled
        process = self._timed("whyconv", ["whyconv_k_pattern.py", call, str(out)], environment, tries)
        found = []
        for number, told in enumerate(json.loads(out.read_text())):
            ends = {name: out.with_suffix(f".{number}.{name}.npz") for name in ("run", "single")}
            found.append(Ours(told, process, {name: dict(np.load(file)) for name, file in ends.items()}))
        return found

    def _timed(
        self, name: str, script: list[str], environment: dict[str, str], tries: int | None = None
    ) -> Timed:
        """Again if others disturbed it, but not forever: the last time counts."""
        command = [sys.executable, str(BENCH / script[0]), *script[1:]]
        for number in range(tries or self._tries):
            wait_until_quiet(self._patience)
            print(f"{name}{' again' if number else ''} ...", file=sys.stderr, flush=True)
            process = timed(command, environment, self._fresh("log"))
            if process.neighbours <= QUIET:
                break
        return process

    def _fresh(self, suffix: str) -> Path:
        self._count += 1
        return self._folder / f"{self._count}.{suffix}"
