"""The compressed descent: it follows the gradient and walks as the plain network does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.papers.malach.exact import k_patterns, window_descent
from whyconv.papers.malach.exact.oracle_windows import PlainNetwork
from whyconv.papers.malach.exact.routes import walk
from whyconv.papers.malach.exact.runs import COUNTEREXAMPLE, batch
from whyconv.papers.malach.exact.window_descent import Ramp


def _examples(n, kind, k, position, law="biased"):
    labels = k_patterns.labels(n, k_patterns.target(kind, k, 1), position)
    return list(zip(k_patterns.cube(n), labels, k_patterns.distribution(law, n), strict=True))


@pytest.mark.parametrize("banks", [1, 3])
def test_the_plain_gradient_is_the_slope_of_the_loss(banks):
    """Finite differences at drawn parameters, away from kinks by far more than the nudge."""
    rng = np.random.default_rng(1)
    network = PlainNetwork(rng.standard_normal((banks, 5, 2)), rng.standard_normal((3, 5)), 0.1)
    examples = _examples(4, "random", 2, 2)
    gradients = network.gradient(examples)
    for values, gradient in zip((network.readout, network.filters), gradients, strict=True):
        for spot in np.ndindex(values.shape):
            there = values[spot]
            values[spot] = there + 1e-6
            high = network.loss(examples)
            values[spot] = there - 1e-6
            low = network.loss(examples)
            values[spot] = there
            assert (high - low) / 2e-6 == pytest.approx(gradient[spot], abs=1e-8)


def test_kinks_have_slope_zero():
    np.testing.assert_array_equal(Ramp(1.0).slope(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])), [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(Ramp(2.0, 1.5)(np.array([-2.0, -1.5, 0.0, 0.5, 3.0])), [0, 0, 1.5, 2, 2])
    # one filter 1 with b = 0 reads the bit 1 and gives h = u = 1, margin exactly 1: no pull
    at_kink = PlainNetwork(np.array([[[0.5]]]), np.array([[2.0]]), 0.0)
    by_readout, by_filter = at_kink.gradient([(np.ones(1), 1.0, 1.0)])
    assert at_kink.value(np.ones(1)) == 1.0 and by_readout == 0 and by_filter == 0
    counts = np.array([[[0, 4]]])  # k = 1: four copies of +1, h = 4 u on the input +1
    path = window_descent.descend(np.array([[-1.0, 1.0]]), np.array([[0.0, 1.0]]), counts, 1 / 4, 3)
    np.testing.assert_array_equal(path.loss[:, 0], [1, 0, 0, 0])
    np.testing.assert_array_equal(path.gradients[:, 0], [2, 0, 0])


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.sampled_from([(3, 1), (4, 2), (4, 3), (5, 3), (3, 3)]),
    kind=st.sampled_from(["parity", "and", "majority", "dictator", "random"]),
    law=st.sampled_from(["uniform", "biased", "markov", "point"]),
    shared=st.booleans(),
    sigma=st.sampled_from([Ramp(), COUNTEREXAMPLE, Ramp(0.6, 0.2)]),
    width=st.integers(1, 30),
    reach=st.sampled_from([0.37, 4.1]),
    seed=st.integers(0, 999),
    data=st.data(),
)
def test_compressed_and_plain_walk_the_same_way(sizes, kind, law, shared, sigma, width, reach, seed, data):
    n, k = sizes
    position = data.draw(st.integers(1, n - k + 1))
    start = data.draw(st.sampled_from([0.0, 0.21]))
    both = walk(
        kind, position, law, n_bits=n, k_window=k, width=width, steps=12, reach=reach, shared=shared,
        activation=sigma, start=start, seed=seed,
    )  # fmt: skip
    assert both.counts.sum(axis=1).tolist() == [width] * len(both.counts)
    scale = max(1.0, float(np.abs(both.plain.loss).max()), float(np.abs(both.plain.probe_loss).max()))
    assert both.gap < 1e-11 * scale


@pytest.mark.parametrize("shared", [True, False])
def test_a_long_walk_through_many_kinks_ends_at_the_same_parameters(shared):
    both = walk("random", 3, "biased", n_bits=5, k_window=3, width=60, steps=250, reach=40.3, shared=shared)
    assert both.path.drift.max() > 0.5 and both.plain.loss[-1] < 0.2
    assert (np.diff(both.plain.gradients) != 0).sum() > 50
    assert both.gap < 1e-12


def test_the_windows_of_the_paper_leave_out_the_last():
    both = walk("parity", 3, windows=2)
    assert both.gap < 1e-15 and both.path.readout_norms.shape[2] == 2
    np.testing.assert_allclose(both.plain.loss, 1.0)
    assert walk("parity", 2, windows=2).plain.loss[-1] < 0.01


@pytest.mark.parametrize("shared", [True, False])
def test_runs_side_by_side_do_not_meet(shared):
    runs = batch(4, 2, 1000, ("parity", "and"), (1, 3), ("uniform", "biased"), shared=shared, seed=3)
    together = runs.descend(0.01, 40, probes=runs.star[:, None])
    for r in range(len(runs.labels)):
        rows = slice(r, r + 1)
        alone = window_descent.descend(
            runs.labels[rows],
            runs.weights[rows],
            runs.counts[rows],
            0.01,
            40,
            probes=runs.star[rows][:, None],
        )
        np.testing.assert_allclose(alone.loss[:, 0], together.loss[:, r], rtol=0, atol=1e-14)
        np.testing.assert_allclose(alone.drift[:, 0], together.drift[:, r], rtol=0, atol=1e-14)
        np.testing.assert_allclose(alone.readout[0], together.readout[r], rtol=0, atol=1e-14)
        np.testing.assert_allclose(alone.probe_loss[:, 0], together.probe_loss[:, r], rtol=0, atol=1e-13)


def test_q_costs_nothing_and_the_known_average_comes_out():
    """n = 4, k = 2, q = 40,000, T = 10,000, parity: average loss 0.0801."""
    runs = batch(4, 2, 40_000, ("parity",), (1, 3))
    path = runs.descend(1e-6, 10_000)
    assert path.loss[:-1].mean(axis=0) == pytest.approx([0.0801, 0.0801], abs=2e-4)
    assert path.steps == 10_000 and path.error[-1].max() == 0 and path.error[0].min() == 1
    wide = batch(4, 2, 10**15, ("parity",), (1,))
    assert wide.width == 10**15 and wide.descend(1e-15, 2).loss[1, 0] < 0.99


def test_stopping_early_keeps_the_walk():
    runs = batch(4, 2, 400, ("and", "parity"), (2,))
    full, cut = runs.descend(0.01, 300), runs.descend(0.01, 300, stop_at=0.3)
    assert 0 < cut.steps < 300 and cut.loss[-1].max() <= 0.3 < cut.loss[-2].max()
    np.testing.assert_array_equal(cut.loss, full.loss[: cut.steps + 1])
    assert len(cut.gradients) == cut.steps


@pytest.mark.parametrize("shared", [True, False])
def test_outputs_judge_the_trained_network_on_all_inputs(shared):
    runs = batch(5, 2, 300, ("and", "parity"), (1, 4), ("uniform",), shared=shared, seed=2)
    path = runs.descend(0.02, 60)
    values = window_descent.outputs(path.readout, path.filters, runs.counts, 5)
    loss = (runs.weights * np.maximum(1 - runs.labels * values, 0)).sum(axis=1)
    np.testing.assert_allclose(loss, path.loss[-1], atol=1e-13)
    np.testing.assert_allclose((runs.weights * (runs.labels * values <= 0)).sum(axis=1), path.error[-1])


def test_the_separator_is_exact_at_the_start_and_has_its_norm():
    for shared in (True, False):
        runs = batch(5, 3, 500, ("random", "majority"), (1, 3), ("biased",), shared=shared, seed=4)
        path = runs.descend(0.1, 0, probes=np.stack([runs.star, -runs.star], axis=1))
        np.testing.assert_allclose(path.probe_loss[0], [[0, 2]] * 4, atol=1e-13)
        norms = runs.norms(runs.star)
        assert (np.sort(norms, axis=1)[:, :-1] == 0).all()
        mine = np.array([0, 2, 0, 2]) if not shared else np.zeros(4, int)
        expected = 3 * np.sqrt((1 / runs.counts[np.arange(4), mine]).sum(axis=1))
        np.testing.assert_allclose(norms.max(axis=1), expected, rtol=1e-13)
        np.testing.assert_allclose(runs.norms(runs.star[:, None])[:, 0], norms)


def test_counts_are_multinomial():
    counts = window_descent.draw_counts(np.random.default_rng(0), 800, 3, runs=500, banks=2)
    assert counts.shape == (500, 2, 8) and (counts.sum(axis=2) == 800).all()
    np.testing.assert_allclose(counts.mean(axis=(0, 1)), 100, atol=4 * np.sqrt(100 * 7 / 8 / 1000))
    assert counts.var() == pytest.approx(800 / 8 * 7 / 8, rel=0.1)
