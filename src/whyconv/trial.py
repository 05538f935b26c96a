"""Trials: one (task, network, learner, m, seed) gives one row, as a pure function of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any, Literal

from pydantic import Field, model_validator

from whyconv.learners import LearnerField
from whyconv.networks import Network, NetworkField, Setting
from whyconv.spec import Spec, digest
from whyconv.tasks import StreamedTask, TaskField

VERSION = 1
"""Raised when :mod:`whyconv.execution` would give another row for the same spec."""


LARGEST_SEED = 2**31 - 1


class Trial(Spec):
    """The specification of one row."""

    task: TaskField
    network: NetworkField | None = None
    learner: LearnerField
    m: int = Field(ge=1, le=10_000_000)
    seed: int = Field(ge=0, le=LARGEST_SEED)
    test_size: int = Field(1000, ge=1, le=10_000_000)
    exact: bool = False
    """Also compute exact errors that take seconds; cheap ones are always computed."""
    risk: bool = False
    """Also compute the squared risk E (y - f)^2: exactly if the task can, else on the test examples."""
    dtype: Literal["float32", "float64"] = "float32"

    @model_validator(mode="after")
    def _fits(self) -> Trial:
        held_out = self.m - self.learner.trained(self.m)
        for refusal in (
            self.learner.refusal(self.network, self.m),
            self.network.refusal(self.task.shape) if self.network else "",
            self._outputs(),
            self.task.refusal(self.m, held_out, self.test_size),
        ):
            if refusal:
                raise ValueError(refusal)
        return self

    def _outputs(self) -> str:
        """Why the network has another number of scores than the task has classes; empty if it has not."""
        wanted = self.task.classes if self.task.classes > 2 else 1
        given = self.network.score_count if self.network else self.learner.scores_given(self.task.classes)
        if given == wanted:
            return ""
        return (
            f"the task {self.task.name} has {self.task.classes} classes and needs a network of {wanted} "
            f"outputs, but one of {given} was given"
        )

    def seeded(self, seed: int) -> Trial:
        """This trial with another seed, without checking the rest again, which the seed does not change."""
        if not 0 <= seed <= LARGEST_SEED:
            raise ValueError(f"seed = {seed} was given; give one from 0 to {LARGEST_SEED}")
        shared = {name: getattr(self, name) for name in ("_unseeded", "form", "program", "versions")}
        return self.model_copy(update={"seed": seed, **shared})

    @cached_property
    def _unseeded(self) -> dict[str, Any]:
        """The canonical form without the seed; trials that differ in it alone hold one."""
        return {name: value for name, value in super().canonical().items() if name != "seed"}

    def canonical(self) -> dict[str, Any]:
        """The fields as JSON values, without those that equal their defaults."""
        return {**self._unseeded, "seed": self.seed}

    @cached_property
    def form(self) -> Network | None:
        """The network as it is trained: itself, or an equal form that trains faster."""
        setting = Setting(self.task.shape, self.task.signs, self.m)
        return self.learner.form(self.network, setting) if self.network else None

    @property
    def streams(self) -> bool:
        """Whether examples are made batch by batch: the task prefers it, and the learner can."""
        return isinstance(self.task, StreamedTask) and self.learner.streams

    @cached_property
    def program(self) -> str:
        """Equal for trials that share their compiled programs."""
        network = self.network.canonical() if self.network else None
        return digest([self.task.shared().canonical(), network, self.learner.compiled().canonical()])

    @cached_property
    def versions(self) -> dict[str, str]:
        """The version of every piece involved, and of functions that are not ours; the digest of the data."""
        parts = [piece for piece in (self.task, self.network, self.learner) if piece is not None]
        functions = [each for piece in parts for each in piece.functions() if not each.ours]
        versions = {f"{each.kind} {each.name}": each.fingerprint() for each in (*parts, *functions)}
        versions["trial"] = str(VERSION)
        if (data := self.task.data_digest()) is not None:
            versions["data"] = data
        return versions

    @cached_property
    def stem(self) -> str:
        """The identity without versions: equal for rows of the same spec from different code versions."""
        return digest(self.canonical())[:32]

    @cached_property
    def key(self) -> str:
        """The identity: spec, seed, data digest and the versions of the pieces involved."""
        return digest({"spec": self.canonical(), "versions": self.versions})[:32]


@dataclass(frozen=True)
class Row:
    """The result of a trial: ``result`` holds the measured columns, ``trace`` short series.

    A row whose ``status`` is ``failed`` has an ``error`` of one line instead.
    """

    key: str
    stem: str
    spec: Mapping[str, Any]
    versions: Mapping[str, str]
    status: Literal["ok", "failed"]
    result: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    trace: Mapping[str, list[float]] = field(default_factory=dict)
    error: str = ""
    environment: str = ""
    seconds: float = field(default=nan, compare=False)
    """How long the latest attempt took (nan: not known); no part of the row's identity or of comparisons."""
    first_at: str = field(default="", compare=False)
    """When the first attempt at the trial ended in its store ("": not known); no part of the row either."""
