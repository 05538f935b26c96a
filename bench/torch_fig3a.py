"""Figure 3a's ConvPool and MLP arms in PyTorch, as a researcher would write it: one training after another.

``--form eager`` is that script. ``--form compiled`` trains the same modules with the step of
``torch_compiled.py``. Examples come from files that ``fig3a.py`` writes: those whyconv trains on.
Nothing of whyconv is imported here.
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

RATE, BATCH, TOLERANCE, EPOCHS = 1e-3, 32, 1e-3, 2000

Train = Callable[[nn.Module, torch.Tensor, torch.Tensor], int]


class ConvPool(nn.Module):
    """Shared filters over positions, ReLU, maximum over positions, linear readout; no biases."""

    def __init__(self, dim: int, channels: int) -> None:
        super().__init__()
        self.filters = nn.Linear(dim, channels, bias=False)
        self.readout = nn.Linear(channels, 1, bias=False)
        nn.init.normal_(self.filters.weight, std=(2 / dim) ** 0.5)
        nn.init.normal_(self.readout.weight, std=channels**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of inputs (example, position, coordinate)."""
        return self.readout(functional.relu(self.filters(x)).amax(dim=1)).squeeze(1)


class MLP(nn.Module):
    """One hidden layer of ReLUs over all coordinates; no biases."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, width, bias=False)
        self.readout = nn.Linear(width, 1, bias=False)
        nn.init.normal_(self.hidden.weight, std=(2 / inputs) ** 0.5)
        nn.init.normal_(self.readout.weight, std=width**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of inputs (example, position, coordinate)."""
        return self.readout(functional.relu(self.hidden(x.flatten(1)))).squeeze(1)


def logistic(scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """log(1 + exp(-y f)), example by example."""
    return functional.softplus(-y * scores)


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> int:
    """Train until the loss is small, by Adam on minibatches; returns the number of epochs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for epoch in range(1, EPOCHS + 1):
        running = 0.0
        for rows in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            loss = logistic(model(x[rows]), y[rows]).mean()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(rows)
        if running / len(y) <= TOLERANCE and whole_loss(model, x, y) <= TOLERANCE:
            return epoch
    return EPOCHS


@torch.no_grad()
def whole_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """The mean loss on the whole sample."""
    return logistic(model(x), y).mean().item()


@torch.no_grad()
def error(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """The fraction of wrong signs; a score of zero counts as -1."""
    return ((model(x) > 0) != (y > 0)).float().mean().item()


def main() -> None:
    """Train and test every arm at every m for every seed; write one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", choices=("eager", "compiled"), default="eager")
    parser.add_argument("folder", type=Path, help="sizes.json and one seed<i>.npz for every seed")
    parser.add_argument("out", type=Path, help="JSON file to write")
    chosen = parser.parse_args()
    sizes = json.loads((chosen.folder / "sizes.json").read_text())
    arms: dict[str, Callable[[], nn.Module]] = {
        "ConvPool": lambda: ConvPool(sizes["pattern_dim"], sizes["channels"]),
        "MLP": lambda: MLP(sizes["positions"] * sizes["pattern_dim"], sizes["width"]),
    }
    rows = []
    for arm, make in arms.items():
        training = train if chosen.form == "eager" else _compiled(make())
        for m in sizes["m"]:
            for seed in range(sizes["seeds"]):
                began = time.perf_counter()
                examples = {
                    name: torch.from_numpy(array)
                    for name, array in np.load(chosen.folder / f"seed{seed}.npz").items()
                }
                torch.manual_seed(seed)
                model = make()
                epochs = training(model, examples["x"][:m], examples["y"][:m])
                wrong = error(model, examples["test_x"], examples["test_y"])
                row = {"arm": arm, "m": m, "seed": seed, "epochs": epochs, "test_error": wrong}
                rows.append({**row, "seconds": time.perf_counter() - began})
    chosen.out.write_text(json.dumps(rows))


def _compiled(model: nn.Module) -> Train:
    from torch_compiled import compiled_training

    return compiled_training(model, logistic)


if __name__ == "__main__":
    main()
