"""Lahoti et al.'s search for m* in PyTorch, as a researcher would write it: one training after another.

For every k, network, m, seed and pair of step sizes a small module, ``torch.optim.SGD`` with two groups of
parameters, all examples in every step, and a projection after it. The risk is the closed form, so there is
no test set; samples are drawn once a seed, larger ones contain the smaller. ``--cnn`` and ``--lcn`` are
layouts of the inputs; ``--compiled`` trains the same modules by a step that is one compiled graph.
``--probe`` measures what a step takes in the given layouts. Of whyconv only the search rule is used.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import ndtr
from torch import nn
from torch.func import grad
from torch.nn import functional

from whyconv.measure.complexity import Search

PROBE_SIZES, PROBE_STEPS, PROBE_ROUNDS = (16, 200, 1000), 50, 3


class Layout(NamedTuple):
    """How inputs (example, patch, coordinate) are laid out; z_i = <w_i, x_i> of them, patches on ``axis``."""

    lay: Callable[[torch.Tensor], torch.Tensor]
    nodes: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    axis: int


LAYOUTS = {
    "CNN": {
        "examples-first": Layout(lambda x: x.contiguous(), lambda x, w: x @ w[0], 1),
        "patches-first": Layout(lambda x: x.transpose(0, 1).contiguous(), lambda x, w: x @ w[0], 0),
        "examples-last": Layout(
            lambda x: x.permute(2, 1, 0).contiguous(), lambda x, w: (w[0] @ x.flatten(1)).view(x.shape[1:]), 0
        ),
    },
    "LCN": {
        "examples-first": Layout(lambda x: x.contiguous(), lambda x, w: (x * w).sum(2), 1),
        "patches-first": Layout(
            lambda x: x.transpose(0, 1).contiguous(), lambda x, w: torch.bmm(x, w[:, :, None]).squeeze(2), 0
        ),
        "examples-last": Layout(
            lambda x: x.permute(1, 2, 0).contiguous(), lambda x, w: torch.bmm(w[:, None], x).squeeze(1), 0
        ),
    },
}
"""Tried as well and slower: einsum, conv1d of stride d (with groups for the LCN), z - clamp(z, -b, b), fused
SGD; a derivative of the activation written by hand gains nothing."""


class Threshold(nn.Module):
    """f(x) = sum over patches of ReLU(z_i - b) - ReLU(-z_i - b), z_i = <w_i, x_i>; w has 1 or k rows."""

    def __init__(self, layout: Layout, start: torch.Tensor, bias: float) -> None:
        super().__init__()
        self.nodes, self.axis = layout.nodes, layout.axis
        self.w = nn.Parameter(start.clone())
        self.b = nn.Parameter(torch.tensor(bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of inputs as the layout has them."""
        z = self.nodes(x, self.w)
        return (functional.relu(z - self.b) - functional.relu(-z - self.b)).sum(self.axis)


def train(model: Threshold, x: torch.Tensor, y: torch.Tensor, pair: tuple[float, float], steps: int) -> None:
    """Projected gradient descent on the whole sample: rows of w in the unit ball, b >= 0."""
    groups = [{"params": [model.w], "lr": pair[0]}, {"params": [model.b], "lr": pair[1]}]
    optimizer = torch.optim.SGD(groups)
    for _ in range(steps):
        optimizer.zero_grad()
        functional.mse_loss(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            model.w.renorm_(2, 0, 1.0)
            model.b.clamp_(min=0.0)


def compiled_training(layout: Layout) -> Callable[..., None]:
    """``train`` with forward, backward, step and projection in one graph, for any m."""

    def loss(w: torch.Tensor, b: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = layout.nodes(x, w)
        return functional.mse_loss((functional.relu(z - b) - functional.relu(-z - b)).sum(layout.axis), y)

    @torch.compile(fullgraph=True, dynamic=True)
    def step(w, b, x, y, rate, bias_rate):
        slope_w, slope_b = grad(loss, argnums=(0, 1))(w, b, x, y)
        moved = w - rate * slope_w
        return moved / moved.norm(dim=1, keepdim=True).clamp(min=1), (b - bias_rate * slope_b).clamp(min=0)

    @torch.no_grad()
    def training(
        model: Threshold, x: torch.Tensor, y: torch.Tensor, pair: tuple[float, float], steps: int
    ) -> None:
        w, b = model.w.detach(), model.b.detach()
        rates = [torch.tensor(rate) for rate in pair]
        for _ in range(steps):
            w, b = step(w, b, x, y, *rates)
        model.w.copy_(w)
        model.b.copy_(b)

    return training


class World(NamedTuple):
    """A seed's draws: the signal, as many examples as are ever needed, first filters of both networks."""

    signal: torch.Tensor
    x: torch.Tensor
    y: torch.Tensor
    starts: dict[str, torch.Tensor]


def draw(job: dict[str, Any], k: int, seed: int) -> World:
    """y = +1 or -1, one random patch of k holds y times the unit signal, noise of size sigma in all."""
    source, d, m = torch.Generator().manual_seed(seed), job["d"], job["cap"]
    signal = functional.normalize(torch.randn(d, generator=source), dim=0)
    y = 2.0 * torch.randint(2, (m,), generator=source) - 1
    x = job["sigma"] * torch.randn(m, k, d, generator=source)
    x[torch.arange(m), torch.randint(k, (m,), generator=source)] += y[:, None] * signal
    starts = {
        arm: (job["init_scale"] * torch.randn(rows, d, generator=source) / d**0.5).renorm(2, 0, 1.0)
        for arm, rows in (("CNN", 1), ("LCN", k))
    }
    return World(signal, x, y, starts)


def risk(model: Threshold, signal: torch.Tensor, k: int, sigma: float) -> float:
    """E (y - f)^2, the closed form for Gaussian noise, in double precision."""
    w = np.broadcast_to(model.w.detach().numpy().astype(float), (k, len(signal)))
    b, s = model.b.item(), np.maximum(sigma * np.linalg.norm(w, axis=1), 1e-30)

    def ramp(mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        below, density = ndtr(mu / s), np.exp(-((mu / s) ** 2) / 2) / math.sqrt(2 * math.pi)
        return mu * below + s * density, (mu**2 + s**2) * below + mu * s * density

    alpha = w @ signal.numpy().astype(float)
    (up, up2), (down, down2), (_, noise2) = ramp(alpha - b), ramp(-alpha - b), ramp(np.full(k, -b))
    found = 1 - 2 * (up - down).mean() + (up2 + down2).mean() + 2 * (k - 1) * noise2.mean()
    return float(found) if np.isfinite(found) else math.inf


def searched(
    job: dict[str, Any], k: int, worlds: list[World], arm: str, layout: Layout, training: Callable[..., None]
) -> list[dict[str, Any]]:
    """Every m that the search asks for, with all seeds: the least risk over the pairs of step sizes."""
    search, pairs = Search(job["low"], job["cap"], job["resolution"]), list(product(*job["rates"]))
    means: dict[int, float] = {}
    rows = []
    while wanted := search.wanted(means, job["targets"][str(k)]):
        for m in wanted:
            risks = []
            for seed, world in enumerate(worlds):
                began = time.perf_counter()
                x, y, found = layout.lay(world.x[:m]), world.y[:m], []
                for pair in pairs:
                    model = Threshold(layout, world.starts[arm], job["bias"])
                    training(model, x, y, pair, job["steps"])
                    found.append(risk(model, world.signal, k, job["sigma"]))
                risks.append(min(found))
                row = {"arm": arm, "k": k, "m": m, "seed": seed, "risk": risks[-1], "trainings": len(pairs)}
                rows.append({**row, "seconds": time.perf_counter() - began})
            means[m] = sum(risks) / len(risks)
    return rows


def probe(job: dict[str, Any], layouts: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Seconds of a step, the best of a few rounds, for every layout, network, size and number of threads.

    ``cpu_seconds`` are hardly touched by what others do meanwhile: layouts are chosen by them.
    """
    best: dict[tuple[str, str, int, int, int], tuple[float, float]] = {}
    worlds = {k: draw(job, k, 0) for k in {min(job["k"]), max(job["k"])}}
    counts = sorted({1, torch.get_num_threads()})
    pairs = [(arm, name) for arm, names in layouts.items() for name in names]
    for _ in range(PROBE_ROUNDS):
        for (arm, name), m, k, threads in product(pairs, PROBE_SIZES, worlds, counts):
            torch.set_num_threads(threads)
            world, layout = worlds[k], LAYOUTS[arm][name]
            model = Threshold(layout, world.starts[arm], job["bias"])
            x, y = layout.lay(world.x[:m]), world.y[:m]
            began = time.perf_counter(), time.process_time()
            train(model, x, y, (0.1, 0.003), PROBE_STEPS)
            took = (time.perf_counter() - began[0], time.process_time() - began[1])
            key = (arm, name, m, k, threads)
            best[key] = min(took[0], best.get(key, took)[0]), min(took[1], best.get(key, took)[1])
    names = ("arm", "layout", "m", "k", "threads")
    return [
        {
            **dict(zip(names, key, strict=True)),
            "seconds": wall / PROBE_STEPS,
            "cpu_seconds": cpu / PROBE_STEPS,
        }
        for key, (wall, cpu) in best.items()
    ]


def main() -> None:
    """Search with both networks at every k; write one row for every m and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    for arm, layouts in LAYOUTS.items():
        parser.add_argument(f"--{arm.lower()}", choices=layouts, nargs="+", default=["examples-last"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("job", type=Path, help="JSON file of settings, which sample_complexity.py writes")
    parser.add_argument("out", type=Path, help="JSON file to write")
    chosen = parser.parse_args()
    job = json.loads(chosen.job.read_text())
    torch.set_num_threads(chosen.threads)
    layouts = {"CNN": chosen.cnn, "LCN": chosen.lcn}
    if chosen.probe:
        rows = probe(job, layouts)
    else:
        rows = []
        for k in job["k"]:
            worlds = [draw(job, k, seed) for seed in range(job["seeds"])]
            for arm, (name, *_) in layouts.items():
                layout = LAYOUTS[arm][name]
                training = compiled_training(layout) if chosen.compiled else train
                rows += searched(job, k, worlds, arm, layout, training)
    chosen.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
