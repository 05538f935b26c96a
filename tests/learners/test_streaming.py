"""Examples made batch by batch: the same training as on a sample that is held, and new ones every epoch."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from training import fit_of, job_of, plain_loop

from whyconv.execution import draw, prepared
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


def test_a_streamed_sample_is_trained_on_like_one_that_is_held():
    chosen = trial(reshuffled=False)
    keys = streams(chosen)
    fed = prepared(chosen, keys)
    assert fed.feed is not None
    assert fed.sample.x.shape == (0, 24, 24, 1)
    one, other = fit_of(chosen, fed), fit_of(chosen, job_of(chosen))
    for name in ("w", "a"):
        np.testing.assert_allclose(one.params[name], other.params[name], rtol=2e-5, atol=2e-6)
    assert one.facts["train_loss"] == pytest.approx(other.facts["train_loss"], rel=1e-5)


def looped(chosen, epochs):
    """The same training in a plain loop: (parameters, mean loss of each epoch)."""
    keys, network, task = streams(chosen), chosen.network, chosen.task
    stock = task.stock("train")
    parts = np.split(np.arange(M), range(128, M, 128))

    def batches():
        for epoch in range(epochs):
            order = task.shuffle(stock, keys["world"], keys["train"], epoch)
            for rows in parts:
                yield task.assemble(stock, order, keys["world"], keys["train"], jnp.asarray(rows))

    params, losses = plain_loop(
        network, network.init(keys["init"], task.shape), optax.adadelta(1.0),
        lambda f, y: jnp.maximum(0, 1 - y * f), batches(),
    )  # fmt: skip
    return params, np.reshape(losses, (epochs, -1)) @ [len(rows) / M for rows in parts]


def test_every_epoch_has_new_sequences_in_the_order_they_are_made_in():
    chosen = trial()
    fit = fit_of(chosen, prepared(chosen, streams(chosen)))
    params, losses = looped(chosen, 3)
    for name in ("w", "a"):
        np.testing.assert_allclose(fit.params[name], params[name], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fit.trace["loss_at_epochs_2^i"], losses[:2], rtol=1e-5)
    assert fit.facts["train_loss"] == pytest.approx(losses[2], rel=1e-5)
    assert fit.facts["steps"] == 9


def test_a_run_cut_in_the_middle_of_an_epoch_gives_the_same_bits():
    chosen = trial()
    job = prepared(chosen, streams(chosen))
    whole = fit_of(chosen, job)
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


def test_a_row_has_the_errors_of_shifted_tests(execute):
    chosen = trial(shifted_tests=(1, 8))
    result = execute(**dict(chosen))
    assert {"test_error", "test_error_shift_1", "test_error_shift_8", "train_error"} <= set(result)
    keys = streams(chosen)
    fit = fit_of(chosen, prepared(chosen, keys))
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
            fit = fit_of(chosen, prepared(chosen, keys))
            return fit.scores(draw(chosen.task, keys["world"], keys["test"], 200, "test").x)

    plain = scores()
    np.testing.assert_allclose(scores(permuted=True, coupled=True), plain, rtol=1e-9, atol=1e-12)
    assert np.abs(scores(permuted=True) - plain).max() > 0.01
