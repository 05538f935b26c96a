r"""A task and a learner of your own, in one file, with a study of the package.

    whyconv run brutzkus.fig3a --load examples/order_of_bumps.py \\
        --set task=own.order --set arms.SVM.learner=own.means

Two bumps in noise: the label says which comes first. No average over places can tell, and neither can
max-pooling over windows that hold one bump each. `own.means` takes the nearer of the two class means.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import jax, jnp, np
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.tasks import Sample, Task


class Order(Task, name="own.order"):
    """Two bumps, u and v, at different random places: y = +1 if u comes before v."""

    reference: ClassVar[str] = "this file"
    positions: int = Field(8, ge=2)
    dim: int = Field(6, ge=1)
    height: float = Field(4.0, gt=0)
    scrambled: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.positions, self.dim

    def examples(self, world: Any, draws: Any, index: Any) -> Sample:
        first, second = jax.random.split(world)
        bumps = jax.random.normal(first, (2, self.dim))
        bumps = self.height * bumps / jnp.linalg.norm(bumps, axis=1, keepdims=True)
        size = self.positions * self.dim
        order = jax.random.permutation(second, size) if self.scrambled else jnp.arange(size)

        def one(i: Any) -> Sample:
            place, noise = jax.random.split(jax.random.fold_in(draws, i))
            u, v = jax.random.choice(place, self.positions, (2,), replace=False)
            x = jax.random.normal(noise, self.shape).at[u].add(bumps[0]).at[v].add(bumps[1])
            return Sample(x.reshape(size)[order].reshape(self.shape), jnp.where(u < v, 1.0, -1.0))

        return jax.vmap(one)(index)


class Means(Learner, name="own.means"):
    """The nearer of two class means: one pass over the sample, ``chunk`` examples a step."""

    reference: ClassVar[str] = "this file"
    needs_network: ClassVar[bool] = False
    chunk: int = Field(100, ge=1)

    def start(self, job: Job) -> dict[str, Any]:
        size = int(np.prod(job.shape))
        return {
            "sum": np.zeros((2, size)),
            "count": np.zeros(2),
            "seen": np.zeros((), int),
            "m": np.array(job.m),
        }

    def advance(self, job: Job, state: dict[str, Any], steps: int) -> dict[str, Any]:
        seen = int(state["seen"])
        last = min(seen + steps * self.chunk, job.m)
        x = np.asarray(job.sample.x[seen:last], float).reshape(last - seen, -1)
        member = np.stack([np.asarray(job.sample.y[seen:last]) == y for y in (-1, 1)]).astype(float)
        return {
            "sum": state["sum"] + member @ x, "count": state["count"] + member.sum(axis=1),
            "seen": np.array(last), "m": state["m"],
        }  # fmt: skip

    def progress(self, state: dict[str, Any]) -> float:
        return int(state["seen"]) / int(state["m"])

    def finish(self, job: Job, state: dict[str, Any]) -> Fit:
        low, high = state["sum"] / np.maximum(state["count"], 1)[:, None]
        w, b = high - low, (low @ low - high @ high) / 2
        return Fit(
            lambda x: np.asarray(x).reshape(len(x), -1) @ w + b, {"distance": float(np.linalg.norm(w))}, {}
        )

    def cost(self, network: Any, shape: tuple[int, ...], m: int) -> Cost:
        flops = 4.0 * m * float(np.prod(shape))
        return Cost(flops, flops, memory=flops)
