"""Descent in NumPy: gradients against finite differences, projections, and the two steps by hand."""

import numpy as np
import pytest

from whyconv.papers.lahoti.exact import oracle_descent as plain
from whyconv.papers.lahoti.exact.oracle_descent import Network

K, D = 3, 4
SHAPES = {"cnn": (D,), "lcn": (K, D), "fcn": (K, K * D)}
LOSSES = {"squared": lambda f, y: (y - f) ** 2, "correlation": lambda f, y: -y * f}


def some(kind, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((30, K, D)), rng.choice([-1.0, 1.0], 30)
    return Network(rng.standard_normal(SHAPES[kind]) / 2, 0.3), x, y


def test_networks_by_hand():
    x = np.array([[[1.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, -3]]])
    cnn = Network(np.array([0.5, -0.5, 0, 1.0]), 0.2)
    assert plain.scores(cnn, x) == pytest.approx([0.3 - 0.8 - 2.8])
    lcn = Network(np.array([[0.1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0.5]]), 0.2)
    assert plain.scores(lcn, x) == pytest.approx([0 + 1.8 - 1.3])
    fcn = Network(np.kron(np.eye(3), np.ones(4)), 0.2)
    assert plain.scores(fcn, x) == pytest.approx([0.8 + 1.8 - 2.8])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", SHAPES)
def test_gradients_are_those_of_finite_differences(kind, loss):
    network, x, y = some(kind)
    slope = plain.gradient(network, x, y, loss)

    def mean(w, b):
        return LOSSES[loss](plain.scores(Network(w, b), x), y).mean()

    eps = 1e-6
    flat = network.w.ravel()
    for i in range(flat.size):
        move = np.zeros(flat.size)
        move[i] = eps
        move = move.reshape(network.w.shape)
        numeric = (mean(network.w + move, 0.3) - mean(network.w - move, 0.3)) / (2 * eps)
        assert slope.w.ravel()[i] == pytest.approx(numeric, abs=1e-7)
    numeric = (mean(network.w, 0.3 + eps) - mean(network.w, 0.3 - eps)) / (2 * eps)
    assert slope.b == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize("kind", SHAPES)
def test_steps_are_projected(kind):
    network, x, y = some(kind)
    slope = plain.gradient(network, x, y, "squared")
    far = plain.descend(network, x, y, 100.0, 0.0, 1)
    assert np.linalg.norm(far.w, axis=-1) == pytest.approx(1.0) and far.b == 0.3
    away = network.w - 100 * slope.w
    np.testing.assert_allclose(far.w, away / np.linalg.norm(away, axis=-1, keepdims=True))
    near = plain.descend(Network(network.w / 10, 0.3), x, y, 0.01, 0.01, 1)
    inside = plain.gradient(Network(network.w / 10, 0.3), x, y, "squared")
    np.testing.assert_allclose(near.w, network.w / 10 - 0.01 * inside.w)
    assert near.b == pytest.approx(0.3 - 0.01 * inside.b)
    sign = 1.0 if slope.b > 0 else -1.0
    assert plain.descend(network, x, sign * y, 0.0, 1e9, 1, "correlation").b >= 0


def test_b_stops_at_zero():
    x, y = np.array([[[1.0, 0], [0, 0]]]), np.array([1.0])
    network = Network(np.array([1.0, 0]), 0.5)
    assert plain.gradient(network, x, y, "correlation").b == 1
    assert plain.descend(network, x, y, 0.0, 0.2, 1, "correlation").b == pytest.approx(0.3)
    assert plain.descend(network, x, y, 0.0, 0.2, 5, "correlation").b == 0


@pytest.mark.parametrize("ball", [True, False])
@pytest.mark.parametrize("kind", ["cnn", "lcn"])
def test_two_steps_by_hand(kind, ball):
    """Ten examples for the first step, the others for the second."""
    _, x, y = some(kind)
    halves = ((x[:10], y[:10]), (x[10:], y[10:]))
    start = np.zeros(SHAPES[kind])
    first, second = plain.two_steps(start + 1e-12, halves, 0.1, (0.1, 1e6), ball=ball)
    told = y[:, None, None] * x
    axes = (0, 1) if kind == "cnn" else 0
    summed = 0.1 * told[:10].sum(axis=axes) / 10
    lengths = np.linalg.norm(summed, axis=-1, keepdims=True)
    assert (lengths < 1).all()
    np.testing.assert_allclose(first, summed if ball else summed / lengths, atol=1e-9)
    heard = told[10:] * (np.abs((x[10:] * first).sum(axis=2)) > 0.1)[..., None]
    left = heard.sum(axis=axes)
    np.testing.assert_allclose(second, left / np.linalg.norm(left, axis=-1, keepdims=True), atol=1e-4)
