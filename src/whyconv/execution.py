"""Carrying out one trial: sample, train in segments, test. A pure function of the trial's spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from whyconv.lazy import jax, jnp, np
from whyconv.learners import Fit, Job
from whyconv.spec import once
from whyconv.streams import streams
from whyconv.tasks import Sample, Task
from whyconv.trial import Trial

Result = Mapping[str, float | int | str | bool]
BLOCK = 1024
"""Examples drawn or scored by one call of a compiled program."""


class Checkpoint(Protocol):
    """Where a long trial keeps its state between segments."""

    def load(self) -> list[np.ndarray] | None:
        """The arrays last saved, if any are there and intact."""
        ...

    def save(self, arrays: list[np.ndarray]) -> None:
        """Keep the arrays, if enough time has passed since the last time."""
        ...


def execute(
    trial: Trial, beat: Callable[[float], None], checkpoint: Checkpoint
) -> tuple[Result, Mapping[str, list[float]]]:
    """Run a trial: the measured columns of its row, and its short series.

    ``beat`` is called with the progress after every segment. Errors of prediction count a score
    of zero as the label -1 (the paper's sign(0) = -1). ``exact_error`` is there where the task
    knows its law, and the network reads only sets of rows or the inputs are few.
    """
    with jax.enable_x64(trial.dtype == "float64"):
        keys = streams(trial)
        train = draw(trial.task, keys["world"], keys["train"], capacity(trial.m))
        job = Job(trial.form, train, trial.m, keys["init"], keys["batches"])
        fit = chosen(trial, train_in_segments(trial, job, beat, checkpoint), keys)
        test = draw(trial.task, keys["world"], keys["test"], trial.test_size)
        result = {
            **fit.facts,
            "train_error": error(fit, train, trial.learner.trained(trial.m)),
            "test_error": error(fit, test, trial.test_size),
        }
        if (exact := exact_error(trial, fit, keys["world"])) is not None:
            result["exact_error"] = exact
        result |= known_facts(trial, fit, keys["world"])
        if trial.risk:
            result["risk_is_exact"] = "risk" in result
            result.setdefault("risk", squared_risk(fit, test))
    return result, fit.trace


def exact_error(trial: Trial, fit: Fit, world: jax.Array) -> float | None:
    """The error under the task's law without sampling: over all inputs where these are few and it is asked
    for, over sets of rows where the network reads no more.
    """
    if trial.exact and (law := trial.task.finite_law(world)) is not None:
        wrong = np.where(scores(fit, law.x) > 0, 1, -1) != law.y
        return float(law.probability[wrong].sum())
    network = trial.network
    if network is None or not network.reads_set(trial.task.shape):
        return None
    if (law := trial.task.set_law(world)) is not None:
        wrong = np.where(scores(fit, law.x) > 0, 1, -1) != law.y
        return float(law.probability[wrong].sum())
    if trial.exact and network.pooled_parts(fit.params, np.zeros((1, trial.task.shape[1]))) is not None:
        return trial.task.pooled_error(world, lambda rows: network.pooled_parts(fit.params, rows))
    return None


def known_facts(trial: Trial, fit: Fit, world: jax.Array) -> dict[str, float | bool]:
    """What the task knows of the trained network without sampling, and of its stages under their names."""
    network, known = trial.network, {}
    if network is None or not trial.risk:
        return known
    for stage, params in {"": fit.params, **fit.stages}.items():
        nodes = network.threshold_nodes(params, trial.task.shape)
        facts = trial.task.threshold_facts(world, *nodes) if nodes is not None else None
        known |= {f"{name}_{stage}" if stage else name: fact for name, fact in (facts or {}).items()}
    return known


def squared_risk(fit: Fit, sample: Sample) -> float:
    """The mean of (y - f)^2."""
    return float(np.mean((np.asarray(sample.y, np.float64) - scores(fit, sample.x)) ** 2))


def chosen(trial: Trial, fits: list[Fit], keys: Mapping[str, jax.Array]) -> Fit:
    """Of settings tried side by side, the one that does best on the task: by its exact risk where that is
    known, else on a sample that is used for nothing else.
    """
    if len(fits) == 1:
        return fits[0]
    risks = [known_facts(trial, fit, keys["world"]).get("risk") for fit in fits]
    if None in risks:
        sample = draw(trial.task, keys["world"], keys["validation"], trial.test_size)
        wrong = squared_risk if trial.risk else lambda fit, sample: error(fit, sample, trial.test_size)
        risks = [wrong(fit, sample) for fit in fits]
    return fits[
        int(np.argmin([risk if risk is not None and np.isfinite(risk) else np.inf for risk in risks]))
    ]


def train_in_segments(
    trial: Trial, job: Job, beat: Callable[[float], None], checkpoint: Checkpoint
) -> list[Fit]:
    """Start, or go on from the checkpoint; advance until the learner says it is done."""
    learner = trial.learner
    state = learner.start(job)
    leaves, structure = jax.tree.flatten(state)
    kept = checkpoint.load()
    if kept is not None and [a.shape for a in kept] == [np.shape(leaf) for leaf in leaves]:
        state = jax.tree.unflatten(structure, [jnp.asarray(array) for array in kept])
    while (progress := learner.progress(state)) < 1:
        beat(progress)
        state = learner.advance(job, state)
        checkpoint.save([np.asarray(leaf) for leaf in jax.tree.leaves(state)])
    beat(1.0)
    return learner.fits(job, state)


def capacity(m: int) -> int:
    """The padded number of training rows: 32, 1024, 4096, 16384, ...; a function of m alone.

    Few sizes, because each is a compilation; a small one, because padding costs most there.
    """
    if m <= 32:
        return 32
    size = BLOCK
    while size < m:
        size *= 4
    return size


def draw(task: Task, world: jax.Array, draws: jax.Array, count: int) -> Sample:
    """The first ``count`` examples of a stream, made in blocks of one compiled shape."""
    program = sampler(task)
    blocks = [program(world, draws, first) for first in range(0, count, BLOCK)]
    parts = [
        jnp.concatenate(column) if len(blocks) > 1 else column[0] for column in zip(*blocks, strict=True)
    ]
    return Sample(*(part[:count] for part in parts))


@once
def sampler(task: Task) -> Callable[..., Sample]:
    """The compiled sampler of one block, shared by all networks, seeds and sample sizes."""
    return jax.jit(lambda world, draws, first: task.examples(world, draws, first + jnp.arange(BLOCK)))


def scores(fit: Fit, x: Any) -> np.ndarray:
    """The scores of many inputs, in chunks of one shape (the last one padded)."""
    parts = []
    for first in range(0, len(x), BLOCK):
        part = x[first : first + BLOCK]
        short = BLOCK - len(part)
        padded = np.concatenate([part, np.repeat(np.asarray(part[-1:]), short, axis=0)]) if short else part
        parts.append(np.asarray(fit.scores(padded))[: len(part)])
    return np.concatenate(parts)


def error(fit: Fit, sample: Sample, count: int) -> float:
    """The fraction of the first ``count`` examples whose label the sign of the score misses."""
    predicted = np.where(scores(fit, np.asarray(sample.x)[:count]) > 0, 1, -1)  # a slice in JAX is compiled
    return float(np.mean(predicted != np.asarray(sample.y)[:count]))
