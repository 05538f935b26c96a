"""The signal task: what an input holds, its laws, and what is known without sampling against samples."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from whyconv.errors import UserError
from whyconv.exact.signal.moments import soft_threshold
from whyconv.execution import draw, sampler
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks.signal import Signal
from whyconv.views import Thresholds

WORLD, DRAWS = stream("world", 1), stream("train", 1)
SIZES = (5, 3, 1, 2, 4, 5)
COMMON = {"patches": 6, "patch_dim": 5, "sigma": 0.35}
CASES = {
    "plain": {},
    "fixed, uneven": {"place": 3, "uneven": 4},
    "several without noise": {"signals": 3, "noisy_signal": False, "noise_law": "uniform", "shift": 4},
    "uniform, of unequal size": {"noise_law": "uniform", "patch_dims": SIZES, "place": 2},
    "laplace, uneven": {"noise_law": "laplace", "place": 5, "uneven": 2},
    "rolled, of unequal size": {"patch_dims": SIZES, "shift": 3, "noise_law": "laplace"},
    "product": {"label": "product", "shift": 1},
    "rotated patches": {"rotated": "patches", "noise_law": "laplace", "signals": 2},
    "rotated, of unequal size": {"rotated": "patches", "patch_dims": SIZES},
    "rotated product": {"rotated": "all", "label": "product", "shift": 1},
}


def sample(task, count):
    return tuple(np.asarray(part, float) for part in draw(task, WORLD, DRAWS, count))


def holders(task, x):
    """Which patches of noiseless-signal inputs are a signal, and the sign they show: 0 where none."""
    table = task.law(WORLD).table
    signs = np.zeros(x.shape[:2], int)
    for sign, row in itertools.product((1, -1), table):
        signs[(np.abs(x - sign * row) < 1e-6).all(axis=2)] = sign
    return signs


SCENES = {"one": {}, "product": {"label": "product"}, "several, rolled": CASES["several without noise"]}


@pytest.mark.parametrize("name", SCENES)
def test_an_input_holds_what_its_label_says(name):
    task = Signal(**{**COMMON, "noisy_signal": False, **SCENES[name]})
    x, y = sample(task, 8192)
    signs = holders(task, x)
    held = signs != 0
    count = {"several, rolled": 3, "product": 2}.get(name, 1)
    assert (held.sum(axis=1) == count).all()
    if name == "product":
        assert np.array_equal(np.where(held, signs, 1).prod(axis=1), y)
        pattern = signs[held].reshape(-1, 2)
        assert stats.chisquare(np.unique(pattern, axis=0, return_counts=True)[1]).pvalue > 1e-3
    else:
        assert np.array_equal(signs, held * y[:, None])
    assert stats.binomtest(int((y == 1).sum()), len(y)).pvalue > 1e-3
    places, frequency = np.unique(held, axis=0, return_counts=True)
    assert len(places) == {1: 6, 2: 15, 3: 20}[count]
    assert stats.chisquare(frequency).pvalue > 1e-3
    if name == "several, rolled":
        signal = np.abs(np.asarray(task.signal(WORLD))[0])
        turns = np.stack(
            [np.abs(np.abs(x[held]) - np.roll(signal, by)).max(axis=1) < 1e-6 for by in range(5)]
        )
        assert (turns.sum(axis=0) == 1).all() and stats.chisquare(turns.sum(axis=1)).pvalue > 1e-3
        assert (
            stats.chi2_contingency(turns.astype(int) @ np.eye(6, dtype=int)[np.nonzero(held)[1]]).pvalue
            > 1e-3
        )


LAWS = {
    "uniform, of unequal size": stats.uniform(-(3**0.5), 2 * 3**0.5).cdf,
    "laplace, uneven": stats.laplace(0, 0.5**0.5).cdf,
    "fixed, uneven": stats.norm.cdf,
}


@pytest.mark.parametrize("name", LAWS)
def test_noise_has_its_law_and_every_patch_its_size(name):
    task = Signal(**COMMON, **CASES[name])
    x, y = sample(task, 8192)
    live = np.arange(5) < np.array(task.patch_dims or [5] * 6)[:, None]
    assert not x[:, ~live].any()
    scale = task.sigmas()
    assert np.mean(scale**2) == pytest.approx(0.35**2) and scale[-1] / scale[0] == pytest.approx(task.uneven)
    assert scale[1:] / scale[:-1] == pytest.approx(np.full(5, task.uneven ** (1 / 5)))
    x[:, task.place - 1] -= y[:, None] * np.asarray(task.signal(WORLD))[task.place - 1]
    noise = x / scale[:, None]
    for patch in range(6):
        values = noise[:, patch, live[patch]].ravel()
        assert stats.kstest(values, LAWS[name]).pvalue > 1e-3
        assert values.var() == pytest.approx(1, abs=10 / len(values) ** 0.5)
    flat = noise[:, live]
    correlation = np.corrcoef(flat.T) - np.eye(flat.shape[1])
    assert np.abs(correlation).max() < 0.06


def test_signals_are_unit_vectors_uniform_over_worlds():
    task = Signal(patches=6, patch_dim=5, patch_dims=SIZES)
    rows = np.asarray(task.signal(WORLD))
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(6), abs=1e-6)
    assert not rows[np.arange(5) >= np.array(SIZES)[:, None]].any()
    first = rows[0]
    assert rows[4, :4] == pytest.approx(first[:4] / np.linalg.norm(first[:4]), abs=1e-6)
    keys = jax.random.split(WORLD, 4000)
    many = np.asarray(jax.jit(jax.vmap(lambda key: Signal(patches=1, patch_dim=3).signal(key)[0]))(keys))
    assert stats.kstest(many[:, 0], stats.uniform(-1, 2).cdf).pvalue > 1e-3


def test_signals_roll_inside_the_coordinates_that_are_used():
    task = Signal(**COMMON, **CASES["rolled, of unequal size"])
    table, signal = task.law(WORLD).table, np.asarray(task.signal(WORLD))
    for turn, (patch, size) in itertools.product(range(4), enumerate(SIZES)):
        told = np.append(np.roll(signal[patch, :size], turn), np.zeros(5 - size))
        assert table[turn, patch] == pytest.approx(told, abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_what_is_known_without_sampling(name):
    """The risk of local nodes, the oracle's, and the posterior's calibration, on the task's own examples."""
    task = Signal(**COMMON, **CASES[name])
    x, y = sample(task, 200_000)
    rng = np.random.default_rng(0)
    turn = np.asarray(task.rotation(WORLD)) if task.rotated != "no" else None
    signal = np.asarray(task.signal(WORLD), float)
    shown = np.einsum("kij,kj->ki", turn, signal) if task.rotated == "patches" else signal
    filters = np.zeros((6, 6, 5))
    filters[np.arange(6), np.arange(6)] = 0.8 * shown + 0.15 * rng.normal(size=(6, 5))
    close(losses(x, y, filters, 0.15), facts(task, filters, 0.15)["risk"])

    known = np.zeros((6, 6, 5))
    known[np.arange(6), np.arange(6)] = shown
    if task.rotated == "all":
        whole = np.zeros((6, 6, 5))
        whole[np.arange(6), np.arange(6)] = signal
        known = (whole.reshape(6, -1) @ turn.T).reshape(6, 6, 5)
    risk, bias, scale = task.oracle(WORLD)
    close(losses(x, y, scale * known, bias), risk)
    assert risk <= task.linear_risk(WORLD) + 1e-9
    linear = np.einsum("nkd,ikd->n", x, known)
    best = (y @ linear) / (linear @ linear)
    assert np.mean((y - best * linear) ** 2) == pytest.approx(task.linear_risk(WORLD), abs=0.01)

    x, y = x[:20_000], y[:20_000]
    p = task.posterior(WORLD, x.astype(np.float32))
    assert not np.isnan(p).any()
    if not task.noisy_signal:
        assert np.array_equal(p, y)
    for low in np.linspace(-1, 0.75, 8):
        inside = (p >= low) & (p <= low + 0.25)
        if inside.sum() > 100:
            error = np.sqrt(((1 - p[inside] ** 2).sum() + 1e-3) / inside.sum() ** 2)
            assert y[inside].mean() == pytest.approx(p[inside].mean(), abs=4 * error)
    bayes = task.bayes_risk(WORLD, 4000)
    spread = ((y - p) ** 2).std() / len(y) ** 0.5
    assert np.mean((y - p) ** 2) == pytest.approx(bayes.risk.mean, abs=4 * spread + 0.03)
    assert bayes.risk.low <= min(risk, task.linear_risk(WORLD))


def losses(x, y, filters, bias):
    return (
        y - soft_threshold(x.reshape(len(x), -1) @ filters.reshape(len(filters), -1).T, bias).sum(axis=1)
    ) ** 2


def close(measured, told):
    error = measured.std() / len(measured) ** 0.5
    assert told == pytest.approx(measured.mean(), abs=4 * error)


@pytest.mark.parametrize("patches, risk", [(10, 0.0329), (20, 0.0408), (30, 0.0457)])
def test_the_oracle_at_the_papers_sizes(patches, risk):
    task = Signal(patches=patches)
    assert task.oracle()[0] == pytest.approx(risk, abs=5e-5)
    for world in (WORLD, stream("world", 2)):
        assert task.oracle(world)[0] == pytest.approx(task.oracle()[0], rel=1e-9)
    assert task.linear_risk() == pytest.approx(0.01 * patches / (1 + 0.01 * patches))


def test_without_a_world_the_oracle_is_a_typical_one():
    task = Signal(patches=10, patch_dim=1000, shift=2, noise_law="laplace", sigma=0.2)
    many = [task.oracle(stream("world", seed))[0] for seed in range(3)]
    assert task.oracle()[0] == pytest.approx(np.mean(many), rel=0.03)
    assert task.oracle()[0] > Signal(patches=10, sigma=0.2).oracle()[0] + 0.3
    assert task.linear_risk() == pytest.approx(1 - (1 / 3) ** 2 / (1 / 3 + 10 * 0.04))
    # a roll by as many coordinates as a patch has is no roll
    assert Signal(patches=2, patch_dim=2, patch_dims=(1, 1), shift=1).oracle() == pytest.approx(
        Signal(patches=2, patch_dim=2, patch_dims=(1, 1)).oracle(), abs=1e-7
    )


def facts(task, filters, bias):
    view = Thresholds(filters.reshape(1, len(filters), -1), bias)
    return task.facts(WORLD, view, exact=False, risk=True)


def test_facts_about_nodes():
    task = Signal(patches=6, patch_dim=5, sigma=0.1)
    signal = np.asarray(task.signal(WORLD), float)[0]
    nodes = np.zeros((6, 6, 5))
    nodes[np.arange(6), np.arange(6)] = 2 * signal
    told = facts(task, nodes, 0.61)
    assert told["alignment"] == pytest.approx(1) and told["denoises"] is True
    assert facts(task, nodes, 0.59)["denoises"] is False
    assert facts(task, nodes, 2.01)["denoises"] is False
    assert facts(task, nodes, 1.99)["denoises"] is True
    assert "risk" not in facts(task, nodes, -0.1)
    assert facts(task, 0 * nodes, 0.1)["alignment"] == 0
    assert set(facts(task, nodes[[1, 0, 2, 3, 4, 5]], 0.1)) == {"alignment"}
    # the alignment is that of the best node for every place, whatever else a node sees
    wide = np.zeros((2, 6, 5))
    wide[0, 0], wide[0, 1], wide[1, 2] = 3 * signal, 4 * signal, -signal
    assert facts(task, wide, 0.1) == {"alignment": pytest.approx((0.6 + 0.8) / 6)}


def test_facts_about_nodes_where_the_place_is_fixed():
    task = Signal(patches=6, patch_dim=5, sigma=0.1, place=2)
    signal = np.asarray(task.signal(WORLD), float)[0]
    nodes = np.zeros((6, 6, 5))
    nodes[1, 1] = signal
    told = facts(task, nodes, 0.4)
    assert told["alignment"] == pytest.approx(1) and told["denoises"] is True
    nodes[0, 0] = 2 * signal
    assert facts(task, nodes, 0.4)["denoises"] is False


@pytest.mark.parametrize("fields", [{"noise_law": "uniform"}, {"uneven": 2}, {"noisy_signal": False}])
def test_what_is_not_known_is_left_out(fields):
    nodes = np.zeros((6, 6, 5))
    nodes[np.arange(6), np.arange(6)] = 0.5
    told = facts(Signal(**COMMON, rotated="all", **fields), nodes, 0.1)
    assert set(told) == {"alignment", "denoises"}


@given(st.sampled_from(sorted(CASES)), st.integers(0, 5000))
@settings(max_examples=10, deadline=None)
def test_an_example_depends_on_its_number_alone(name, first):
    task = Signal(**COMMON, **CASES[name])
    x, y = sample(task, first + 20)
    draw = partial(sampler(task.shared()), task.numbers, (), (), WORLD)
    block = draw(DRAWS, first)
    assert np.array_equal(block.x[:20], x[first:]) and np.array_equal(block.y[:20], y[first:])
    assert not np.array_equal(draw(stream("test", 1), first).x, block.x)
    assert np.isfinite(x).all() and x.shape == (first + 20, 6, 5)


def test_rotated_examples_are_the_same_ones():
    for name, kept in (("rotated patches", True), ("rotated product", False)):
        fields = {**COMMON, **CASES[name]}
        task, plain = Signal(**fields), Signal(**{**fields, "rotated": "no"})
        assert plain.lineage() == task.lineage() != Signal(**{**fields, "shift": 2}).lineage()
        x, y = sample(plain, 50)
        shown, labels = sample(task, 50)
        assert np.array_equal(labels, y)
        assert np.abs(shown - x).max() > 0.1
        assert task.unrotate(WORLD, shown) == pytest.approx(x, abs=1e-5)
        change = np.linalg.norm(shown, axis=2) - np.linalg.norm(x, axis=2)
        assert (np.abs(change).max() < 1e-5) == kept
    turns = np.asarray(Signal(**COMMON, rotated="patches").rotation(WORLD))
    assert turns @ turns.transpose(0, 2, 1) == pytest.approx(np.broadcast_to(np.eye(5), (6, 5, 5)), abs=1e-5)
    assert np.abs(turns[0] - turns[1]).max() > 0.1


def test_single_and_double_precision_see_the_same_examples():
    task = Signal(**COMMON)
    single = sample(task, 50)
    with jax.enable_x64(True):
        double = tuple(np.asarray(part) for part in jax.jit(task.examples)(WORLD, DRAWS, jnp.arange(50)))
    assert double[0].dtype == np.float64
    assert double[0] == pytest.approx(single[0], abs=1e-5) and np.array_equal(double[1], single[1])


REFUSED = {
    "negative noise": ({"sigma": -0.1}, "sigma = -0.1 was given: input should be greater than 0"),
    "no noise": ({"sigma": 0}, "greater than 0"),
    "place 0": ({"place": 0}, "greater than or equal to 1"),
    "place beyond": (
        {"patches": 4, "place": 5},
        "place = 5 was given, but there are patches = 4; take 1 to 4",
    ),
    "too many signals": (
        {"patches": 4, "signals": 5},
        "signals = 5 do not fit into patches = 4; take signals <=",
    ),
    "signals in one place": ({"signals": 2, "place": 1}, "place = 1 fixes one; omit either"),
    "a product in one place": ({"label": "product", "place": 1}, "place = 1 fixes one; omit place"),
    "a product of many": ({"label": "product", "signals": 2}, "signals = 2 was given; omit signals"),
    "a product of one": ({"label": "product", "patches": 1}, "patches = 1 was given; take patches >= 2"),
    "uneven alone": ({"uneven": 2, "patches": 1}, "patches = 1 was given; take uneven = 1"),
    "uneven the other way": ({"uneven": 0.5}, "greater than or equal to 1"),
    "shift": ({"patch_dim": 3, "shift": 3}, "shift = 3 exceeds patch_dim - 1 = 2; take shift < patch_dim"),
    "negative shift": ({"shift": -1}, "greater than or equal to 0"),
    "few sizes": (
        {"patches": 3, "patch_dims": [1, 2]},
        "has 2 sizes, but there are patches = 3; give one for",
    ),
    "no size": (
        {"patches": 2, "patch_dims": [0, 2]},
        "patch_dims holds 0, but patch_dim = 20 allows 1 to 20",
    ),
    "large size": ({"patches": 2, "patch_dims": [2, 21]}, "patch_dims holds 21, but"),
    "rotated sizes": (
        {"patches": 2, "patch_dims": [2, 3], "rotated": "all"},
        "rotated = all mixes them; omit either",
    ),
    "rotated large": ({"patches": 100, "patch_dim": 100, "rotated": "all"}, "there are 10000; take fewer"),
    "law": ({"noise_law": "cauchy"}, "no noise law of that name; choose one of gaussian, laplace, uniform"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_settings_get_a_sentence(name):
    fields, sentence = REFUSED[name]
    with pytest.raises(UserError, match="task signal: ") as caught:
        build("task", {"name": "signal", **fields})
    assert sentence in str(caught.value) and str(caught.value).count(". ") == 0


def test_the_edges_of_what_is_allowed():
    Signal(patches=1, patch_dim=1)
    Signal(patches=3, signals=3, place=None)
    Signal(patches=2, label="product", patch_dim=1)
    Signal(patches=2, patch_dim=3, shift=2, patch_dims=(1, 3), place=2)
