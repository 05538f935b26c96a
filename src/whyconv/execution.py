"""Carrying out one trial: sample, train in segments, test. A pure function of the trial's spec."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from whyconv.compiling import quick
from whyconv.lazy import jax, jnp, np
from whyconv.learners import Feed, Fit, Job, Maker
from whyconv.measure.locality import locality
from whyconv.spec import once
from whyconv.streams import streams
from whyconv.tasks import Part, Sample, StreamedTask, Task, WeightedPoints, predicted
from whyconv.trial import Trial
from whyconv.views import FirstLayer, View

Result = Mapping[str, float | int | str | bool]
BLOCK = 1024
"""Examples per call of a compiled program that draws or scores."""
FILTERS_SHOWN = 8
FIRST_STEPS = 16
"""Steps of the first segment; its time determines the length of the next."""
GROWTH = 4
"""The largest ratio of steps of consecutive segments: a learner may take fewer steps than asked for (at the
end of an epoch), which makes steps look faster than they are."""
MOST_STEPS = 1_000_000


class Checkpoint(Protocol):
    """Where a long trial keeps its state between segments."""

    def load(self) -> list[np.ndarray] | None:
        """The arrays last saved, if they exist and are intact."""
        ...

    def save(self, arrays: list[np.ndarray]) -> None:
        """Save the arrays if enough time has passed since the last save."""
        ...


def execute(
    trial: Trial, beat: Callable[[float], None], checkpoint: Checkpoint
) -> tuple[Result, Mapping[str, list[float]]]:
    """Run a trial: the measured columns of its row, and its short series.

    ``beat`` is called with the progress after every segment. A score of zero predicts -1 (the paper's
    sign(0) = -1). ``exact_error`` is given if the task can list the inputs that the predictor distinguishes.
    """
    with jax.enable_x64(trial.dtype == "float64"):
        keys = streams(trial)
        job = prepared(trial, keys)
        fit = chosen(trial, train_in_segments(trial, job, beat, checkpoint), keys)
        trained = trial.learner.trained(trial.m)
        if job.feed is None:
            on_sample = measures(trial.task, fit, [job.sample], trained)
        else:  # made again; at most test_size examples if every epoch had new ones
            count = min(trained, trial.test_size) if job.feed.maker.fresh else trained
            again = blocks(trial.task, keys["world"], keys["train"], count, "train")
            on_sample = measures(trial.task, fit, again, count)
        result = {**fit.facts, **{f"train_{what}": value for what, value in on_sample.items()}}
        for name, task in trial.task.tests().items():
            made = blocks(task, keys["world"], keys["test"], trial.test_size, "test")
            for what, value in measures(task, fit, made, trial.test_size).items():
                result[f"test_{what}_{name}" if name else f"test_{what}"] = value
        view = shown(trial, fit.params)
        if (points := trial.task.points(keys["world"], view, trial.exact)) is not None:
            result["exact_error"] = exact_error(fit, points)
        result |= known_facts(trial, fit, keys["world"])
        learned, trace = learned_filters(trial, view)
        result |= learned
        if trial.risk:
            result["risk_is_exact"] = "risk" in result
            if "risk" not in result:
                test = draw(trial.task, keys["world"], keys["test"], trial.test_size, "test")
                result["risk"] = squared_risk(fit, test)
    return result, {**fit.trace, **trace}


def learned_filters(trial: Trial, view: View | None) -> tuple[Result, Mapping[str, list[float]]]:
    """How local the first layer's filters are; for seed 0 also the strongest filters, for a picture.

    These are scaled to integers from -100 to 100, which is precise enough to look at.
    """
    if not isinstance(view, FirstLayer):
        return {}, {}

    found = np.asarray(view.filters, np.float64)
    if not np.isfinite(found).all():  # training diverged
        return {}, {}
    scores = locality(found, trial.task.shape)
    facts = {"locality": float(np.nanmean(scores))} if np.isfinite(scores).any() else {}
    if trial.seed:
        return facts, {}
    strength = (found**2).sum(axis=(1, 2, 3))
    strongest = found[np.argsort(-strength, kind="stable")[:FILTERS_SHOWN]]
    scale = np.maximum(np.abs(strongest).max(axis=(1, 2, 3), keepdims=True), 1e-30)
    whole = np.rint(100 * strongest / scale)
    return facts, {
        "filters_shape": [float(size) for size in whole.shape], "filters": whole.ravel().tolist()
    }  # fmt: skip


def shown(trial: Trial, params: Any) -> View | None:
    """The view of the trial's network with these parameters; none if the learner trained something else."""
    if trial.network is None or params is None or not trial.learner.needs_network:
        return None
    return trial.network.view(params, trial.task.shape)


def known_facts(trial: Trial, fit: Fit, world: jax.Array) -> dict[str, float | bool]:
    """What the task knows without sampling about the trained predictor, and about its stages by name."""
    known = {}
    for stage, params in {"": fit.params, **fit.stages}.items():
        facts = trial.task.facts(world, shown(trial, params), trial.exact, trial.risk)
        known |= {f"{name}_{stage}" if stage else name: fact for name, fact in facts.items()}
    return known


def exact_error(fit: Fit, points: WeightedPoints) -> float:
    """The probability of a wrong label."""
    return float(points.probability[predicted(scores(fit, points.x)) != points.y].sum())


def squared_risk(fit: Fit, sample: Sample) -> float:
    """The mean of (y - f)^2."""
    return float(np.mean((np.asarray(sample.y, np.float64) - scores(fit, sample.x)) ** 2))


def chosen(trial: Trial, fits: list[Fit], keys: Mapping[str, jax.Array]) -> Fit:
    """Of several predictors the one that does best on a validation sample: one rule for every network.

    The sample has ``test_size`` examples of the stream *validation*, which nothing else reads. What counts is
    the mean of (y - f)^2 if the trial asks for a risk, else the share of wrong predictions; a risk that the
    task knows exactly is reported, never chosen by.
    """
    if len(fits) == 1:
        return fits[0]
    sample = draw(trial.task, keys["world"], keys["validation"], trial.test_size)
    wrong = squared_risk if trial.risk else lambda fit, sample: error(fit, [sample], trial.test_size)
    risks = np.array([wrong(fit, sample) for fit in fits])
    return fits[int(np.argmin(np.where(np.isfinite(risks), risks, np.inf)))]


def train_in_segments(
    trial: Trial, job: Job, beat: Callable[[float], None], checkpoint: Checkpoint
) -> list[Fit]:
    """Start, or resume from the checkpoint; advance until the learner is done.

    Segments take about a second each; no result depends on where training is cut.
    """
    learner, steps = trial.learner, FIRST_STEPS
    state = restored(learner.start(job), checkpoint.load())
    while (progress := learner.progress(state)) < 1:
        beat(progress)
        began = time.monotonic()
        state = jax.block_until_ready(learner.advance(job, state, steps))
        steps = paced(steps, time.monotonic() - began)
        checkpoint.save([np.asarray(leaf) for leaf in jax.tree.leaves(state)])
    beat(1.0)
    return learner.fits(job, state)


def restored(start: Any, kept: list[np.ndarray] | None) -> Any:
    """The state in a checkpoint if its arrays match those of ``start``; else ``start``."""
    leaves, structure = jax.tree.flatten(start)
    if kept is None or [(a.shape, a.dtype) for a in kept] != [(leaf.shape, leaf.dtype) for leaf in leaves]:
        return start
    alike = [
        jnp.asarray(array) if isinstance(leaf, jax.Array) else array
        for array, leaf in zip(kept, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, alike)


def paced(steps: int, seconds: float) -> int:
    """How many steps take about a second if ``steps`` steps took ``seconds``."""
    return max(1, min(int(steps / max(seconds, 1e-3)), GROWTH * steps, MOST_STEPS))


def capacity(m: int) -> int:
    """The padded number of training rows: 32, 1024, 4096, 16384, ...; a function of m alone.

    Few sizes, since each needs a compilation; one of them small, since padding costs most there.
    """
    if m <= 32:
        return 32
    size = BLOCK
    while size < m:
        size *= 4
    return size


def prepared(trial: Trial, keys: Mapping[str, jax.Array]) -> Job:
    """The learner's job: with a sample, or with a feed if task and learner support batches on demand."""
    task, rows, feed = trial.task, trial.task.room(trial.m) or capacity(trial.m), None
    if isinstance(task, StreamedTask) and trial.learner.streams:
        feed = Feed(maker(task), (task.stock("train"), keys["world"], keys["train"]), rows)
        sample = Sample(jnp.zeros((0, *task.shape)), jnp.zeros(0))
    else:
        sample = draw(task, keys["world"], keys["train"], rows)
    return Job(trial.form, sample, trial.m, keys["init"], keys["batches"], feed)


def maker(task: StreamedTask) -> Maker:
    """How a streamed task makes batches: the order outside of the compiled program, the examples inside."""

    def shuffle(arrays: tuple[Any, Any, Any], epoch: int) -> Any:
        stock, world, draws = arrays
        return task.shuffle(stock, world, draws, epoch)

    shared = task.shared()
    assert isinstance(shared, StreamedTask)
    return Maker(shuffle, batches(shared), task.fresh, task.brief)


@once
def batches(task: StreamedTask) -> Callable[..., Sample]:
    """Makes a batch; equal tasks get the same function, and so share compiled programs."""

    def batch(arrays: tuple[Any, Any, Any], order: Any, index: jax.Array) -> Sample:
        stock, world, draws = arrays
        return task.assemble(stock, order, world, draws, index)

    return batch


def draw(task: Task, world: jax.Array, draws: jax.Array, count: int, part: Part = "train") -> Sample:
    made = list(blocks(task, world, draws, count, part))
    if len(made) == 1 and len(made[0].y) == count:
        return made[0]
    columns = ([np.asarray(part) for part in column] for column in zip(*made, strict=True))
    # joined and cut in NumPy, since JAX would compile both for each length
    return Sample(*(jnp.asarray(np.concatenate(column)[:count]) for column in columns))


def blocks(task: Task, world: jax.Array, draws: jax.Array, count: int, part: Part) -> Iterator[Sample]:
    """At least the first ``count`` examples of a stream, in blocks of one compiled shape."""
    stock, order = (), ()
    if isinstance(task, StreamedTask):
        stock = task.stock(part)
        order = task.shuffle(stock, world, draws, 0)
    for first in range(0, count, BLOCK):
        yield sampler(task.shared())(task.numbers, stock, order, world, draws, first)


@once
def sampler(task: Task) -> Callable[..., Sample]:
    """The compiled sampler of one block, shared by all networks, seeds, sample sizes and :attr:`numbers`."""

    def block(
        numbers: Any, stock: Any, order: Any, world: jax.Array, draws: jax.Array, first: jax.Array
    ) -> Sample:
        index = first + jnp.arange(BLOCK)
        given = task.model_copy(update={"numbers": numbers})
        if isinstance(given, StreamedTask):
            return given.assemble(stock, order, world, draws, index)
        return given.examples(world, draws, index)

    return quick(block)


def scores(fit: Fit, x: Any) -> np.ndarray:
    """The scores of many inputs, in chunks of one shape (the last one padded)."""
    parts = []
    for first in range(0, len(x), BLOCK):
        part = x[first : first + BLOCK]
        short = BLOCK - len(part)
        padded = np.concatenate([part, np.repeat(np.asarray(part[-1:]), short, axis=0)]) if short else part
        parts.append(np.asarray(fit.scores(padded))[: len(part)])
    return np.concatenate(parts)


def error(fit: Fit, samples: Iterable[Sample], count: int) -> float:
    """The fraction of wrong predictions among the first ``count`` examples."""
    given, labels = scored(fit, samples, count)
    return int(np.sum(predicted(given) != labels)) / count


def measures(task: Task, fit: Fit, samples: Iterable[Sample], count: int) -> Mapping[str, float]:
    """What the task measures on the first ``count`` examples, such as the fraction of wrong predictions."""
    return task.measures(*scored(fit, samples, count))


def scored(fit: Fit, samples: Iterable[Sample], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels of the first ``count`` examples."""
    given, labels, seen = [], [], 0
    for sample in samples:
        y = np.asarray(sample.y)[: count - seen]  # NumPy, since JAX would compile the slice
        given.append(scores(fit, np.asarray(sample.x)[: len(y)]))
        labels.append(y)
        seen += len(y)
    return np.concatenate(given), np.concatenate(labels)
