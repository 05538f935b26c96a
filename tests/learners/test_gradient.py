"""The gradient learner against a plain loop, its stopping rule, its cuts and its checkpoints."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from training import Memory, fit_of, job_of, plain_loop

from whyconv.execution import paced, restored, train_in_segments
from whyconv.learners import Job
from whyconv.learners._optimisers import ELEMENTWISE, known, transformation
from whyconv.learners.gradient import Gradient
from whyconv.networks.dense import MLP
from whyconv.networks.pooling import ConvPool
from whyconv.streams import stream, streams
from whyconv.tasks.detection import Detection
from whyconv.trial import Trial

TASK = Detection(positions=4, pattern_dim=6, patterns=6)
NETWORK = ConvPool(channels=12)


def trial(learner, m=40, network=NETWORK, **fields):
    return Trial(task=TASK, network=network, learner=learner, m=m, seed=3, **fields)


LOSSES = {
    "logistic": lambda f, y: jnp.log1p(jnp.exp(-y * f)),
    "hinge": lambda f, y: jnp.maximum(0, 1 - y * f),
}


def looped(job, learner, epochs):
    """The same training in a plain loop, on unpadded arrays: (parameters, loss on the whole sample)."""
    x, y = job.sample.x[: job.m], job.sample.y[: job.m]
    size = learner.batch or job.m

    def batches():
        for epoch in range(epochs):
            order = np.arange(job.m)
            if learner.batch is not None:
                key = jax.random.fold_in(job.batches, epoch)
                lots = jax.random.uniform(key, job.sample.y.shape, jnp.float32)
                order = np.argsort(np.asarray(lots)[: job.m], kind="stable")
            for part in np.split(order, range(size, job.m, size)):
                yield x[part], y[part]

    loss, optimiser = LOSSES[learner.loss], getattr(optax, learner.optimiser)(learner.rate)
    params, _ = plain_loop(job.network, job.network.init(job.init, job.shape), optimiser, loss, batches())
    return params, float(loss(job.network.apply(params, job.network.prepare(x)), y).mean())


@pytest.mark.parametrize(
    "learner",
    [
        Gradient(batch=16, epochs=3),
        Gradient(batch=None, epochs=4, optimiser="sgd", rate=0.5),
        Gradient(batch=7, epochs=2, loss="hinge"),
    ],
    ids=["adam in batches", "sgd on all", "hinge"],
)
def test_it_is_the_plain_loop(learner, execute):
    spec = trial(learner, m=40)
    job = job_of(spec)
    fit = fit_of(spec, job)
    params, loss = looped(job, learner, learner.epochs)
    for name in params:
        np.testing.assert_allclose(fit.params[name], params[name], rtol=2e-4, atol=2e-6)
    assert fit.facts["train_loss"] == pytest.approx(loss, rel=1e-4)
    assert fit.facts["stopped"] == "cap"
    assert fit.facts["steps"] == learner.epochs * -(-40 // min(learner.batch or 40, 40))


def test_it_stops_at_the_first_epoch_whose_training_loss_is_small_enough():
    learner = Gradient(batch=None, optimiser="sgd", rate=2.0, tolerance=0.05, epochs=3000)
    spec = trial(learner, m=20)
    job = job_of(spec)
    facts = fit_of(spec, job).facts
    assert facts["stopped"] == "loss" and facts["train_loss"] <= 0.05
    earlier = looped(job, learner, facts["epochs"] - 1)[1]
    assert earlier <= 0.05 < looped(job, learner, facts["epochs"] - 2)[1]  # the rule looks before it leaps


def test_a_small_loss_before_a_step_too_large_does_not_stop_it():
    learner = Gradient(batch=None, optimiser="sgd", rate=5.0, loss="squared", tolerance=2.0, epochs=2)
    facts = fit_of(trial(learner, m=20)).facts
    assert facts["epochs"] == 2 and facts["stopped"] == "cap" and facts["train_loss"] > 2


def test_a_trial_cut_short_goes_on_from_its_checkpoint_to_the_same_bits():
    spec = trial(Gradient(batch=16, epochs=60, tolerance=0.0))
    job = job_of(spec)
    whole = fit_of(spec, job)
    memory = Memory(die_at=2)
    with pytest.raises(KeyboardInterrupt):
        fit_of(spec, job, memory)
    beats = []
    rest = fit_of(spec, job, Memory(state=memory.state), beats.append)
    assert 0 < beats[0] < 1
    for a, b in zip(jax.tree.leaves(whole.params), jax.tree.leaves(rest.params), strict=True):
        np.testing.assert_array_equal(a, b)
    assert whole.facts == rest.facts and whole.trace == rest.trace


@pytest.mark.parametrize(
    "spoil",
    [
        lambda arrays: [np.zeros(3)],
        lambda arrays: [*arrays, np.asarray(16, arrays[-1].dtype)],  # one more, as states once had
        lambda arrays: arrays[:-1],
        lambda arrays: [array.astype(np.float16) for array in arrays],
    ],
    ids=["shape", "one more", "one fewer", "type"],
)
def test_a_checkpoint_unlike_the_state_is_not_trusted(spoil):
    spec = trial(Gradient(batch=16, epochs=60, tolerance=0.0))
    job, memory, beats = job_of(spec), Memory(die_at=2), []
    with pytest.raises(KeyboardInterrupt):
        train_in_segments(spec, job, lambda fraction: None, memory)
    with pytest.raises(KeyboardInterrupt):
        train_in_segments(spec, job, beats.append, Memory(die_at=1, state=spoil(memory.state)))
    assert beats == [0]


def test_a_state_of_numpy_keeps_its_precision():
    kept = np.array([1 / 3, np.nan])
    found = restored(np.full(2, np.nan), [kept])
    assert found.dtype == np.float64 and found[0] == 1 / 3


def test_segments_of_any_length_share_their_program_and_its_numbers():
    spec = trial(Gradient(batch=16, epochs=7, tolerance=0.0))
    job = job_of(spec)

    def after(*segments):
        state = spec.learner.start(job)
        for steps in segments:
            state = spec.learner.advance(job, state, steps)
        assert spec.learner.progress(state) == 1
        return jax.tree.leaves(state)

    for cut in ((21,), (1,) * 21, (2, 5, 100)):
        for one, other in zip(after(1000), after(*cut), strict=True):
            np.testing.assert_array_equal(one, other)
    assert spec.learner.programs(job).segment._cache_size() == 1


def test_a_segment_takes_about_a_second():
    assert paced(16, 2.0) == 8 and paced(16, 0.5) == 32
    assert paced(16, 0.0) == 64 and paced(3, 100.0) == 1  # neither much more at once, nor none
    assert paced(900_000, 0.1) == 1_000_000


def test_padding_does_not_matter():
    spec = trial(Gradient(batch=None, epochs=5), network=MLP(width=6))
    job = job_of(spec)
    short = Job(
        job.network, type(job.sample)(job.sample.x[:40], job.sample.y[:40]), 40, job.init, job.batches
    )
    padded = fit_of(spec, job).params
    exact = fit_of(spec, short).params
    np.testing.assert_allclose(padded["w"], exact["w"], rtol=1e-5, atol=1e-7)


def test_a_run_that_blows_up_ends_and_says_so(execute):
    result = execute(
        task=TASK, network=NETWORK, learner=Gradient(optimiser="sgd", rate=1e6, loss="squared"), m=20, seed=0
    )
    assert not np.isfinite(result["train_loss"])
    assert result["epochs"] < 2000


def test_networks_of_one_seed_meet_the_same_examples_in_the_same_order():
    first, second = trial("gradient"), trial("gradient", network=MLP(width=4))
    one, two = streams(first), streams(second)
    for name in ("world", "train", "test", "batches"):
        assert (jax.random.key_data(one[name]) == jax.random.key_data(two[name])).all()
    assert (jax.random.key_data(one["init"]) != jax.random.key_data(two["init"])).any()
    other_m = streams(trial("gradient", m=7))
    for name, value in one.items():
        assert (jax.random.key_data(value) == jax.random.key_data(other_m[name])).all()


def test_streams_differ_by_name_and_part():
    keys = [stream("a", 1), stream("b", 1), stream("a", 2), stream("a", 1, 1)]
    assert len({tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in keys}) == 4


@pytest.mark.parametrize("name", ["no_such_thing", "_private", "_name", "global_norm", "clip", "contrib"])
def test_unknown_optimisers_are_refused(name):
    with pytest.raises(ValueError, match="no Optax optimiser"):
        Gradient(optimiser=name)


def test_optimisers_are_those_of_optax():
    assert {"adam", "sgd", "rmsprop", "adadelta"} <= ELEMENTWISE
    for name in (*ELEMENTWISE, "lion", "lamb", "adafactor"):
        assert known(name) and "learning_rate" in inspect.signature(getattr(optax, name)).parameters
        assert isinstance(transformation(name, 0.1, {}), optax.GradientTransformation)


def test_options_reach_the_optimiser():
    assert transformation("adam", 0.1, {"b1": 0.5}).init(0.0).hyperparams["learning_rate"] == 0.1
    with pytest.raises(ValueError, match=r"optimiser adam does not take \{'nonsense': 0\.5\}: "):
        transformation("adam", 0.1, {"nonsense": 0.5})
