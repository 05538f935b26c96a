"""The fastest PyTorch form found that trains one network at a time: the whole step in one compiled graph.

Gather, forward, backward and Adam are one ``torch.compile`` program. Batches are padded to one shape
with weights of zero, and parameters are arguments, so that one compilation serves every seed and every
sample size. Slower, on the machine of the README: compiling only the loss, with eager, foreach or fused
Adam; ``torch.autograd.grad`` inside the compiled step; the maximum unrolled over positions.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.func import functional_call, grad_and_value

from torch_fig3a import BATCH, EPOCHS, RATE, TOLERANCE, whole_loss

FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8
"""Adam's defaults in PyTorch."""
CAPACITY = 2048
"""Samples are padded to this many rows, so that their shape is always the same."""

Tensors = dict[str, torch.Tensor]


def compiled_training(
    model: nn.Module, pointwise: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> Callable[[nn.Module, torch.Tensor, torch.Tensor], int]:
    """``train`` of torch_fig3a.py for modules of this architecture, with a compiled step."""

    def weighted_loss(params: Tensors, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor):
        return (weights * pointwise(functional_call(model, params, (x,)), y)).sum()

    @torch.compile(fullgraph=True, dynamic=False)
    def step(params: Tensors, means: Tensors, squares: Tensors, count, x, y, rows, weights) -> torch.Tensor:
        grads, loss = grad_and_value(weighted_loss)(params, x[rows], y[rows], weights)
        count.add_(1)
        for name, grad in grads.items():
            mean = means[name].lerp_(grad, 1 - FIRST)
            square = squares[name].mul_(SECOND).addcmul_(grad, grad, value=1 - SECOND)
            scale = (square / (1 - SECOND**count)).sqrt() + EPSILON
            params[name].sub_(RATE * mean / (1 - FIRST**count) / scale)
        return loss

    @torch.no_grad()
    def train(trained: nn.Module, x: torch.Tensor, y: torch.Tensor) -> int:
        params = {name: value.detach() for name, value in trained.named_parameters()}
        means, squares = ({name: torch.zeros_like(v) for name, v in params.items()} for _ in range(2))
        count, m = torch.zeros(()), len(y)
        spare = -m % BATCH
        most = max(CAPACITY, m)
        x, y = (torch.cat([part, part.new_zeros(most - m, *part.shape[1:])]) for part in (x, y))
        sizes = [min(BATCH, m - first) for first in range(0, m, BATCH)]
        weights = [(torch.arange(BATCH) < size) / size for size in sizes]
        for epoch in range(1, EPOCHS + 1):
            order = torch.cat([torch.randperm(m), torch.zeros(spare, dtype=torch.long)])
            running = torch.zeros(())
            for rows, size, weight in zip(order.split(BATCH), sizes, weights, strict=True):
                running += size * step(params, means, squares, count, x, y, rows, weight)
            if running.item() / m <= TOLERANCE and whole_loss(trained, x[:m], y[:m]) <= TOLERANCE:
                return epoch
        return EPOCHS

    return train
