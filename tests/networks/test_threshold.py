"""Sums of soft thresholds over patches: against plain loops, each other, and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from whyconv.networks.embedding import threshold_fcn
from whyconv.networks.threshold import (
    ThresholdCNN,
    ThresholdFCN,
    ThresholdLCN,
    ThresholdPartlyShared,
    soft_threshold,
)
from whyconv.streams import stream
from whyconv.trial import Trial

K, D = SHAPE = (5, 3)
KINDS = {
    "cnn": ThresholdCNN(),
    "lcn": ThresholdLCN(),
    "groups of 2": ThresholdPartlyShared(group=2),
    "fcn": ThresholdFCN(),
}
GROUP = {"cnn": lambda i: 0, "lcn": lambda i: i, "groups of 2": lambda i: i // 2}
VARIANTS = {
    f"{kind}, {activation}, {width} on top": network.model_copy(
        update={"activation": activation, "second_layer": width}
    )
    for kind, network in KINDS.items()
    for activation in ("lsa", "relu")
    for width in (0, 4)
}
X = np.random.default_rng(1).normal(size=(6, *SHAPE))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def random_params(network, shape=SHAPE, seed=0):
    """Random numbers in the shapes of the network's parameters, b = 0.4."""
    rng = np.random.default_rng(seed)
    start = jax.eval_shape(lambda: network.init(stream("init", 0), shape))
    drawn = {name: rng.normal(size=part.shape) for name, part in start.items()}
    return drawn | {"b": np.float64(0.4)}


def by_hand(name, network, params, x):
    """f(x) from the definitions, one patch after the other."""
    kind = name.partition(",")[0]
    w, b, nodes = params["w"], float(params["b"]), []
    for i in range(K):
        seen = x.ravel() if kind == "fcn" else x[i]
        own = w[0] if kind == "fcn" else w[GROUP[kind](i)]
        first = i if kind == "fcn" else 0
        if network.activation == "lsa":
            z = sum(a * c for a, c in zip(own[first], seen, strict=True))
            nodes.append(max(z - b, 0) - max(-z - b, 0))
        else:
            z, v = (sum(a * c for a, c in zip(own[2 * first + h], seen, strict=True)) for h in (0, 1))
            nodes.append(max(z - b, 0) - max(v - b, 0))
    if not network.second_layer:
        return sum(nodes)
    features = nodes
    if kind in ("cnn", "groups of 2"):
        features = [0.0] * (GROUP[kind](K - 1) + 1)
        for i, node in enumerate(nodes):
            features[GROUP[kind](i)] += node
    total = float(params["a0"])
    for j in range(network.second_layer):
        total += params["a"][j] * max(params["u"][j] @ np.array(features) + params["c"][j], 0)
    return total


@pytest.fixture(scope="module")
def scores():
    """The scores of every variant from one program."""
    with jax.enable_x64(True):
        params = {name: random_params(network) for name, network in VARIANTS.items()}
        program = jax.jit(
            lambda params, x: {n: net.apply(params[n], net.prepare(x)) for n, net in VARIANTS.items()}
        )
        return {name: np.asarray(found) for name, found in program(params, X).items()}


@pytest.mark.parametrize("name", VARIANTS)
def test_scores_follow_the_definition(name, scores):
    network = VARIANTS[name]
    params = random_params(network)
    told = np.array([by_hand(name, network, params, x) for x in X])
    assert scores[name].dtype == np.float64 and np.ptp(told) > 0.1
    np.testing.assert_allclose(scores[name], told, rtol=0, atol=1e-12)


SECOND = {"cnn": 1, "groups of 2": 3, "lcn": 5, "fcn": 5}
FIRST = {"cnn": 3, "groups of 2": 9, "lcn": 15, "fcn": 75}


@pytest.mark.parametrize("name", VARIANTS)
def test_parameters_and_operations_in_closed_form(name):
    network = VARIANTS[name]
    kind, twice = name.partition(",")[0], 1 + (network.activation == "relu")
    start = jax.eval_shape(lambda: network.init(stream("init", 0), SHAPE))
    count = network.parameter_count(SHAPE)
    assert count == sum(part.size for part in start.values())
    assert network.features(SHAPE) == SECOND[kind]
    top = 4 * SECOND[kind] + 4 + 4 + 1 if network.second_layer else 0
    assert count == FIRST[kind] * twice + 1 + top
    products = (K * K * D if kind == "fcn" else K * D) * twice
    assert network.flops(SHAPE) == 2 * products + (2 * 4 * (SECOND[kind] + 1) if network.second_layer else 0)


def test_inputs_are_laid_out_by_patch_with_examples_last():
    local, whole = (np.asarray(KINDS[kind].prepare(jnp.asarray(X))) for kind in ("lcn", "fcn"))
    assert local.shape == (K, D, 6) and whole.shape == (1, K * D, 6)
    for example, patch, entry in ((0, 4, 2), (5, 1, 0), (3, 2, 1)):
        assert local[patch, entry, example] == X[example, patch, entry]
        assert whole[0, patch * D + entry, example] == X[example, patch, entry]
    assert KINDS["lcn"].example_axis == KINDS["fcn"].example_axis == 2


def test_the_soft_threshold_and_its_derivative():
    phi = soft_threshold()
    z = np.array([-3.0, -0.7, -0.5, -0.3, 0.0, 0.2, 0.5, 0.6, 2.0])
    derivative = jax.jit(jax.vmap(jax.grad(phi, (0, 1)), (0, None)))
    value, slopes = phi(z, 0.5), derivative(z, 0.5)
    assert np.asarray(value) == pytest.approx([-2.5, -0.2, 0, 0, 0, 0, 0, 0.1, 1.5])
    assert slopes[0].tolist() == [1, 1, 0, 0, 0, 0, 0, 1, 1]
    assert slopes[1].tolist() == [1, 1, 0, 0, 0, 0, 0, -1, -1]
    smooth, eps = np.abs(np.abs(z) - 0.5) > 1e-3, 1e-6
    by_z = (phi(z + eps, 0.5) - phi(z - eps, 0.5)) / (2 * eps)
    by_b = (phi(z, 0.5 + eps) - phi(z, 0.5 - eps)) / (2 * eps)
    np.testing.assert_allclose(slopes[0][smooth], by_z[smooth], atol=1e-9)
    np.testing.assert_allclose(slopes[1][smooth], by_b[smooth], atol=1e-9)
    assert phi(z, 0.0).tolist() == z.tolist()
    at_zero = derivative(z, 0.0)
    assert at_zero[0].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1]
    assert at_zero[1].tolist() == [1, 1, 1, 1, 0, -1, -1, -1, -1]


@pytest.mark.parametrize("constrained", [True, False])
def test_the_constraint_is_the_unit_ball_and_a_threshold_of_0_or_more(constrained):
    network = ThresholdLCN(constrained=constrained, second_layer=2)
    w = np.array([[[3.0, 4.0]], [[0.6, 0.8]], [[0.3, -0.4]], [[0.0, 0.0]], [[-1.0, 1.0]]])
    given = {"w": w, "b": np.float64(-0.2), "u": 9 * np.ones((2, 5)), "a": np.full(2, 7.0)}
    found = network.constrain(given)
    half = 0.5**0.5
    ball = [[[0.6, 0.8]], [[0.6, 0.8]], [[0.3, -0.4]], [[0.0, 0.0]], [[-half, half]]]
    np.testing.assert_allclose(found["w"], ball if constrained else w, atol=1e-15)
    assert float(found["b"]) == 0 and float(network.constrain(given | {"b": np.float64(0.2)})["b"]) == 0.2
    assert found["u"] is given["u"] and found["a"] is given["a"]


@pytest.mark.parametrize("group, kind", [(1, "lcn"), (5, "cnn"), (99, "cnn")])
def test_groups_end_in_the_lcn_and_the_cnn(group, kind):
    shared, other = ThresholdPartlyShared(group=group), KINDS[kind]
    params = random_params(other)
    x = jnp.asarray(X)
    assert shared.apply(params, shared.prepare(x)).tolist() == other.apply(params, other.prepare(x)).tolist()
    assert shared.parameter_count(SHAPE) == other.parameter_count(SHAPE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_sum_of_thresholds_is_a_fully_connected_one(kind):
    network, fcn = KINDS[kind], KINDS["fcn"]
    params = {name: jnp.asarray(part) for name, part in random_params(network).items()}
    x = jnp.asarray(X)
    scores = np.asarray(network.apply(params, network.prepare(x)))
    embedded = threshold_fcn(network, params, SHAPE)
    assert {name: part.shape for name, part in embedded.items()} == {"w": (1, K, K * D), "b": ()}
    np.testing.assert_allclose(fcn.apply(embedded, fcn.prepare(x)), scores, rtol=0, atol=1e-12)
    view = network.view(params, SHAPE)
    nodes, bias = view.filters.reshape(-1, *SHAPE), view.bias
    assert nodes.shape == (K, K, D) and bias == 0.4
    z = np.einsum("nij,eij->en", nodes, X)
    by_nodes = (np.sign(z) * np.maximum(np.abs(z) - bias, 0)).sum(axis=1)
    np.testing.assert_allclose(by_nodes, scores, rtol=0, atol=1e-12)
    if kind != "fcn":
        assert not nodes[~np.eye(K, dtype=bool)].any() and nodes[np.eye(K, dtype=bool)].all()


@pytest.mark.parametrize("setting", [{"activation": "relu"}, {"second_layer": 3}])
def test_what_is_no_sum_of_thresholds_is_not_embedded(setting):
    network = ThresholdCNN(**setting)
    params = random_params(network)
    assert network.view(params, SHAPE) is None
    with pytest.raises(ValueError, match="lsa-cnn with these settings is not a sum of soft thresholds"):
        threshold_fcn(network, params, SHAPE)


def test_inputs_without_patches_are_refused():
    fields = {"learner": "projected", "m": 10, "seed": 0}
    for name in ("lsa-cnn", "lsa-lcn", "lsa-partly-shared", "lsa-fcn"):
        with pytest.raises(ValueError, match=rf"{name} reads inputs of shape .* have the shape \(16,\)"):
            Trial(task="k-pattern", network=name, **fields)
    assert Trial(task="detection", network="lsa-lcn", **fields).network.refusal((3, 4)) == ""


def test_the_start_has_its_law_and_is_projected():
    shape, key = (500, 8), stream("init", 5)
    fields = {"init_scale": 0.7, "bias": 0.25}
    networks = [ThresholdLCN(constrained=False, second_layer=1000, **fields), ThresholdLCN(**fields)]
    free, ball = jax.jit(lambda key: [network.init(key, shape) for network in networks])(key)
    free = {name: np.asarray(part) for name, part in free.items()}
    assert free["w"].var() * 8 == pytest.approx(0.49, rel=0.06)
    assert free["w"].mean() == pytest.approx(0, abs=0.02) and free["b"] == 0.25
    assert free["u"].shape == (1000, 500) and free["u"].var() == pytest.approx(1, rel=0.02)
    assert free["a"].var() * 1000 == pytest.approx(1, rel=0.2)
    assert not free["c"].any() and free["a0"] == 0
    lengths = np.linalg.norm(free["w"], axis=-1, keepdims=True)
    assert 0.02 < (lengths > 1).mean() < 0.3
    np.testing.assert_allclose(ball["w"], free["w"] / np.maximum(lengths, 1), atol=1e-15)
