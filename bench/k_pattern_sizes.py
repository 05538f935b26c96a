"""What is measured: the sizes, the trials as whyconv knows them, and the forms of the dense network."""

from __future__ import annotations

from dataclasses import dataclass
from shutil import which
from typing import Any, NamedTuple


class Form(NamedTuple):
    """A way to write the dense network in PyTorch; ``chunk`` examples at a time, or all."""

    form: str
    chunk: int | None = None
    compiled: bool = False

    @property
    def name(self) -> str:
        """In words."""
        chunked = f", chunks of {self.chunk}" if self.chunk else ""
        return f"PyTorch {self.form}{chunked}{', compiled' if self.compiled else ''}"


@dataclass(frozen=True)
class Sizes:
    """n bits, windows of k, q filters, m examples; and those of the gradient of a single neuron."""

    n: int
    k: int
    q: int
    m: int
    steps: int
    chunks: tuple[int, ...]
    many_filters: tuple[int, ...]
    neuron_bits: int
    neuron_parity: int
    samples: int
    full: bool = True
    """Whether these are the sizes of the goals."""
    slow: bool = True
    """Whether PyTorch also runs without chunks, and compiled."""

    @property
    def windows(self) -> int:
        """n - k + 1."""
        return self.n - self.k + 1

    def rate(self, start: str, q: int) -> float:
        """The step size, in proportion to 1/q.

        From the theorem's start the right window's scores grow by rate * q / (4^k k^2) a step: the labels
        are reached about when the run ends. From the normal one all filters of all windows pull at once,
        and three times as much diverges.
        """
        return 4**self.k * self.k**2 / (q * self.steps) if start == "theorem" else 30 / (q * self.windows)

    def trial(self, start: str, q: int | None = None) -> dict[str, Any]:
        """The spec of a trial: gradient descent from the theorem's or a normal start, never stopped early."""
        q = q or self.q
        network = {"name": "cnn", "filters": q, "k_window": self.k}
        if start == "normal":
            network |= {"init_law": "normal", "readout": "normal"}
        learner = {"name": "gradient", "optimiser": "sgd", "rate": self.rate(start, q), "batch": None}
        return {
            "task": {"name": "k-pattern", "n_bits": self.n, "k_window": self.k},
            "network": network,
            "learner": {**learner, "loss": "hinge", "tolerance": 0.0, "epochs": self.steps},
            "m": self.m,
            "seed": 0,
        }

    def forms(self) -> list[Form]:
        """The dense forms of which the fastest counts."""
        kinds = ("conv1d", "unfold")
        return [
            Form(kind, chunk) for chunk in (*([None] if self.slow else []), *self.chunks) for kind in kinds
        ]

    def compiled_forms(self) -> list[Form]:
        """Beside them, at the full size, where there is a compiler."""
        if not (self.full and self.slow and which("g++")):
            return []
        return [Form("unfold", chunk, compiled=True) for chunk in self.chunks]


FULL = Sizes(
    n=64,
    k=6,
    q=2048,
    m=4096,
    steps=50,
    chunks=(8, 16, 32),
    many_filters=(10**3, 10**6, 10**9),
    neuron_bits=1024,
    neuron_parity=10,
    samples=10**6,
)
QUICK = Sizes(
    n=32,
    k=4,
    q=256,
    m=1024,
    steps=50,
    chunks=(64,),
    many_filters=(10**3, 10**6),
    neuron_bits=128,
    neuron_parity=6,
    samples=10**5,
    full=False,
)
