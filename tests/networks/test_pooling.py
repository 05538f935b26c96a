"""ConvPool against an independent implementation, its gradient, its limits and its counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyconv.errors import UserError
from whyconv.networks.dense import MLP
from whyconv.networks.pooling import ConvPool
from whyconv.networks.repeated_pooling import RepeatedPool
from whyconv.views import RowSet

SHAPE = (4, 5)


def init(network, key, shape=SHAPE):
    """First parameters, made in one program: compiling takes most of the time of these tests."""
    return jax.tree.map(np.asarray, jax.jit(network.init, static_argnums=1)(key, shape))


def scored(network, params, x):
    """Scores, in one program."""
    return np.asarray(jax.jit(lambda params, x: network.apply(params, network.prepare(x)))(params, x))


def numpy_conv_pool(params, x, pooling="max", sharpness=4.0):
    """Eq. 1 with loops, as one would write it on paper."""
    w, a = np.asarray(params["w"]), np.asarray(params["a"])
    scores = []
    for image in np.asarray(x):
        total = 0.0
        for i in range(len(a)):
            z = [max(0.0, float(w[:, i] @ position)) for position in image]
            pooled = {
                "max": max(z),
                "average": sum(z) / len(z),
                "soft": np.log(np.mean(np.exp(sharpness * np.array(z)))) / sharpness,
            }[pooling]
            total += a[i] * pooled
        scores.append(total)
    return np.array(scores)


@given(st.integers(0, 100), st.sampled_from(["max", "average", "soft"]), st.integers(1, 6), st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_conv_pool_is_equation_one(seed, pooling, positions, channels):
    network = ConvPool(channels=channels, pooling=pooling)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6, positions, 5))
    params = {"w": rng.normal(size=(5, channels)), "a": rng.normal(size=channels)}
    with jax.enable_x64(True):
        scores = jax.jit(lambda params, x: network.apply(params, network.prepare(x)))(params, x)
        np.testing.assert_allclose(scores, numpy_conv_pool(params, x, pooling), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("pooling", ["max", "average", "soft"])
def test_gradients_against_finite_differences(key, pooling):
    network = ConvPool(channels=3, pooling=pooling)
    with jax.enable_x64(True):
        x = network.prepare(jax.random.normal(key, (6, *SHAPE), dtype=float))
        params = init(network, key)

        @jax.jit
        def loss(params):
            return jnp.sum(jnp.sin(network.apply(params, x)))

        params, grad = jax.tree.map(np.asarray, (params, jax.jit(jax.grad(loss))(params)))
        for name, value in params.items():
            for place in np.ndindex(value.shape):
                step = np.zeros_like(value)
                step[place] = 1e-6
                difference = (
                    loss({**params, name: value + step}) - loss({**params, name: value - step})
                ) / 2e-6
                assert abs(grad[name][place] - difference) < 1e-7


def test_the_hand_written_gradient_is_autodiffs_also_for_inputs(key):
    network = ConvPool(channels=7)
    with jax.enable_x64(True):
        x = jax.random.normal(key, (4, 6, 5), dtype=float)
        params = init(network, key)

        def plain(params, x):
            return jnp.sum(jnp.cos(jnp.max(jax.nn.relu(x @ params["w"]), axis=0) @ params["a"]))

        def ours(params, x):
            return jnp.sum(jnp.cos(network.apply(params, x)))

        def both(params, x):
            return [jax.tree.leaves(jax.grad(loss, (0, 1))(params, x)) for loss in (ours, plain)]

        for mine, theirs in zip(*jax.jit(both)(params, x), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)


def test_only_the_first_winner_gets_the_gradient_and_none_where_nothing_is_positive():
    network = ConvPool(channels=2)
    params = {"w": jnp.array([[1.0, -1.0]]), "a": jnp.array([1.0, 1.0])}
    x = jnp.array([[[2.0], [2.0]]])  # two equal positions; the second filter sees only negative products
    grads = jax.jit(jax.grad(lambda p, x: network.apply(p, network.prepare(x))[0], (0, 1)))
    grad, inputs = grads(params, x)
    np.testing.assert_array_equal(inputs[0, :, 0], [1.0, 0.0])
    np.testing.assert_array_equal(grad["w"], [[2.0, 0.0]])


def test_soft_pooling_runs_from_average_to_max(key):
    x = jax.random.normal(key, (8, *SHAPE))
    networks = {s: ConvPool(channels=6, pooling="soft", sharpness=s) for s in (1e-3, 1e3)}
    params = init(networks[1e3], key)
    average, largest = ConvPool(channels=6, pooling="average"), ConvPool(channels=6)
    for sharpness, limit, tolerance in ((1e-3, average, 2e-3), (1e3, largest, 5e-3)):
        found, expected = (scored(network, params, x) for network in (networks[sharpness], limit))
        np.testing.assert_allclose(found, expected, atol=tolerance)


def test_overlapping_windows_slide_over_the_flat_input(key):
    network = ConvPool(channels=3, stride=2)
    x = jax.random.normal(key, (2, 4, 5))
    windows = network.prepare(x)
    assert network.windows(SHAPE) == (8, 5) and windows.shape == (8, 2, 5)
    flat = np.asarray(x).reshape(2, -1)
    for j in range(8):
        np.testing.assert_array_equal(windows[j], flat[:, 2 * j : 2 * j + 5])
    whole = ConvPool(channels=3, stride=5)
    np.testing.assert_array_equal(whole.prepare(x), ConvPool(channels=3).prepare(x))
    with pytest.raises(UserError, match="stride <= 5"):
        ConvPool(stride=6).windows(SHAPE)


@pytest.mark.parametrize(
    "network",
    [
        ConvPool(channels=9),
        ConvPool(channels=9, stride=2),
        MLP(width=7),
        MLP(parameters=200),
        RepeatedPool(stages=(6, 4)),
    ],
    ids=lambda network: f"{network.name}-{network.canonical()}",
)
def test_parameter_counts_are_what_init_makes(network, key):
    params = jax.eval_shape(lambda key: network.init(key, SHAPE), key)
    assert network.parameter_count(SHAPE) == sum(leaf.size for leaf in jax.tree.leaves(params))


def test_flop_counts_are_those_of_the_compiled_program(key):
    shape = (8, 16)
    for network in (ConvPool(channels=64), MLP(width=32), RepeatedPool(stages=(32, 16))):
        params = jax.eval_shape(lambda key, network=network: network.init(key, shape), key)
        x = jax.eval_shape(network.prepare, jnp.zeros((1, *shape)))
        counted = jax.jit(network.apply).lower(params, x).compile().cost_analysis()["flops"]
        assert 0.8 <= network.flops(shape) / counted <= 1.1


def test_the_mlps_width_matches_the_budget_of_the_paper():
    assert MLP().hidden((10, 20)) == 52 == round(500 * 21 / (10 * 20 + 1))
    assert MLP(width=3).hidden((10, 20)) == 3
    assert MLP(parameters=1).hidden((10, 20)) == 1


def test_the_mlp_is_equation_eight(key):
    x = jax.random.normal(key, (6, *SHAPE))
    for activation, leak in (("relu", 0.0), ("leaky-relu", 0.2)):
        network = MLP(width=5, activation=activation, leak=0.2)
        params = init(network, key)
        z = np.asarray(x).reshape(6, -1) @ np.asarray(params["w"])
        expected = np.maximum(leak * z, z) @ np.asarray(params["a"])
        np.testing.assert_allclose(scored(network, params, x), expected, rtol=1e-4, atol=1e-5)


def test_the_theorems_start_is_on_the_sphere(key):
    params = init(ConvPool(channels=200, init_law="sphere", radius=0.25), key)
    np.testing.assert_allclose(np.linalg.norm(params["w"], axis=0), 0.25, rtol=1e-5)
    assert set(np.asarray(params["a"]).tolist()) == {-1.0, 1.0}
    assert abs(params["a"].mean()) < 0.25


def test_the_he_start_has_its_scales(key):
    params = init(ConvPool(channels=4000), key, (10, 20))
    assert abs(params["w"].std() / (2 / 20) ** 0.5 - 1) < 0.02
    assert abs(params["a"].std() * 4000**0.5 - 1) < 0.05


def test_one_stage_of_repeated_pooling_is_conv_pool(key):
    x = jax.random.normal(key, (6, *SHAPE))
    network = ConvPool(channels=8)
    params = init(network, key)
    expected = scored(network, params, x)
    got = scored(RepeatedPool(stages=(8,)), {"stages": [params["w"]], "a": params["a"]}, x)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_repeated_pooling_against_loops(key):
    network = RepeatedPool(stages=(6, 3), group=2)
    x = np.asarray(jax.random.normal(key, (3, 5, 4)))
    params = init(network, key, (5, 4))
    first, second = map(np.asarray, params["stages"])
    for image, score in zip(x, scored(network, params, x), strict=True):
        h = np.maximum(image @ first, 0)
        groups = np.stack([h[0:2].max(0), h[2:4].max(0), h[4:5].max(0)])
        expected = np.maximum(groups @ second, 0).max(0) @ np.asarray(params["a"])
        np.testing.assert_allclose(score, expected, rtol=1e-4, atol=1e-5)


def test_who_reads_only_sets():
    def reads_set(network):
        return isinstance(network.view({"w": None, "a": None}, SHAPE), RowSet)

    assert reads_set(ConvPool())
    assert not reads_set(ConvPool(pooling="average"))
    assert not reads_set(ConvPool(stride=1))
    assert not reads_set(MLP())
    assert reads_set(RepeatedPool(stages=(4,)))
    assert not reads_set(RepeatedPool(stages=(4, 4)))
