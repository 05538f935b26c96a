"""The PyTorch side of a training step: an ordinary eager loop, with whyconv's first parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH = 128


class Loop:
    """Training steps on one batch after another; a call is an epoch and returns its mean loss.

    PyTorch's padding of 1 puts the zeros of a 3 x 3 kernel with stride 2 in front of an even image, whyconv's
    *same* at its end. Images, filters and readout upside down and back to front make them the same network.
    """

    def __init__(
        self, spec: dict[str, Any], params: Any, x: Any, y: Any, optimiser: str, rate: float, threads: int
    ) -> None:
        torch.set_num_threads(threads)
        self._turned = spec.get("padding") == "same"
        self._several = spec.get("outputs", 1) > 1
        self._x = self._tensor(np.moveaxis(x, 3, 1), (2, 3))
        self._y = torch.tensor(y) if self._several else torch.tensor(y, dtype=torch.float32)
        self._model = self._dense(params) if spec["name"] == "deep-fcn" else self._windowed(spec, params, x)
        optimisers = {"adadelta": torch.optim.Adadelta, "rmsprop": torch.optim.RMSprop}
        self._optimiser = optimisers[optimiser](self._model.parameters(), lr=rate)

    def __call__(self) -> float:
        total = torch.zeros(())
        for first in range(0, len(self._y), BATCH):
            rows = slice(first, first + BATCH)
            self._optimiser.zero_grad()
            scores, y = self._model(self._x[rows]), self._y[rows]
            if self._several:
                loss = functional.cross_entropy(scores, y)
            else:
                loss = functional.soft_margin_loss(scores[:, 0], y)
            loss.backward()
            self._optimiser.step()
            total += BATCH * loss.detach()
        return float(total) / len(self._y)

    def _dense(self, params: Any) -> nn.Module:
        layers: list[nn.Module] = [nn.Flatten()]
        for w in params["w"]:
            layers += [_filled(nn.Linear(w.shape[1], w.shape[0]), self._tensor(w)), nn.ReLU()]
        u = self._tensor(params["u"])
        return nn.Sequential(*layers, _filled(nn.Linear(u.shape[1], u.shape[0]), u))

    def _windowed(self, spec: dict[str, Any], params: Any, x: Any) -> nn.Module:
        size = spec["kernel"] if isinstance(spec["kernel"], list) else [spec["kernel"]] * 2
        stride, padding = spec["stride"], int(self._turned)
        layers, inputs, image = [], x.shape[3], torch.zeros(1, x.shape[3], *x.shape[1:3])
        for w in params["w"]:
            filters = np.moveaxis(np.asarray(w[0]).reshape(-1, *size, inputs), 3, 1)
            layer = nn.Conv2d(inputs, len(filters), tuple(size), stride, padding)
            layers += [_filled(layer, self._tensor(filters, (2, 3))), nn.ReLU()]
            inputs, image = len(filters), layer(image)
        u = np.asarray(params["u"]).reshape(*image.shape[2:], -1, inputs)
        u = self._tensor(np.transpose(u, (2, 3, 0, 1)), (2, 3)).flatten(1)
        return nn.Sequential(*layers, nn.Flatten(), _filled(nn.Linear(u.shape[1], u.shape[0]), u))

    def _tensor(self, array: Any, turned: tuple[int, ...] = ()) -> torch.Tensor:
        array = np.flip(array, turned) if self._turned and turned else np.asarray(array)
        return torch.tensor(np.ascontiguousarray(array, np.float32))


def _filled(layer: nn.Module, weights: torch.Tensor) -> nn.Module:
    """The layer with these weights and no biases to begin with."""
    with torch.no_grad():
        layer.weight.copy_(weights)
        layer.bias.zero_()
    return layer
