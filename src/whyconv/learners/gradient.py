"""Gradient training of a whole network with any Optax optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from whyconv import registry
from whyconv.lazy import jax, jnp, np
from whyconv.learners import Cost, Fit, Job, Learner, at_most
from whyconv.learners import _optimisers as optimisers
from whyconv.learners._batches import Data
from whyconv.learners._training import Programs, Running, beginning, programs
from whyconv.learners.losses import Loss, mismatch
from whyconv.networks import Network, Setting

PASSES = 3
"""Cost of a training step on one example in forward passes: one forward, two products backward."""
TYPICAL_EPOCHS = 1500
"""The loss is small after about this many epochs over sqrt(m): measured on digits, m = 50 to 10,000, as 1000
for ConvPool and 1700 for the MLP."""


class Gradient(Learner, name="gradient"):
    """Any Optax optimiser, full batch or minibatches, until the training loss is small or epochs run out.

    The stopping rule is the same for every network: after an epoch whose mean batch loss is at most
    ``tolerance``, the loss on the whole sample is computed, and training stops if that is at most
    ``tolerance`` as well; or after ``epochs`` epochs. (Stopping at zero training *error* would change the
    figures of Brutzkus & Globerson: at m = 40 ConvPool then still has a test error of a fifth.)

    ``batch`` = None uses the whole sample in every step: an epoch is one step. Each epoch uses a new
    permutation of the sample, the same for all networks of a seed; a last, smaller batch counts as a step.
    ``loss``: one of :mod:`whyconv.learners.losses`; for more than two classes the cross-entropy
    -log softmax(f)_y. ``options`` go to the optimiser by name (``{"b1": 0.8}``).

    *Steps to a target.* With ``target_error`` the last ``held_out`` examples of the sample are not trained
    on; training stops after the first epoch whose error on them is at most the target. If a run ends without
    reaching it, ``stopped`` says why: *loss* (it fits its sample but does not generalise), *cap* (no epochs
    left) or *diverged*. That is a result, not a failure.

    Examples of a streamed task are made batch by batch. If every epoch has new ones, they are used in order,
    and the loss is the mean over the epoch's batches.

    Networks with an equal, faster form (tables, multiplicities) are trained in that form.
    """

    version: ClassVar[int] = 3
    streams: ClassVar[bool] = True
    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (Adam); Optax for the optimisers"

    optimiser: str = "adam"
    rate: float = Field(1e-3, gt=0, le=1e6)
    options: dict[str, float] = Field(default_factory=dict)
    batch: int | None = Field(32, ge=1, le=1_000_000)
    loss: Loss = "logistic"
    tolerance: float = Field(1e-3, ge=0)
    epochs: int = Field(2000, ge=1, le=8_000_000)
    target_error: float | None = Field(None, ge=0, lt=1)
    held_out: int = Field(0, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _target(self) -> Gradient:
        if (self.target_error is None) != (self.held_out == 0):
            raise ValueError("target_error is measured on held_out examples; give both settings or neither")
        return self

    @field_validator("optimiser")
    @classmethod
    def _known(cls, name: str) -> str:
        if not optimisers.known(name):
            raise ValueError(
                f"there is no Optax optimiser {name!r}; take one such as adam, sgd, rmsprop or adadelta"
            )
        return name

    def compiled(self) -> Gradient:
        """The rate is part of the optimiser's state and the epochs are an argument: grids compile once."""
        return self.model_copy(update={"rate": 1.0, "epochs": 1})

    def refusal(self, network: Network | None, m: int) -> str:
        """There must be a network, and more examples than are held out."""
        if m <= self.held_out:
            return (
                f"m = {m} examples were given, but held_out = {self.held_out} are not trained on; take more"
            )
        if registry.find("loss", self.loss).companions["unbounded"]:
            return (
                f"loss = {self.loss} was given, which has no minimum, but {self.name} stops once the loss is "
                "small; take another loss"
            )
        return mismatch(self.loss, network) or super().refusal(network, m)

    def trained(self, m: int) -> int:
        """All but those held out."""
        return m - self.held_out

    def form(self, network: Network, setting: Setting) -> Network:
        """The equal form that is fastest for these inputs, rows per step and optimiser."""
        rows = min(self.batch or setting.rows, self.trained(setting.rows))
        elementwise = self.optimiser in optimisers.ELEMENTWISE
        return network.faster(setting._replace(rows=rows, elementwise=elementwise))

    def start(self, job: Job) -> Running:
        assert job.network is not None
        params, inner = self.programs(job).begin(job.init, job.shape)
        rate = np.asarray(self.rate, inner.hyperparams["learning_rate"].dtype)
        inner = inner._replace(hyperparams={**inner.hyperparams, "learning_rate": rate})
        return beginning(params, inner)

    def advance(self, job: Job, state: Running, steps: int) -> Running:
        """At most ``steps`` steps; if every epoch has new examples, only to the end of the current one."""

        def whole(number: int) -> Any:
            return np.asarray(number, state.epoch.dtype)

        if job.feed is not None and job.feed.maker.fresh:
            size = min(self.batch or job.m, self.trained(job.m))
            steps = min(steps, -(-self.trained(job.m) // size) - int(state.step))
        data = self._data(job, state, whole)
        return self.programs(job).segment(state, data, job.batches, whole(steps), whole(self.epochs))

    def _data(self, job: Job, state: Running, whole: Callable[[int], Any]) -> Data:
        """The prepared sample; or what batches are made from, in the order of the current epoch."""
        if job.feed is None:
            if "data" not in job.kept:
                x = self.programs(job).prepare(job.sample.x)
                m = whole(self.trained(job.m))
                job.kept["data"] = Data(x, job.sample.y, whole(0), m, weights=job.weights)
            return job.kept["data"]
        maker, arrays, rows = job.feed
        epoch = int(state.epoch) if maker.fresh else 0
        if job.kept.get("epoch") != epoch:
            order = jax.tree.map(jnp.asarray, maker.shuffle(arrays, epoch))
            m = whole(self.trained(job.m))
            data = Data(arrays, jnp.zeros(rows), whole(0), m, order, job.weights)
            job.kept.update(epoch=epoch, data=data)
        return job.kept["data"]

    def programs(self, job: Job) -> Programs:
        assert job.network is not None
        return programs(job.network, self.compiled(), job.feed.maker if job.feed is not None else None)

    def progress(self, state: Running) -> float:
        """Epochs done, including a share of the current one, over epochs allowed; 1 once stopped."""
        done = (int(state.epoch) + float(state.share)) / self.epochs
        return 1.0 if bool(state.stopped) else min(done, 1 - 1e-9)

    def finish(self, job: Job, state: Running) -> Fit:
        assert job.network is not None
        score = self.programs(job).score
        trained, epochs = self.trained(job.m), int(state.epoch)
        size = min(self.batch or trained, trained)
        facts: dict[str, float | int | str | bool] = {
            "steps": epochs * -(-trained // size),
            "epochs": epochs,
            "stopped": self._stopped(state),
            "parameters": job.network.parameter_count(job.shape),
            "train_flops": PASSES * job.network.flops(job.shape) * trained * epochs,
        }
        if self.target_error is None or math.isfinite(float(state.loss)):
            facts["train_loss"] = float(state.loss)
        if job.network.form:
            facts["form"] = job.network.form
        traces = {"loss_at_epochs_2^i": state.trace}
        if self.target_error is not None:
            facts["held_out_error"] = float(state.error)
            traces["held_out_error_at_epochs_2^i"] = state.errors
        return Fit(
            scores=lambda x: np.asarray(score(state.params, x)),
            facts=facts,
            trace={name: [float(v) for v in np.asarray(trace) if v >= 0] for name, trace in traces.items()},
            params=state.params,
        )

    def _stopped(self, state: Running) -> str:
        """Why training ended: error, loss, diverged or cap."""
        if not math.isfinite(float(state.loss)):
            return "diverged"
        if self.target_error is not None and at_most(state.error, self.target_error):
            return "error"
        return "loss" if at_most(state.loss, self.tolerance) else "cap"

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Three forward passes per example and epoch (one forward, two products backward)."""
        assert network is not None
        forward = network.load(shape, max(m, min(self.batch or m, network.chunk)))
        epoch = PASSES * forward.flops
        inputs = float(np.prod(shape))
        rows = max(m, 1024)
        memory = 4.0 * (3 * rows * inputs + 8 * forward.numbers)
        stops = self.tolerance > 0 or self.target_error is not None
        typical = min(self.epochs, math.ceil(TYPICAL_EPOCHS / math.sqrt(m))) if stops else self.epochs
        return Cost(epoch * typical, epoch * self.epochs, memory)
