"""Trials: one (task, network, learner, m, seed) gives one row, as a pure function of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any, Literal

from pydantic import Field, model_validator

from whyconv.learners import LearnerField
from whyconv.networks import Network, NetworkField
from whyconv.spec import Spec, digest
from whyconv.tasks import TaskField

VERSION = 1
"""Raised when :mod:`whyconv.execution` would give another row for the same spec."""


class Trial(Spec):
    """The specification of one row."""

    task: TaskField
    network: NetworkField | None = None
    learner: LearnerField
    m: int = Field(ge=1, le=10_000_000)
    seed: int = Field(ge=0, le=2**31 - 1)
    test_size: int = Field(1000, ge=1, le=10_000_000)
    exact: bool = False
    """Also the exact error where it takes seconds; where it takes no time it is always there."""
    risk: bool = False
    """Also the squared risk E (y - f)^2: exact where the task knows it, else on the test examples."""
    dtype: Literal["float32", "float64"] = "float32"

    @model_validator(mode="after")
    def _fits(self) -> Trial:
        shape, population = self.task.shape, self.task.population
        for refusal in (
            self.learner.refusal(self.network, self.m),
            self.network.refusal(shape) if self.network else "",
        ):
            if refusal:
                raise ValueError(refusal)
        wanted = self.task.classes if self.task.classes > 2 else 1
        given = self.network.score_count if self.network else 1
        if given != wanted:
            raise ValueError(
                f"the task {self.task.name} has {self.task.classes} classes, for which a network of {wanted} "
                f"outputs is needed, and one of {given} was given"
            )
        supplies = self.task.supply("train"), self.task.supply("test")
        for name, count, supply in zip(("m", "test_size"), (self.m, self.test_size), supplies, strict=True):
            if supply is not None and count > supply:
                raise ValueError(
                    f"{name} = {count} was given, and the task {self.task.name} has {supply} examples for "
                    "that; take at most as many"
                )
        if population is None:
            return self
        if self.learner.trained(self.m) < self.m:
            raise ValueError("the task takes every input once, and none can be held out; take another law")
        if {self.m, self.test_size} != {population}:
            raise ValueError(
                f"m = {self.m} and test_size = {self.test_size} were given, and the task takes every input "
                f"once; set both to {population}"
            )
        return self

    @cached_property
    def form(self) -> Network | None:
        """The network as it is trained: itself, or a faster form that is equal to it."""
        return self.learner.form(self.network, self.task, self.m)

    @property
    def streams(self) -> bool:
        """Whether examples are made batch by batch: the task would rather, and the learner can."""
        return self.task.streamed and self.learner.streams

    @cached_property
    def program(self) -> str:
        """Equal for trials that share their compiled programs."""
        network = self.network.canonical() if self.network else None
        return digest([self.task.canonical(), network, self.learner.compiled().canonical()])

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
        """The identity without versions: equal for two rows that differ only by the code's age."""
        return digest(self.canonical())[:32]

    @cached_property
    def key(self) -> str:
        """The identity: spec, seed, data digest and the versions of the pieces involved."""
        return digest({"spec": self.canonical(), "versions": self.versions})[:32]


@dataclass(frozen=True)
class Row:
    """What a trial left behind. ``result`` holds the measured columns, ``trace`` short series.

    ``status`` is ``ok`` or ``failed``; a failed row has an ``error`` in one line instead.
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
    """What the latest attempt took (nan: not known). Another run takes another time: no part of the row's
    identity, and of no comparison."""
