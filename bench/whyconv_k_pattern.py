"""The k-pattern CNN by whyconv's own learner: trial, form, start, advance.

``python whyconv_k_pattern.py CALL OUT``: CALL holds trials (specs), rounds, and how many steps are taken one
by one. The first round compiles; in every round each trial has its turn, so that what disturbs one disturbs
all. OUT gets seconds and losses, and the parameters beside it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from whyconv.execution import capacity, draw
from whyconv.learners import Job
from whyconv.learners._training import Running
from whyconv.streams import streams
from whyconv.trial import Trial

FOREVER = 8_000_000


class Contestant:
    """One trial with its examples in memory, and the seconds of what was done with it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        trial = Trial(**spec)
        keys = streams(trial)
        sample = jax.block_until_ready(draw(trial.task, keys["world"], keys["train"], capacity(trial.m)))
        self.job = Job(trial.form, sample, trial.m, keys["init"], keys["batches"])
        self.learner: Any = trial.learner
        self.runs: list[float] = []
        self.steps: list[float] = []
        self.states: dict[str, Running] = {}

    def run(self) -> None:
        """All epochs of the learner as one segment, and the loss after them."""
        began = time.perf_counter()
        state = self.learner.start(self.job)
        state = self.learner.advance(self.job, state, self.learner.epochs)
        self.states["run"] = jax.block_until_ready(state)
        self.runs.append(time.perf_counter() - began)

    def single(self, steps: int) -> None:
        """Segments of one step each, of which the first is not counted."""
        learner = self.learner.model_copy(update={"epochs": FOREVER})
        state = jax.block_until_ready(learner.start(self.job))
        for step in range(steps):
            began = time.perf_counter()
            state = jax.block_until_ready(learner.advance(self.job, state, 1))
            if step:
                self.steps.append(time.perf_counter() - began)
        self.states["single"] = state

    def told(self) -> dict[str, Any]:
        """Everything but the parameters, JSON-ready."""
        return {
            "form": self.job.network.form if self.job.network else "",
            "first_run_seconds": self.runs[0],
            "run": {"steps": self.learner.epochs, "seconds": self.runs[1:], **self._loss("run")},
            "single": {"seconds": self.steps, **self._loss("single")},
        }

    def _loss(self, name: str) -> dict[str, float]:
        return {"loss": float(self.states[name].loss)} if name in self.states else {}


def main() -> None:
    """Do what the call says."""
    call, out = json.loads(sys.argv[1]), Path(sys.argv[2])
    contestants = [Contestant(spec) for spec in call["trials"]]
    for number in range(1 + call["rounds"]):
        for each in contestants[:: -1 if number % 2 else 1]:
            each.run()
            if call["single"]:
                each.single(call["single"])
    for number, each in enumerate(contestants):
        for name, state in each.states.items():
            parts = {part: np.asarray(array) for part, array in state.params.items()}
            np.savez(out.with_suffix(f".{number}.{name}.npz"), **parts)
    out.write_text(json.dumps([each.told() for each in contestants]))


if __name__ == "__main__":
    main()
