"""Figure 3a's ConvPool and MLP arms as a PyTorch script: one network after another, seed after seed.

``--form eager`` is the script a researcher would write. ``--form compiled`` is the fastest form found
that still trains one network at a time: see :func:`compiled_epoch`. Examples are read from the files
that ``fig3a.py`` writes, the very examples whyconv trains on; nothing of whyconv is imported here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BEGAN = time.perf_counter()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

RATE, BATCH, TOLERANCE, EPOCHS = 1e-3, 32, 1e-3, 2000

Epoch = Callable[[torch.Tensor, torch.Tensor], float]


class ConvPool(nn.Module):
    """Shared filters over positions, ReLU, max over positions, linear readout; no biases."""

    def __init__(self, positions: int, dim: int, channels: int) -> None:
        super().__init__()
        self.filters = nn.Linear(dim, channels, bias=False)
        self.readout = nn.Linear(channels, 1, bias=False)
        nn.init.normal_(self.filters.weight, std=(2 / dim) ** 0.5)
        nn.init.normal_(self.readout.weight, std=channels**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.readout(functional.relu(self.filters(x)).amax(dim=1)).squeeze(1)


class UnrolledConvPool(ConvPool):
    """The same function, position by position with a running maximum: what a compiler can fuse."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.filters.weight.t()
        best = x[:, 0] @ weight
        for j in range(1, x.shape[1]):
            best = torch.maximum(best, x[:, j] @ weight)
        return self.readout(functional.relu(best)).squeeze(1)


class MLP(nn.Module):
    """One hidden layer of ReLUs over all coordinates; no biases."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, width, bias=False)
        self.readout = nn.Linear(width, 1, bias=False)
        nn.init.normal_(self.hidden.weight, std=(2 / inputs) ** 0.5)
        nn.init.normal_(self.readout.weight, std=width**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.readout(functional.relu(self.hidden(x.flatten(1)))).squeeze(1)
