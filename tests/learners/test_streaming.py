"""Examples made batch by batch: the same training as on a sample that is held, and new ones every epoch."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from conftest import NoCheckpoint
from whyconv.execution import capacity, draw, execute, prepared, train_in_segments
from whyconv.learners import Job
from whyconv.learners.gradient import Gradient
from whyconv.networks.dense import MLP
from whyconv.streams import streams
from whyconv.tasks.sequence import Sequence
from whyconv.trial import Trial

M = 300


def trial(**fields):
    learner = {
        "optimiser": "adadelta",
        "rate": 1.0,
        "batch": 128,
        "loss": "hinge",
        "tolerance": 0,
        "epochs": 3,
    }
    task = {"images": "digits", "digits": 3, "counted": 1}
    return Trial(
        task=Sequence(**{**task, **fields}), network=MLP(width=8), learner=Gradient(**learner), m=M, seed=0,
        test_size=200,
    )  # fmt: skip


def fitted(chosen, job):
    return train_in_segments(chosen, job, lambda fraction: None, NoCheckpoint())[0]


def test_a_streamed_sample_is_trained_on_like_one_that_is_held():
    chosen = trial(reshuffled=False)
    keys = streams(chosen)
    fed = prepared(chosen, keys)
    assert fed.feed is not None
    assert fed.sample.x.shape == (0, 24, 24, 1)
    sample = draw(chosen.task, keys["world"], keys["train"], capacity(M))
    held = Job(chosen.network, sample, M, keys["init"], keys["batches"])
    one, other = fitted(chosen, fed), fitted(chosen, held)
    for name in ("w", "a"):
        np.testing.assert_allclose(one.params[name], other.params[name], rtol=2e-5, atol=2e-6)
    assert one.facts["train_loss"] == pytest.approx(other.facts["train_loss"], rel=1e-5)


def plain_loop(chosen, epochs):
    """Epoch by epoch, batch by batch, with nothing compiled together: (parameters, losses)."""
    keys, network, task = streams(chosen), chosen.network, chosen.task
    stock = task.stock("train")
    params = network.init(keys["init"], task.shape)
    optimiser = optax.adadelta(1.0)
    inner, losses = optimiser.init(params), []

    @jax.jit
    def step(params, inner, x, y):
        def mean(p):
            return jnp.maximum(0, 1 - y * network.apply(p, network.prepare(x))).mean()

        loss, grad = jax.value_and_grad(mean)(params)
        updates, inner = optimiser.update(grad, inner, params)
        return optax.apply_updates(params, updates), inner, loss

    for epoch in range(epochs):
        order = task.shuffle(stock, keys["world"], keys["train"], epoch)
        total = 0.0
        for first in range(0, M, 128):
            rows = jnp.arange(first, min(first + 128, M))
            x, y = task.assemble(stock, order, keys["world"], keys["train"], rows)
            params, inner, loss = step(params, inner, x, y)
            total += float(loss) * len(rows)
        losses.append(total / M)
    return params, losses


def test_every_epoch_has_new_sequences_in_the_order_they_are_made_in():
    chosen = trial()
    fit = fitted(chosen, prepared(chosen, streams(chosen)))
    params, losses = plain_loop(chosen, 3)
    for name in ("w", "a"):
        np.testing.assert_allclose(fit.params[name], params[name], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fit.trace["loss_at_epochs_2^i"], losses[:2], rtol=1e-5)
    assert fit.facts["train_loss"] == pytest.approx(losses[2], rel=1e-5)
    assert fit.facts["steps"] == 9


def test_a_run_cut_in_the_middle_of_an_epoch_gives_the_same_bits():
    chosen = trial()
    job = prepared(chosen, streams(chosen))
    whole = fitted(chosen, job)
    learner, state = chosen.learner, chosen.learner.start(job)
    seen = []
    while (progress := learner.progress(state)) < 1:
        seen.append(progress)
        job = prepared(chosen, streams(chosen))  # as after a kill: nothing but the state survives
        state = learner.advance(job, state, 2)
    cut = learner.finish(job, state)
    for name in ("w", "a"):
        np.testing.assert_array_equal(cut.params[name], whole.params[name])
    assert cut.facts == whole.facts
    # three steps an epoch, two at a time, and none across the end of an epoch
    assert seen == pytest.approx([0, 2 / 9, 3 / 9, 5 / 9, 6 / 9, 8 / 9])


def test_a_row_has_the_errors_of_shifted_tests():
    chosen = trial(shifted_tests=(1, 8))
    result, _ = execute(chosen, lambda fraction: None, NoCheckpoint())
    assert {"test_error", "test_error_shift_1", "test_error_shift_8", "train_error"} <= set(result)
    keys = streams(chosen)
    fit = fitted(chosen, prepared(chosen, keys))
    for by in (1, 8):
        moved = chosen.task.tests()[f"shift_{by}"]
        x, y = draw(moved, keys["world"], keys["test"], 200, "test")
        wrong = np.mean(np.where(fit.scores(x) > 0, 1, -1) != np.asarray(y))
        assert result[f"test_error_shift_{by}"] == pytest.approx(wrong, abs=0.005)


def test_a_learner_that_does_not_stream_gets_the_sample():
    chosen = Trial(
        task=Sequence(images="digits", digits=3, counted=1),
        learner={"name": "svm"},
        m=40,
        seed=0,
        test_size=50,
    )
    job = prepared(chosen, streams(chosen))
    assert job.feed is None
    assert job.sample.x.shape == (1024, 24, 24, 1)


SEQUENCE = {"name": "sequence", "digits": 3, "counted": 1}
GRID = {"name": "digit-grid"}


@pytest.mark.parametrize(
    ("task", "network", "optimiser"),
    [
        (SEQUENCE, {"name": "deep-fcn", "widths": [6]}, "adadelta"),
        (SEQUENCE, {"name": "deep-fcn", "widths": [6]}, "rmsprop"),
        (GRID, {"name": "mlp", "width": 6}, "adam"),
    ],
)
def test_a_coupled_fcn_does_not_see_that_pixels_are_permuted(task, network, optimiser):
    """Equal to rounding through the whole trial: streams, task, learner; an uncoupled one is not."""

    def scores(permuted=False, coupled=False):
        chosen = Trial(
            task={**task, "images": "digits", "permuted": permuted}, m=256, seed=0,
            network={**network, "coupled": coupled}, dtype="float64",
            learner=Gradient(optimiser=optimiser, rate=0.01, batch=128, tolerance=0, epochs=2),
        )  # fmt: skip
        with jax.enable_x64(True):
            keys = streams(chosen)
            fit = fitted(chosen, prepared(chosen, keys))
            return fit.scores(draw(chosen.task, keys["world"], keys["test"], 200, "test").x)

    plain = scores()
    np.testing.assert_allclose(scores(permuted=True, coupled=True), plain, rtol=1e-9, atol=1e-12)
    assert np.abs(scores(permuted=True) - plain).max() > 0.01
