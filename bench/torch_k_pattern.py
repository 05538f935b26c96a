"""The k-pattern CNN by dense gradient descent in PyTorch, as a researcher would write it.

Three forms: ``conv1d``; ``unfold`` (all windows as rows of one matrix product); and either of them with
``--chunk``: a loop over chunks of examples whose gradients add up, so that activations stay in the caches.
``--compiled`` hands the loss of a chunk to torch.compile. Hinge loss, W and u trained with a fixed step, b
not. Examples and first parameters come from a file that ``k_pattern.py`` writes. Nothing of whyconv is
imported here.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class WindowNetwork(nn.Module):
    """h(x) = sum_j <u^(j), sigma(W x_window(j) + b)>, sigma(z) = min(max(z, 0), 1)."""

    def __init__(self, w: torch.Tensor, b: torch.Tensor, u: torch.Tensor) -> None:
        """From W (k, q), b (q) and u (windows, q)."""
        super().__init__()
        self.w, self.u = nn.Parameter(w), nn.Parameter(u)
        self.register_buffer("b", b)

    def activations(self, x: torch.Tensor) -> torch.Tensor:
        """sigma(W x_window(j) + b) for all examples, windows and filters, in the order of :meth:`readout`."""
        raise NotImplementedError

    def readout(self) -> torch.Tensor:
        """u as a vector."""
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of inputs (example, bit)."""
        return self.activations(x) @ self.readout()


class Convolution(WindowNetwork):
    """By conv1d: filters, then windows."""

    def activations(self, x: torch.Tensor) -> torch.Tensor:
        """(example, filter * window)."""
        z = functional.conv1d(x[:, None], self.w.T[:, None], self.b)
        return functional.hardtanh_(z, 0.0, 1.0).flatten(1)

    def readout(self) -> torch.Tensor:
        """Filter by filter."""
        return self.u.T.flatten()


class Unfolded(WindowNetwork):
    """By one matrix product over all windows of all examples: windows, then filters."""

    def activations(self, x: torch.Tensor) -> torch.Tensor:
        """(example, window * filter)."""
        k = len(self.w)
        z = torch.addmm(self.b, x.unfold(1, k, 1).reshape(-1, k), self.w)
        return functional.hardtanh_(z, 0.0, 1.0).view(len(x), -1)

    def readout(self) -> torch.Tensor:
        """Window by window."""
        return self.u.flatten()


FORMS = {"conv1d": Convolution, "unfold": Unfolded}
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Training:
    """Gradient descent on all examples, chunk by chunk."""

    def __init__(
        self, model: WindowNetwork, x: torch.Tensor, y: torch.Tensor, chunk: int, compiled: bool
    ) -> None:
        self.model, self._x, self._y = model, x.split(chunk), y.split(chunk)
        self._m = len(y)
        self._loss: Loss = torch.compile(self._hinge) if compiled else self._hinge

    def _hinge(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """What a chunk adds to the mean of max(0, 1 - y h(x)); the derivative at the kink is 0."""
        return functional.relu(1 - y * self.model(x)).sum() / self._m

    def step(self, optimizer: torch.optim.Optimizer) -> float:
        """One step; returns the loss before it."""
        optimizer.zero_grad()
        total = 0.0
        for x, y in zip(self._x, self._y, strict=True):
            loss = self._loss(x, y)
            loss.backward()
            total += loss.item()
        optimizer.step()
        return total

    @torch.no_grad()
    def loss(self) -> float:
        """The training loss."""
        return sum(self._hinge(x, y).item() for x, y in zip(self._x, self._y, strict=True))


def main() -> None:
    """Some steps one by one, then a run from the same start; write seconds, losses and parameters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", choices=FORMS, required=True)
    parser.add_argument("--chunk", type=int, help="examples at a time; all if not given")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--single", type=int, default=0, help="steps timed one by one, the first not counted")
    parser.add_argument("--run", type=int, default=0, help="steps of a run timed as a whole")
    parser.add_argument("start", type=Path, help="npz: x, y, w, b, u")
    parser.add_argument("out", type=Path, help="JSON to write; the parameters go beside it, as npz")
    chosen = parser.parse_args()
    given = {name: torch.from_numpy(array) for name, array in np.load(chosen.start).items()}
    told: dict[str, object] = {"threads": torch.get_num_threads()}
    for name, steps, timing in (("single", chosen.single, _one_by_one), ("run", chosen.run, _as_a_whole)):
        if not steps:
            continue
        model = FORMS[chosen.form](*(given[part].clone() for part in ("w", "b", "u")))
        training = Training(model, given["x"], given["y"], chosen.chunk or len(given["y"]), chosen.compiled)
        optimizer = torch.optim.SGD(model.parameters(), lr=chosen.rate)
        seconds, loss = timing(training, optimizer, steps)
        told[name] = {"steps": steps, "seconds": seconds, "loss": loss}
        parts = {"w": model.w, "u": model.u}
        np.savez(chosen.out.with_suffix(f".{name}.npz"), **{k: v.detach().numpy() for k, v in parts.items()})
    chosen.out.write_text(json.dumps(told))


def _one_by_one(
    training: Training, optimizer: torch.optim.Optimizer, steps: int
) -> tuple[list[float], float]:
    """Seconds of every step but the first, and the loss before the last."""
    seconds, loss = [], 0.0
    for _ in range(steps):
        began = time.perf_counter()
        loss = training.step(optimizer)
        seconds.append(time.perf_counter() - began)
    return seconds[1:], loss


def _as_a_whole(
    training: Training, optimizer: torch.optim.Optimizer, steps: int
) -> tuple[list[float], float]:
    """Seconds of all steps and of the loss after them, and that loss."""
    began = time.perf_counter()
    for _ in range(steps):
        training.step(optimizer)
    loss = training.loss()
    return [time.perf_counter() - began], loss


if __name__ == "__main__":
    main()
