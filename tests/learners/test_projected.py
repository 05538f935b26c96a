"""Projected descent on a grid, two steps, and the embedded CNN: against plain loops, cut and padded."""

from math import exp, log, sqrt
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from training import Memory, fits_of

from whyconv.errors import UserError
from whyconv.learners import Job
from whyconv.learners.embedded import EmbeddedCNN
from whyconv.learners.projected import Descending, Projected, programs
from whyconv.learners.two_step import TwoStep
from whyconv.networks.threshold import ThresholdCNN, ThresholdFCN, ThresholdLCN
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks import Sample
from whyconv.trial import Trial

K, D = SHAPE = (4, 3)
CNN, LCN, FCN = (kind(bias=0.2) for kind in (ThresholdCNN, ThresholdLCN, ThresholdFCN))
GRID = Projected(rates=(0.3, 0.1), bias_rates=(0.2, 0.05), steps=24)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def signal_job(network, m=20, capacity=32, padding=7.0):
    """A signal among noise; rows beyond m hold nonsense."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 1024)
    x = 0.3 * rng.normal(size=(1024, *SHAPE))
    x[np.arange(1024), rng.integers(0, K, 1024)] += y[:, None] * np.array([-0.6, 0.8, 0.0])
    x[m:], y[m:] = padding, padding
    sample = Sample(jnp.asarray(x[:capacity]), jnp.asarray(y[:capacity]))
    return Job(network, sample, m, stream("init", 0), stream("batches", 0))


def run(learner, job, paces=()):
    """To the end, in segments of these many steps as long as there are any."""
    state, paces = learner.start(job), iter(paces)
    while learner.progress(state) < 1:
        state = learner.advance(job, state, next(paces, 16))
    return state


def close(a, b, atol):
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def same(a, b):
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(one, other)


def test_side_by_side_is_one_by_one():
    job = signal_job(CNN)
    fits = GRID.fits(job, run(GRID, job))
    assert [(fit.facts["rate"], fit.facts["bias_rate"]) for fit in fits] == GRID.grid
    assert GRID.grid == [(0.3, 0.2), (0.3, 0.05), (0.1, 0.2), (0.1, 0.05)]
    for (rate, bias_rate), fit in zip(GRID.grid, fits, strict=True):
        alone = Projected(rates=(rate,), bias_rates=(bias_rate,), steps=24)
        (one,) = alone.fits(job, run(alone, job))
        close(fit.params, one.params, 1e-13)
        assert one.facts["train_loss"] == pytest.approx(fit.facts["train_loss"], rel=1e-12)
    moved = [np.asarray(fit.params["w"]) for fit in fits]
    assert np.abs(moved[0] - moved[2]).max() > 0.01 and np.abs(moved[0] - moved[1]).max() > 1e-4


def test_cuts_do_not_matter():
    job = signal_job(CNN)
    whole = run(GRID, job, [24])
    for paces in ([1] * 24, [5, 1, 17], [23, 9]):
        cut = run(GRID, job, paces)
        same(whole, cut)


def test_a_trial_goes_on_from_its_checkpoint_to_the_same_bits():
    job, trial = signal_job(CNN), SimpleNamespace(learner=GRID)
    stopped, beats = Memory(die_at=1), []
    with pytest.raises(KeyboardInterrupt):
        fits_of(trial, job, stopped)
    rest = fits_of(trial, job, Memory(state=stopped.state), beats.append)
    whole = fits_of(trial, job)
    assert beats[0] == 16 / 24
    for one, other in zip(whole, rest, strict=True):
        same(one.params, other.params)
        assert one.facts == other.facts


def test_only_the_first_m_examples_count_however_they_are_laid_out():
    padded = run(GRID, signal_job(CNN))
    close(padded.params, run(GRID, signal_job(CNN, padding=-1e3)).params, 0)
    close(padded.params, run(GRID, signal_job(CNN, capacity=20)).params, 1e-13)
    more = run(GRID, signal_job(CNN, m=21))
    assert np.abs(np.asarray(more.params["w"] - padded.params["w"])).max() > 1e-4


LOSSES = {
    "squared": lambda f, y: (y - f) ** 2,
    "correlation": lambda f, y: -y * f,
}


@pytest.mark.parametrize("optimiser, loss", [("adam", "squared"), ("gd", "correlation")])
def test_every_step_is_that_of_a_plain_loop(optimiser, loss):
    """On two pieces of examples, one of them not full; optax.adam once for each of the two rates."""
    job = signal_job(CNN, m=200, capacity=1024)
    learner = Projected(rates=(0.2,), bias_rates=(0.07,), steps=6, optimiser=optimiser, loss=loss)
    x, y = job.sample.x[:200], job.sample.y[:200]
    ways = [(optax.adam if optimiser == "adam" else optax.sgd)(rate) for rate in (0.2, 0.07)]

    @jax.jit
    def step(params, inners):
        def mean(params):
            z = x @ params["w"][0, 0]
            f = (jax.nn.relu(z - params["b"]) - jax.nn.relu(-z - params["b"])).sum(axis=1)
            return LOSSES[loss](f, y).mean()

        value, grad = jax.value_and_grad(mean)(params)
        (by_rate, one), (by_bias_rate, two) = (
            way.update(grad, inner) for way, inner in zip(ways, inners, strict=True)
        )
        w = params["w"] + by_rate["w"]
        b = jnp.maximum(params["b"] + by_bias_rate["b"], 0)
        return value, {"w": w / jnp.maximum(jnp.linalg.norm(w), 1), "b": b}, (one, two)

    state = learner.start(job)
    params = {name: part[0] for name, part in state.params.items()}
    inners = tuple(way.init(params) for way in ways)
    start = params
    for number in range(6):
        value, params, inners = step(params, inners)
        state = learner.advance(job, state, 1)
        assert int(state.step) == number + 1 and learner.progress(state) == (number + 1) / 6
        assert float(state.loss[0]) == pytest.approx(float(value), rel=1e-12)
        close({name: part[0] for name, part in state.params.items()}, params, 1e-12)
    assert float(jnp.abs(params["w"] - start["w"]).max()) > 0.01 and params["b"] != start["b"]


def test_losses_by_hand():
    f, y = np.array([0.5, -2.0, 0.0]), np.array([1.0, 1.0, -1.0])
    for loss, told in {
        "squared": [0.25, 9.0, 1.0],
        "logistic": [log(1 + exp(-0.5)), log(1 + exp(2.0)), log(2.0)],
        "correlation": [-0.5, 2.0, 0.0],
    }.items():
        found = Descending(CNN, Projected(loss=loss)).pointloss(f, y)
        assert np.asarray(found) == pytest.approx(told, rel=1e-12, abs=0)


def test_only_the_threshold_moves_by_the_bias_rate():
    learner = Projected(rates=(0.1, 0.0), bias_rates=(0.05, 0.0), steps=5)
    job = signal_job(ThresholdLCN(second_layer=2))
    shapes = {"w": (K, 1, D), "b": (), "u": (2, K), "a": (2,), "c": (2,), "a0": ()}
    rng = np.random.default_rng(0)
    params = {name: jnp.asarray(0.1 + 0.3 * np.abs(rng.normal(size=size))) for name, size in shapes.items()}
    start = learner.begin(job, params | {"b": jnp.asarray(0.02)})
    end = learner.advance(job, start, 16)
    assert learner.progress(end) == 1
    moved = {
        name: [not np.array_equal(part[i], start.params[name][i]) for i in range(4)]
        for name, part in end.params.items()
    }
    assert moved.pop("b") == [True, False, True, False]
    assert moved == {name: [True, True, False, False] for name in ("w", "u", "a", "c", "a0")}


def test_the_least_training_loss_counts_if_nobody_looks_at_the_task():
    job = signal_job(CNN)
    state = run(GRID, job)
    losses = [fit.facts["train_loss"] for fit in GRID.fits(job, state)]
    assert losses == np.asarray(state.loss).tolist() and len(set(losses)) == 4
    assert GRID.finish(job, state).facts["train_loss"] == min(losses)
    odd = state._replace(loss=jnp.asarray([jnp.nan, 0.5, 0.4, -jnp.inf]))
    assert (GRID.finish(job, odd).facts["rate"], GRID.finish(job, odd).facts["bias_rate"]) == (0.1, 0.2)
    assert "train_loss" not in GRID.fits(job, odd)[0].facts


def test_what_a_fit_says():
    job = signal_job(CNN)
    state = run(GRID, job)
    fit = GRID.fits(job, state)[1]
    assert fit.facts == {
        "rate": 0.3, "bias_rate": 0.05, "steps": 24, "parameters": D + 1,
        "train_flops": 3 * 2 * K * D * 20 * 24, "bias": float(state.params["b"][1]),
        "train_loss": float(state.loss[1]),
    }  # fmt: skip
    x = job.sample.x
    np.testing.assert_allclose(fit.scores(x), CNN.apply(fit.params, CNN.prepare(x)), atol=1e-13)


def test_the_forecast():
    step = 3 * 2 * K * D * 24 * 4
    assert [GRID.cost(CNN, SHAPE, m).flops for m in (1, 32, 33, 128, 129)] == [
        step * rows for rows in (32, 32, 128, 128, 256)
    ]
    assert EmbeddedCNN(steps=7).cost(FCN, SHAPE, 32) != Projected(steps=7).cost(FCN, SHAPE, 32)
    assert EmbeddedCNN(steps=7).cost(FCN, SHAPE, 32).flops == Projected(steps=7).cost(CNN, SHAPE, 32).flops


def test_rates_and_steps_share_their_programs_and_nothing_else_does():
    def trial(**learner):
        fields = {"rates": [0.3, 0.1], "bias_rates": [0.2, 0.05], **learner}
        return Trial(task="signal", network="lsa-cnn", learner={"name": "projected", **fields}, m=9, seed=0)

    first = trial()
    for other in ({"steps": 9}, {"rates": [5, 4]}, {"rates": [4, 3, 2, 1], "bias_rates": [0.1]}):
        assert trial(**other).program == first.program and trial(**other).key != first.key
        learner = trial(**other).learner
        assert programs(CNN, learner.compiled()) is programs(CNN, first.learner.compiled())
    for other in ({"rates": [1]}, {"optimiser": "adam"}, {"loss": "logistic"}):
        assert trial(**other).program != first.program


@pytest.mark.parametrize("field", ["rates", "bias_rates"])
@pytest.mark.parametrize("rates", [[], [0.1, 0.1], [-0.1], [0.1, 2e6]], ids=str)
def test_a_grid_must_be_one(field, rates):
    with pytest.raises(UserError, match="give one or more different step sizes from 0 to 1e6") as told:
        build("learner", {"name": "projected", field: rates})
    assert f"{field} = " in str(told.value) and str(told.value).count("\n") == 0


def normalised(w):
    return w / np.linalg.norm(w, axis=-1, keepdims=True)


@pytest.mark.parametrize("fresh", [True, False])
def test_two_steps_on_halves_that_share_no_example(fresh):
    """m = 21: the first ten, then the last ten. No network sees what lies beyond m."""
    fields = {"bias_1": 0.5, "rate_1": 2.0, "rate_2": 30.0, "bias_2": 0.125, "normalise": "sphere"}
    learner = TwoStep(fresh=fresh, **fields)
    job = signal_job(LCN, m=21)
    x, y = (np.asarray(part[:21]) for part in job.sample)
    parts = (slice(0, 10), slice(11, 21)) if fresh else (slice(0, 21), slice(0, 21))
    start = learner.start(job)
    first = normalised(np.asarray(start.params["w"])[:, 0] + 2 * (y[:, None, None] * x)[parts[0]].mean(0))
    heard = np.abs((x * first).sum(axis=2)) > 0.5
    second = normalised(first + 30 * (y[:, None, None] * x * heard[..., None])[parts[1]].mean(0))
    state = run(learner, job)
    np.testing.assert_allclose(state.first["w"][:, 0], first, atol=1e-13)
    np.testing.assert_allclose(state.params["w"][:, 0], second, atol=1e-13)
    assert (float(state.first["b"]), float(state.params["b"])) == (0.5, 0.125)
    fit = learner.finish(job, state)
    same(fit.stages["step_one"], state.first)
    count = 10 if fresh else 21
    assert fit.facts == {
        "steps": 2, "bias_1": 0.5, "bias": 0.125, "parameters": K * D + 1,
        "train_flops": 3 * 2 * K * D * count * 2,
    }  # fmt: skip


def test_two_steps_start_small_with_the_thresholds_and_rates_of_the_paper():
    learner, job = TwoStep(), signal_job(LCN)
    start = np.asarray(learner.start(job).params["w"])
    drawn = np.asarray(jax.random.normal(job.init, (K, 1, D), dtype=float))
    np.testing.assert_allclose(start * 10 * K * D, drawn, atol=1e-14)
    assert learner.first_bias((4, 3)) == pytest.approx(sqrt(7 * log(12) / 12) / 32, rel=1e-14)
    assert learner.first_bias((50, 8)) == pytest.approx(sqrt(58 * log(400) / 400) / 32, rel=1e-14)
    assert TwoStep(bias_1=0).first_bias((4, 3)) == 0
    default, explicit = run(learner, job), run(TwoStep(rate_2=4000.0), job)
    same(default, explicit)
    assert np.abs(np.asarray(run(TwoStep(rate_2=1.0), job).params["w"] - default.params["w"])).max() > 1e-3


def test_by_default_two_halves_and_the_ball():
    assert (TwoStep().fresh, TwoStep().normalise, TwoStep().steps, TwoStep.version) == (True, "ball", 2, 3)


def test_more_steps_repeat_the_second_and_one_omits_it():
    job = signal_job(LCN, m=21)
    fields = {"bias_1": 0.1, "rate_2": 3.0, "bias_2": 0.125}
    one, two, three = (run(TwoStep(steps=steps, **fields), job) for steps in (1, 2, 3))
    np.testing.assert_array_equal(one.params["w"], two.first["w"])
    assert [float(state.params["b"]) for state in (one, two, three)] == [0.125] * 3
    assert [float(state.first["b"]) for state in (one, two, three)] == [0.125, 0.1, 0.1]
    x, y = (np.asarray(part[11:21]) for part in job.sample)
    before = np.asarray(two.params["w"])[:, 0]
    heard = np.abs((x * before).sum(axis=2)) > 0.1
    after = before + 3 * (y[:, None, None] * x * heard[..., None]).mean(0)
    after /= np.maximum(1, np.linalg.norm(after, axis=-1, keepdims=True))
    np.testing.assert_allclose(three.params["w"][:, 0], after, atol=1e-13)
    assert TwoStep(steps=3, **fields).finish(job, three).facts["steps"] == 3


def test_filters_end_on_the_sphere_or_in_the_ball():
    fields = {"rate_1": 0.5, "rate_2": 1e-3}
    job = signal_job(LCN)
    sphere, ball = (run(TwoStep(normalise=kind, **fields), job) for kind in ("sphere", "ball"))
    lengths = [np.linalg.norm(np.asarray(state.params["w"]), axis=-1) for state in (sphere, ball)]
    np.testing.assert_allclose(lengths[0], 1, atol=1e-14)
    assert (lengths[1] < 0.9).all()
    np.testing.assert_allclose(normalised(np.asarray(ball.first["w"])), sphere.first["w"], atol=1e-14)
    far = np.asarray(run(TwoStep(normalise="ball", rate_1=1e6), job).first["w"])
    np.testing.assert_allclose(np.linalg.norm(far, axis=-1), 1, atol=1e-12)
    still = Job(job.network, Sample(0 * job.sample.x, job.sample.y), 20, job.init, job.batches)
    assert np.isfinite(np.asarray(run(TwoStep(), still).params["w"])).all()


@pytest.mark.parametrize(
    "fields, sentence",
    [
        ({"network": {"name": "lsa-cnn", "activation": "relu"}}, "two-step trains the lsa networks"),
        ({"network": {"name": "lsa-lcn", "second_layer": 3}}, "without second layer"),
        ({"network": "mlp"}, "two-step trains the lsa networks"),
        ({"network": None}, "two-step needs a network, but none was given"),
        ({"learner": {"name": "two-step", "fresh": True}, "m": 1}, "m = 1 was given.*take 2 or more"),
        ({"learner": "cnn-in-fcn"}, "in the network lsa-fcn.*lsa-cnn was given"),
        (
            {"learner": "cnn-in-fcn", "network": {"name": "lsa-fcn", "second_layer": 2}},
            "and no second layer, but lsa-fcn was given with other settings",
        ),
        ({"learner": "cnn-in-fcn", "network": None}, "cnn-in-fcn needs a network, but none was given"),
    ],
)
def test_what_cannot_be_trained_is_refused(fields, sentence):
    good = {"task": "signal", "network": "lsa-cnn", "learner": "two-step", "m": 9, "seed": 0}
    Trial(**good)
    with pytest.raises(ValueError, match=sentence):
        Trial(**(good | fields))


def test_the_embedded_network_is_the_trained_one():
    learner = EmbeddedCNN(**{name: getattr(GRID, name) for name in ("rates", "bias_rates", "steps")})
    other = {"bias": 0.1, "init_scale": 0.5, "constrained": False}
    assert learner.trains(ThresholdFCN(**other)) == ThresholdCNN(**other)
    job, plain = signal_job(FCN), signal_job(CNN)
    state = run(learner, job)
    fits, shared = learner.fits(job, state), GRID.fits(plain, run(GRID, plain))
    x = job.sample.x
    for fit, one in zip(fits, shared, strict=True):
        assert fit.params["w"].shape == (1, K, K * D)
        for patch in range(K):
            part = np.asarray(fit.params["w"][0, patch]).reshape(SHAPE).copy()
            np.testing.assert_array_equal(part[patch], one.params["w"][0, 0])
            part[patch] = 0
            assert not part.any()
        by_fcn, by_cnn = FCN.apply(fit.params, FCN.prepare(x)), CNN.apply(one.params, CNN.prepare(x))
        np.testing.assert_allclose(by_fcn, by_cnn, rtol=0, atol=1e-12)
        np.testing.assert_allclose(fit.scores(x), by_cnn, rtol=0, atol=1e-12)
        assert fit.facts == one.facts | {"parameters": K * K * D + 1}
    best = learner.finish(job, state)
    assert best.facts["train_loss"] == min(fit.facts["train_loss"] for fit in fits)
