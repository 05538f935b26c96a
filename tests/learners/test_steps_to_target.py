"""Training to a target error: held-out examples, answers, and one program for a grid of rates."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training import fit_of, job_of

from whyconv.learners import at_most
from whyconv.learners._training import programs
from whyconv.learners.gradient import Gradient
from whyconv.learners.layerwise import Layerwise
from whyconv.learners.losses import hinge
from whyconv.learners.order_search import OrderSearch
from whyconv.tasks import Sample
from whyconv.trial import Trial

TASK = {"name": "k-pattern", "n_bits": 8, "k_window": 3}
NETWORK = {"name": "fcn", "filters": 60}
HELD = 100


def trial(**learner):
    fields = {"optimiser": "sgd", "rate": 1.0, "batch": None, "loss": "hinge", "tolerance": 0, "epochs": 200}
    fields |= {"target_error": 0.1, "held_out": HELD}
    return Trial(task=TASK, network=NETWORK, learner={"name": "gradient", **fields, **learner}, m=400, seed=1)


def fit(trial, flip=0):
    """The fit, the labels of the last ``flip`` examples turned round."""
    job = job_of(trial)
    y = np.array(job.sample.y)
    y[trial.m - flip : trial.m] *= -1
    return fit_of(trial, replace(job, sample=Sample(job.sample.x, jnp.asarray(y))))


def error_after(epochs):
    """The error on the held-out examples after so many epochs, measured from outside."""
    spec = trial(epochs=epochs, target_error=0.0)
    job, found = job_of(spec), fit(spec)
    x, y = np.asarray(job.sample.x)[300:400], np.asarray(job.sample.y)[300:400]
    return float(np.mean(np.where(found.scores(x) > 0, 1, -1) != y))


def test_it_stops_at_the_first_epoch_that_meets_the_target():
    facts = fit(trial()).facts
    assert facts["stopped"] == "error" and 1 < facts["steps"] < 200
    assert facts["held_out_error"] <= 0.1
    assert facts["held_out_error"] == pytest.approx(error_after(facts["steps"]))
    assert error_after(facts["steps"] - 1) > 0.1


def test_held_out_examples_are_not_trained_on():
    spec = trial(epochs=7, target_error=0.0)
    plain, flipped = fit(spec), fit(spec, flip=HELD)
    for name in plain.params:
        np.testing.assert_array_equal(plain.params[name], flipped.params[name])
    assert flipped.facts["held_out_error"] == pytest.approx(1 - plain.facts["held_out_error"])
    assert not np.array_equal(plain.params["u"], fit(spec, flip=HELD + 1).params["u"])


def test_a_budget_spent_and_a_run_that_blew_up_are_answers():
    spent = fit(trial(epochs=2)).facts
    assert (spent["stopped"], spent["steps"]) == ("cap", 2)
    blown = fit(trial(rate=1e6, loss="squared", epochs=100)).facts
    assert blown["stopped"] == "diverged" and "train_loss" not in blown and blown["steps"] < 100


def test_the_training_error_is_that_of_the_examples_trained_on(execute):
    spec = trial(epochs=7, target_error=0.0)
    fields = {name: getattr(spec, name) for name in ("task", "network", "learner", "m", "seed")}
    job, found = job_of(spec), fit(spec)
    x, y = np.asarray(job.sample.x)[:300], np.asarray(job.sample.y)[:300]
    assert execute(**fields)["train_error"] == np.mean(np.where(found.scores(x) > 0, 1, -1) != y)


def test_the_trace_follows_the_held_out_error():
    found = fit(trial(epochs=8, target_error=0.0))
    assert found.trace["held_out_error_at_epochs_2^i"] == pytest.approx([error_after(2**i) for i in range(4)])


def test_operations_are_counted_for_the_examples_trained_on():
    facts = fit(trial(epochs=2)).facts
    assert facts["train_flops"] == 3 * (2 * 60 * 9) * 300 * 2


def test_a_grid_of_rates_and_budgets_compiles_once():
    first, second = Gradient(rate=0.1, epochs=5), Gradient(rate=0.7, epochs=9)
    network = trial().form
    assert programs(network, first.compiled()) is programs(network, second.compiled())
    assert Gradient(rate=0.1, loss="hinge").compiled() != first.compiled()
    assert trial(rate=0.3).program == trial(rate=3.0, epochs=7).program != trial(loss="squared").program
    slow, fast = fit(trial(rate=0.01, epochs=3)), fit(trial(rate=0.1, epochs=3))
    assert np.abs(np.asarray(slow.params["u"]) - np.asarray(fast.params["u"])).max() > 1e-4


def test_the_hinge_is_flat_at_its_kink():
    slope = jax.grad(hinge)
    places = ((1.0, 1.0), (0.9, 1.0), (1.1, 1.0), (-1.0, -1.0), (0.0, -1.0))
    assert [float(slope(f, y)) for f, y in places] == [0, -1, 0, 0, 1]


@pytest.mark.parametrize("fields", [{"target_error": 0.1}, {"held_out": 5}])
def test_target_and_held_out_examples_belong_together(fields):
    with pytest.raises(ValueError, match="give both settings or neither"):
        Gradient(**fields)


def test_something_must_be_left_to_train_on():
    with pytest.raises(
        ValueError, match="m = 400 examples were given, but held_out = 400 are not trained on"
    ):
        trial(held_out=400)


@pytest.mark.parametrize("target", [0.1, 0.05, 0.02, 0.25])
def test_an_error_of_just_the_target_meets_it(target):
    """In single precision 0.1 is above 0.1: where the program stops, all who ask after it must agree."""
    error = jnp.asarray(target * HELD, jnp.float32) / HELD
    assert bool(error <= target) and at_most(error, target)
    assert not at_most(jnp.nextafter(error, jnp.float32(1)), target)
    gradient = Gradient(target_error=target, held_out=HELD)
    assert gradient._stopped(SimpleNamespace(loss=jnp.asarray(1.0), error=error)) == "error"
    search = OrderSearch(target_error=target)
    assert search.progress(SimpleNamespace(error=error, evaluated=jnp.asarray(3))) == 1
    layerwise = Layerwise(tolerance=target)
    assert layerwise.progress(SimpleNamespace(loss=error, second=jnp.asarray(3))) == 1
