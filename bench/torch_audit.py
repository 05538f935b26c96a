"""An audit's trials in plain PyTorch and scikit-learn: one after another, eager, a process per core.

    python bench/torch_audit.py FOLDER PROCESSES

Reads what bench/audit.py wrote, and writes what every trial ended with.
"""

from __future__ import annotations

import json
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH = 32


class Local(nn.Module):
    """Windows along a line, each with filters of its own."""

    def __init__(self, channels: int, kernel: int, length: int, inputs: int) -> None:
        super().__init__()
        self.kernel, self.before = kernel, (kernel - 1) // 2
        self.weight = nn.Parameter(
            torch.randn(length, channels, inputs * kernel) * (2 / (inputs * kernel)) ** 0.5
        )
        self.bias = nn.Parameter(torch.zeros(channels, length))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = functional.pad(x, (self.before, self.kernel - 1 - self.before))
        windows = padded.unfold(2, self.kernel, 1).permute(0, 2, 1, 3).flatten(2)
        return torch.einsum("blk,lck->bcl", windows, self.weight) + self.bias


class Largest(nn.Module):
    """The largest of all places."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.amax(dim=2)


def model(spec: dict[str, Any], shape: tuple[int, int, int]) -> nn.Sequential:
    """The network of a specification on a line (rows = 1), with He's initialisation."""
    _, length, inputs = shape
    if spec["name"] == "deep-fcn":
        (width,) = spec["widths"]
        layers = [nn.Flatten(), nn.Linear(inputs * length, width), nn.ReLU(), nn.Linear(width, 1)]
        return he(nn.Sequential(*layers))
    (channels,) = spec["channels"]
    kernel = spec["kernel"][1] if isinstance(spec["kernel"], list) else spec["kernel"]
    layer = (
        Local(channels, kernel, length, inputs)
        if spec["name"] == "deep-lcn"
        else nn.Conv1d(inputs, channels, kernel, padding="same")
    )
    places, layers = length, [layer, nn.ReLU()]
    if (pool := spec.get("pool", 1)) > 1:
        layers.append(nn.MaxPool1d(pool, ceil_mode=True))
        places = -(-length // pool)
    if spec.get("readout") == "max":
        layers.append(Largest())
        places = 1
    return he(nn.Sequential(*layers, nn.Flatten(), nn.Linear(places * channels, 1)))


def he(layers: nn.Sequential) -> nn.Sequential:
    """w ~ N(0, 2 / inputs), readout N(0, 1 / inputs), no biases."""
    own = [each for each in layers if isinstance(each, nn.Linear | nn.Conv1d)]
    for each in own:
        inputs = each.weight[0].numel()
        nn.init.normal_(each.weight, std=((1 if each is own[-1] else 2) / inputs) ** 0.5)
        nn.init.zeros_(each.bias)
    return layers


def trained(job: dict[str, Any], x: torch.Tensor, y: torch.Tensor, shape: tuple[int, int, int]) -> Any:
    """Adam in batches until the loss of an epoch, and then of the sample, is small, or epochs are over."""
    torch.manual_seed(job["seed"])
    network = model(job["network"], shape)
    optimiser = torch.optim.Adam(network.parameters(), lr=job["rate"])
    steps = 0
    for _ in range(job["epochs"]):
        total = torch.zeros(())
        for rows in torch.randperm(len(y)).split(BATCH):
            optimiser.zero_grad()
            loss = functional.soft_margin_loss(network(x[rows])[:, 0], y[rows])
            loss.backward()
            optimiser.step()
            total += len(rows) * loss.detach()
            steps += 1
        if float(total) / len(y) <= job["tolerance"]:
            with torch.no_grad():
                if float(functional.soft_margin_loss(network(x)[:, 0], y)) <= job["tolerance"]:
                    break
    return network, steps


def reference(name: str, x: np.ndarray, y: np.ndarray) -> Any:
    """A model of scikit-learn."""
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    made = {
        "majority": DummyClassifier(),
        "linear": LogisticRegression(C=0.1, max_iter=200),
        "forest": RandomForestClassifier(100, random_state=0),
    }[name]
    return made.fit(x.reshape(len(x), -1), y)


def ended(job: dict[str, Any]) -> dict[str, Any]:
    """Train on the job's rows, test on its test rows, both scaled by all training rows of the split."""
    held = _data(job["folder"])
    part = held[f"train{job['split']}"]
    mean, spread = (
        value.astype(np.float32)
        for value in (held["x"][part].mean((0, 1, 2)), held["x"][part].std((0, 1, 2)))
    )
    x = ((held["x"] - mean) / spread).reshape(len(held["x"]), -1, held["x"].shape[3])
    x, y = x[:, held[f"places{job['places']}"]], held[f"y{job['labels']}"]
    rows, test = part[: job["m"]], held[f"test{job['split']}"]
    if job["network"] is None:
        found = reference(job["model"], x[rows], y[rows]).predict(x[test].reshape(len(test), -1))
        return {"key": job["key"], "error": float((found != held["y0"][test]).mean()), "steps": 0}
    lines = torch.tensor(x).transpose(1, 2).contiguous()
    labels = torch.tensor(y, dtype=torch.float32)
    network, steps = trained(job, lines[rows], labels[rows], held["x"].shape[1:])
    with torch.no_grad():
        said = torch.where(network(lines[test])[:, 0] > 0, 1, -1).numpy()
        (torch.where(network(lines[rows])[:, 0] > 0, 1, -1) != labels[rows]).float().mean()
    return {"key": job["key"], "error": float((said != held["y0"][test]).mean()), "steps": steps}


_kept: dict[str, dict[str, np.ndarray]] = {}


def _data(folder: str) -> dict[str, np.ndarray]:
    if folder not in _kept:
        torch.set_num_threads(1)
        with np.load(Path(folder) / "data.npz") as file:
            _kept[folder] = dict(file)
    return _kept[folder]


def main() -> None:
    folder, processes = Path(sys.argv[1]), int(sys.argv[2])
    jobs = [{**job, "folder": str(folder)} for job in json.loads((folder / "jobs.json").read_text())]
    with get_context("spawn").Pool(processes) as pool:
        found = pool.map(ended, jobs, chunksize=4)
    (folder / "torch.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
