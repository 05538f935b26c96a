"""The contestants: whyconv and the PyTorch scripts, on the same examples of Figure 3a."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from machine import Timed, timed, wait_until_quiet
from whyconv import api, registry
from whyconv.execution import draw
from whyconv.settings import configure
from whyconv.streams import streams
from whyconv_fig3a import STUDY

BENCH = Path(__file__).parent
PRODUCTS = 2
"""Matrix products in the training of an example: forward, and the gradient of the first layer's weights."""


@dataclass
class Side:
    """One contestant: what a run takes, with empty and with filled compilation caches, and its rows."""

    name: str
    run: Callable[[Path], tuple[Timed, pd.DataFrame]]
    """Runs everything with a folder for the compilation cache."""
    compiles: bool
    at_a_time: int
    cold: list[Timed] = field(default_factory=list)
    warm: list[Timed] = field(default_factory=list)
    rows: pd.DataFrame = field(default_factory=pd.DataFrame)

    def measure(self, cache: Path, patience: float) -> None:
        """Once with an empty cache and, if there is anything to keep in it, once more."""
        wait_until_quiet(patience)
        took, self.rows = self.run(cache)
        self.cold.append(took)
        if self.compiles:
            wait_until_quiet(patience)
            took, self.rows = self.run(cache)
        self.warm.append(took)

    def seconds(self, timings: list[Timed]) -> float:
        """The median wall time."""
        return statistics.median(each.seconds for each in timings)


class Figure3a:
    """Two arms of the study at given sizes, and a folder to work in."""

    def __init__(self, m: list[int], seeds: int, channels: int, folder: Path) -> None:
        registry.load(STUDY)
        self.settings = {"m": m, "arms.ConvPool.network.channels": channels}
        self.study: Any = configure("bench.fig3a", "paper", self.settings, seeds)
        self.networks = {arm: self.study.cell(arm, {}, {}).network for arm in self.study.arms}
        self._folder = folder
        self._count = 0

    def export(self) -> None:
        """Write the examples whyconv trains and tests on, and the sizes, for the PyTorch scripts."""
        study, task = self.study, self.study.task
        for point in study.cell("ConvPool", {}, {}, m=max(study.m)).points():
            seed, keys = point.trial.seed, streams(point.trial)
            train = draw(task, keys["world"], keys["train"], max(study.m))
            test = draw(task, keys["world"], keys["test"], study.test_size)
            parts = {"x": train.x, "y": train.y, "test_x": test.x, "test_y": test.y}
            np.savez(self._folder / f"seed{seed}.npz", **{k: np.array(v) for k, v in parts.items()})
        sizes = {
            "m": study.m,
            "seeds": study.seeds,
            "positions": task.positions,
            "pattern_dim": task.pattern_dim,
            "channels": self.networks["ConvPool"].channels,
            "width": self.networks["MLP"].hidden(task.shape),
        }
        (self._folder / "sizes.json").write_text(json.dumps(sizes))

    def whyconv(self, cache: Path) -> tuple[Timed, pd.DataFrame]:
        """The study through its runner, into a fresh folder."""
        out = self._fresh("run")
        call = json.dumps([self.settings, self.study.seeds, str(out)])
        command = [sys.executable, str(BENCH / "whyconv_fig3a.py"), call]
        took = timed(command, {"WHYCONV_CACHE": str(cache)}, self._fresh("log"))
        (run,) = api.open_runs(out)
        return took, run.table

    def torch(self, form: str, cache: Path) -> tuple[Timed, pd.DataFrame]:
        """One run of the PyTorch script."""
        out = self._fresh("json")
        script = [str(BENCH / "torch_fig3a.py"), "--form", form, str(self._folder), str(out)]
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "TMPDIR": str(cache)}
        took = timed([sys.executable, *script], caches, self._fresh("log"))
        return took, pd.DataFrame(json.loads(out.read_text()))

    def flops(self, rows: pd.DataFrame) -> pd.Series:
        """The work of every training; padded rows and evaluations do not count, on any side."""
        forward = {arm: network.flops(self.study.task.shape) for arm, network in self.networks.items()}
        return PRODUCTS * rows["arm"].map(forward) * rows["epochs"] * rows["m"]

    def _fresh(self, suffix: str) -> Path:
        self._count += 1
        return self._folder / f"{self._count}.{suffix}"
