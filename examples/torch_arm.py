"""A network written in PyTorch as an arm of a study, trained by PyTorch in a learner of its own.

    whyconv run brutzkus.fig3a --load examples/torch_arm.py --set arms.SVM.learner=own.torch-pool

Needs ``pip install torch``. The state is the parameters and an epoch, so a run may be cut anywhere.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np
import torch
from pydantic import Field

from whyconv.learners import Cost, Fit, Job, Learner


class TorchPool(Learner, name="own.torch-pool"):
    """Convolution and max-pooling by PyTorch: full-batch gradient descent on the logistic loss."""

    reference: ClassVar[str] = "this file"
    needs_network: ClassVar[bool] = False
    channels: int = Field(100, ge=1)
    epochs: int = Field(300, ge=1)
    rate: float = Field(0.5, gt=0)

    def start(self, job: Job) -> dict[str, Any]:
        draw = np.random.default_rng(np.asarray(jax.random.key_data(job.init)).tolist())
        w = draw.normal(size=(job.shape[1], self.channels)) * (2 / job.shape[1]) ** 0.5
        a = draw.normal(size=self.channels) / self.channels**0.5
        return {"w": w, "a": a, "b": np.zeros(1), "epoch": np.zeros((), int)}

    def advance(self, job: Job, state: dict[str, Any], steps: int) -> dict[str, Any]:
        x, y = (torch.tensor(np.asarray(part[: job.m], float)) for part in job.sample)
        parts = {name: torch.tensor(np.asarray(state[name]), requires_grad=True) for name in ("w", "a", "b")}
        optimiser = torch.optim.SGD(parts.values(), lr=self.rate)
        last = min(int(state["epoch"]) + steps, self.epochs)
        for _ in range(int(state["epoch"]), last):
            optimiser.zero_grad()
            torch.nn.functional.softplus(-y * scores(parts, x)).mean().backward()
            optimiser.step()
        return {**{name: part.detach().numpy() for name, part in parts.items()}, "epoch": np.asarray(last)}

    def progress(self, state: dict[str, Any]) -> float:
        return int(state["epoch"]) / self.epochs

    def finish(self, job: Job, state: dict[str, Any]) -> Fit:
        parts = {name: torch.tensor(np.asarray(state[name])) for name in ("w", "a", "b")}
        return Fit(lambda x: scores(parts, torch.tensor(np.asarray(x, float))).numpy(), {}, {})

    def cost(self, network: Any, shape: tuple[int, ...], m: int) -> Cost:
        flops = 6.0 * self.epochs * m * shape[0] * shape[1] * self.channels
        return Cost(flops, flops, memory=8.0 * m * shape[0] * (shape[1] + 3 * self.channels))


def scores(parts: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ parts["w"]).amax(dim=1) @ parts["a"] + parts["b"]
