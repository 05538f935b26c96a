"""What other methods reach on the same examples: majority, a linear model, a random forest."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from whyconv.lazy import jnp, np
from whyconv.learners import Cost, Fit, Job, Learner, State
from whyconv.networks import Network


class Reference(Learner, name="reference"):
    """A model of scikit-learn, without a network: what an audit shows beside its arms.

    ``model``: *majority*, the shares of classes whatever the input (or the mean of a real target); *linear*,
    logistic regression (or ridge regression, its strength by leave-one-out); *forest*, ``trees`` trees.
    Scores are log odds of two classes, log probabilities of more, or predictions of a real target
    (``classes`` = 0).
    """

    reference: ClassVar[str] = "scikit-learn: LogisticRegression, RidgeCV, RandomForest"
    needs_network: ClassVar[bool] = False
    listed: ClassVar[bool] = False

    model: Literal["majority", "linear", "forest"] = "majority"
    classes: int = Field(2, ge=0, le=100_000)
    trees: int = Field(100, ge=1, le=10_000)

    def scores_given(self, classes: int) -> int:
        del classes
        return self.classes if self.classes > 2 else 1

    def start(self, job: Job) -> State:
        del job
        return jnp.zeros(())

    def advance(self, job: Job, state: State, steps: int) -> State:
        del job, state, steps
        return jnp.ones(())

    def progress(self, state: State) -> float:
        return float(state)

    def finish(self, job: Job, state: State) -> Fit:
        """Fits the model: it cannot be cut into segments."""
        del state
        x = np.asarray(job.sample.x)[: job.m].reshape(job.m, -1)
        y = np.asarray(job.sample.y)[: job.m]
        if self.classes == 2:
            y = (y > 0).astype(int)
        score = _constant(self._shares(y)) if self._trivial(y) else self._fitted(x, y)
        return Fit(scores=score, facts={}, trace={})

    def _trivial(self, y: np.ndarray) -> bool:
        return self.model == "majority" or len(np.unique(y)) == 1

    def _shares(self, y: np.ndarray) -> np.ndarray:
        """The scores of every input: of the shares of classes, or the mean."""
        if self.classes == 0:
            return np.array(y.mean(dtype=np.float64))
        counts = np.bincount(y.astype(int), minlength=self.classes) + 1e-3
        return self._scores(np.log(counts / counts.sum())[None])[0]

    def _scores(self, logs: np.ndarray) -> np.ndarray:
        return logs[:, 1] - logs[:, 0] if self.classes == 2 else logs

    def _fitted(self, x: np.ndarray, y: np.ndarray) -> Any:
        from sklearn import ensemble, linear_model

        if self.classes == 0:
            strengths = np.logspace(-2, 6, 17)
            model = (
                linear_model.RidgeCV(alphas=strengths)
                if self.model == "linear"
                else ensemble.RandomForestRegressor(self.trees, random_state=0)
            )
            model.fit(x, y)
            return lambda new: model.predict(np.asarray(new).reshape(len(new), -1))
        model = (
            linear_model.LogisticRegression(C=0.1, max_iter=200)
            if self.model == "linear"
            else ensemble.RandomForestClassifier(self.trees, random_state=0, min_samples_leaf=1)
        )
        model.fit(x, y.astype(int))
        seen = model.classes_.astype(int)

        def score(new: Any) -> np.ndarray:
            found = np.full((len(new), self.classes), 1e-3)
            found[:, seen] += model.predict_proba(np.asarray(new).reshape(len(new), -1))
            return self._scores(np.log(found / found.sum(axis=1, keepdims=True)))

        return score

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Rough: a forest of 100 trees takes about 3,000 operations per number."""
        del network
        numbers = float(np.prod(shape)) * m
        flops = {"majority": 1.0, "linear": 400.0 * max(self.classes, 1), "forest": 3000.0}[self.model]
        return Cost(flops * numbers, 4 * flops * numbers, 16.0 * numbers)


def _constant(score: np.ndarray) -> Any:
    """The same score for every input."""
    return lambda new: np.broadcast_to(score, (len(new), *np.shape(score)))
