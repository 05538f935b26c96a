"""A network, a claim and a study of your own, in one file.

    whyconv run own.top-two --load examples/top_two_pooling.py
    whyconv check own.counts-repeats --load examples/top_two_pooling.py

Top-two pooling adds the two largest activations of every filter, instead of taking only the largest.
Does it still find the pattern with few examples?
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from whyconv.claims import Claim
from whyconv.lazy import jax, jnp, np
from whyconv.networks import Network
from whyconv.studies import Cell, Judgement, Study
from whyconv.verdict import Evidence

CONTROL = "top two, control"


class TopTwo(Network, name="own.top-two"):
    """N(x) = sum_i a_i (largest + second largest of ReLU(w_i . x[j]) over j)."""

    reference: ClassVar[str] = "this file"
    channels: int = Field(100, ge=1)

    def init(self, key: Any, shape: tuple[int, ...]) -> dict[str, Any]:
        first, last = jax.random.split(key)
        w = jax.random.normal(first, (shape[1], self.channels)) * (2 / shape[1]) ** 0.5
        return {"w": w, "a": jax.random.normal(last, (self.channels,)) / self.channels**0.5}

    def apply(self, params: dict[str, Any], x: Any) -> Any:
        activations = jnp.sort(jax.nn.relu(x @ params["w"]), axis=1)
        return activations[:, -2:].sum(axis=1) @ params["a"]

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        return self.channels * (shape[1] + 1)

    def flops(self, shape: tuple[int, ...]) -> int:
        return 2 * self.channels * (shape[0] * shape[1] + 1)


class CountsRepeats(Claim, name="own.counts-repeats"):
    """Top-two pooling distinguishes a pattern that occurs twice from one that occurs once."""

    reference: ClassVar[str] = "this file"
    provenance: ClassVar[Any] = "derived"
    expected: ClassVar[Any] = "holds"
    broken: ClassVar = "both inputs contain the pattern twice"

    def decide(self, broken: str) -> Evidence:
        def score(times: int) -> float:
            x = np.zeros((1, 3, 2))
            x[0, :times, 0] = 1.0
            params = {"w": np.eye(2), "a": np.ones(2)}
            return float(TopTwo(channels=2).apply(params, x)[0])

        gap = score(2) - score(2 if broken else 1)
        return Evidence("holds" if gap > 0.5 else "fails", {"difference of scores": gap})


class TopTwoStudy(Study, name="own.top-two"):
    """Error of max-pooling and of top-two pooling on the detection task."""

    reference: ClassVar[str] = "this file"
    title: ClassVar[str] = "Two maxima instead of one"
    criterion: ClassVar[str] = "Both errors are below 0.1 at every m."
    broken: ClassVar = "Top-two pooling on scrambled inputs, whose windows contain no pattern."
    presets: ClassVar[Any] = {"quick": {}}

    m: tuple[int, ...] = (40, 80)
    seeds: int = Field(2, ge=1)

    def cells(self) -> Any:
        arms = {
            "max": ("detection", {"name": "conv-pool", "channels": 100}),
            "top two": ("detection", "own.top-two"),
            CONTROL: ({"name": "detection", "scrambled": True}, "own.top-two"),
        }
        for arm, (task, network) in arms.items():
            for m in self.m:
                yield Cell({"arm": arm, "m": m}, task, "gradient", network, m, range(self.seeds))

    def judge(self, table: Any) -> Judgement:
        def judged(errors: Any) -> Evidence:
            largest = float(errors.max())
            return Evidence("consistent" if largest < 0.1 else "fails", {"largest error": largest})

        control = table["arm"] == CONTROL
        return Judgement(judged(table["test_error"][~control]), judged(table["test_error"][control]))

    def figures(self, table: Any) -> dict[str, Any]:
        from whyconv.report.charts import curves

        titles = {"title": self.title, "x_title": "training examples m", "y_title": "test error"}
        return {"Top-two pooling": curves(table, "m", "test_error", log_x=True, **titles)}
