"""Deep networks on images: against plain loops, JAX's own convolution, closed forms and permuted pixels."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from whyconv.errors import UserError
from whyconv.networks.deep import DeepCNN, DeepFCN, DeepLCN, DeepPartlyShared
from whyconv.pixels import pixel_order
from whyconv.spec import build
from whyconv.streams import stream

SHAPE = (7, 6, 2)
QUICKLY = {"xla_backend_optimization_level": 0}
"""Compiling takes nearly all the time of these tests."""
SETTINGS = {
    "two layers": {"channels": (3, 2)},
    "three small": {"channels": (2, 3, 2), "kernel": 2},
    "oblong": {"channels": (3, 2), "kernel": (3, 2), "stride": (2, 1)},
    "same": {"channels": (3, 2), "padding": "same"},
    "same, strided": {"channels": (3, 2, 2), "stride": 2, "padding": "same"},
    "same, even, far": {"channels": (3, 2), "kernel": (4, 2), "stride": (2, 3), "padding": "same"},
    "too large a kernel": {"channels": (3, 2), "kernel": (5, 9), "stride": (2, 1)},
    "max-pooled": {"channels": (3, 2), "kernel": 2, "pool": 2},
    "average-pooled": {"channels": (3, 2), "padding": "same", "pool": 2, "pooling": "average"},
    "pooled in threes": {"channels": (3,), "padding": "same", "pool": 3, "pooling": "average"},
    "greatest of all": {"channels": (3, 2), "readout": "max"},
    "mean of all": {"channels": (3, 2), "readout": "average", "outputs": 2},
    "no biases": {"channels": (3, 2), "biases": False, "outputs": 3},
}
KINDS = {
    "cnn": DeepCNN,
    "lcn": DeepLCN,
    "groups of 2": lambda **fields: DeepPartlyShared(group=2, **fields),
    "groups of 3": lambda **fields: DeepPartlyShared(group=3, **fields),
}
PAIRS = [
    *zip(SETTINGS, [*KINDS] * 4, strict=False),
    ("two layers", "groups of 2"),
    ("same, strided", "lcn"),
]
"""Every setting with one kind of network, and some with another: compiling all takes a minute."""


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def random_params(network, shape=SHAPE, seed=0):
    """Random numbers in the shapes of the network's parameters."""
    rng = np.random.default_rng(seed)
    start = jax.eval_shape(lambda key: network.init(key, shape), stream("init", seed))
    return jax.tree.map(lambda part: rng.normal(size=part.shape), start)


def images(count, shape=SHAPE, seed=1):
    return np.random.default_rng(seed).normal(size=(count, *shape))


def scores(network, params, x):
    run = jax.jit(lambda p, x: network.apply(p, network.prepare(x)), compiler_options=QUICKLY)
    return np.asarray(run(params, x))


def both(sizes):
    return sizes if isinstance(sizes, tuple) else (sizes, sizes)


def layer_by_hand(network, h, w, b):
    """One layer before pooling, window by window on a canvas of zeros."""
    height, width, channels = h.shape
    kernel = [min(k, n) for k, n in zip(both(network.kernel), (height, width), strict=True)]
    stride, counts, begins = both(network.stride), [], []
    for n, k, s in zip((height, width), kernel, stride, strict=True):
        if network.padding == "valid":
            counts.append(len(range(0, n - k + 1, s)))
            begins.append(0)
        else:
            counts.append(math.ceil(n / s))
            begins.append(-(max(0, (counts[-1] - 1) * s + k - n) // 2))
    canvas = np.zeros((height + 40, width + 40, channels))
    canvas[20 : 20 + height, 20 : 20 + width] = h
    size = {DeepCNN: 99, DeepLCN: 1}.get(type(network)) or network.group
    out = np.zeros((*counts, w.shape[1]))
    for r in range(counts[0]):
        for c in range(counts[1]):
            top, left = 20 + begins[0] + r * stride[0], 20 + begins[1] + c * stride[1]
            seen = canvas[top : top + kernel[0], left : left + kernel[1]]
            g = (r // size) * math.ceil(counts[1] / size) + c // size
            for o in range(w.shape[1]):
                z = (w[g, o].reshape(*kernel, channels) * seen).sum() + (b[g, o] if b is not None else 0)
                out[r, c, o] = max(z, 0)
    return out


def by_hand(network, params, image):
    """The scores of one image from the definitions."""
    h = image
    for number, w in enumerate(params["w"]):
        h = layer_by_hand(network, h, w, params["b"][number] if network.biases else None)
        rows, columns = (range(0, n, network.pool) for n in h.shape[:2])
        gather = np.max if network.pooling == "max" else np.mean
        h = np.array(
            [[gather(h[r : r + network.pool, c : c + network.pool], (0, 1)) for c in columns] for r in rows]
        )
    h = h.reshape(-1, h.shape[2])
    if network.readout != "positions":
        h = (h.max(axis=0) if network.readout == "max" else h.mean(axis=0))[None]
    bias = params["c"] if network.biases else np.zeros(network.outputs)
    return np.array([(params["u"][:, o] * h).sum() + bias[o] for o in range(network.outputs)])


@pytest.mark.parametrize("setting, kind", PAIRS)
def test_scores_follow_the_definition(setting, kind):
    network = KINDS[kind](**SETTINGS[setting])
    params = random_params(network)
    assert network.parameter_count(SHAPE) == sum(part.size for part in jax.tree.leaves(params))
    x = images(3)
    found = scores(network, params, x)
    plain = jax.tree.map(np.asarray, params)
    expected = np.array([by_hand(network, plain, image) for image in x])
    if network.outputs == 1:
        expected = expected[:, 0]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "kernel, stride, padding, size", [((3, 3), (2, 2), "same", 2), ((2, 3), (1, 2), "valid", 1)]
)
def test_values_and_gradients_are_those_of_the_library(kernel, stride, padding, size):
    shape = (9, 11, 2)
    network = DeepCNN(channels=(3, 2), kernel=kernel, stride=stride, padding=padding, outputs=2, pool=size)
    params, x = random_params(network, shape), jnp.asarray(images(4, shape))
    names = ("NHWC", "HWIO", "NHWC")

    def library(params, x):
        for w, b in zip(params["w"], params["b"], strict=True):
            sizes = [min(k, n) for k, n in zip(kernel, x.shape[1:3], strict=True)]
            filters = w[0].T.reshape(*sizes, -1, len(b[0]))
            x = jax.lax.conv_general_dilated(x, filters, stride, padding.upper(), dimension_numbers=names)
            x = jax.nn.relu(x + b[0])
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, *[(1, size, size, 1)] * 2, "SAME")
        return jnp.einsum("ihwc,hwoc->io", x, params["u"].reshape(*x.shape[1:3], 2, -1)) + params["c"]

    def ours(params, x):
        return network.apply(params, network.prepare(x))

    @partial(jax.jit, compiler_options=QUICKLY)
    def values_and_gradients(params, x):
        return [
            jax.value_and_grad(lambda p, f=f: jnp.sum(jnp.tanh(f(p, x))))(params) for f in (ours, library)
        ]

    mine, theirs = map(jax.tree.leaves, values_and_gradients(params, x))
    for part, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-10, atol=1e-12)


def test_examples_stand_on_their_axis():
    for network in (DeepLCN(channels=(3, 2), stride=2), DeepFCN(widths=(3,))):
        x = images(5)
        prepared = np.asarray(jax.jit(network.prepare)(x))
        chosen = np.asarray(jax.jit(network.prepare)(x[[3, 0]]))
        np.testing.assert_array_equal(np.take(prepared, [3, 0], axis=network.example_axis), chosen)


def test_counted_by_hand():
    """7 x 6 x 2, kernel 3, same, stride 2: 4 x 3 positions, then 2 x 2."""
    fields = {"channels": (5, 4), "stride": 2, "padding": "same", "outputs": 3}
    readout = 3 * (4 * 4 + 1)
    assert DeepCNN(**fields).parameter_count(SHAPE) == 5 * 19 + 4 * 46 + readout
    assert DeepLCN(**fields).parameter_count(SHAPE) == 12 * 5 * 19 + 4 * 4 * 46 + readout
    assert DeepPartlyShared(**fields).parameter_count(SHAPE) == 4 * 5 * 19 + 4 * 46 + readout
    operations = 2 * (12 * 18 * 5 + 4 * 45 * 4 + 16 * 3)
    assert {kind(**fields).flops(SHAPE) for kind in (DeepCNN, DeepLCN, DeepPartlyShared)} == {operations}
    pooled = DeepCNN(**fields, pool=2, readout="average")
    assert pooled.flops(SHAPE) == 2 * (12 * 18 * 5 + 1 * 20 * 4 + 4 * 3)
    assert pooled.parameter_count(SHAPE) == 5 * 19 + 4 * 21 + 3 * 5


def test_groups_lie_between_the_lcn_and_the_cnn():
    for group, end in ((1, DeepLCN), (99, DeepCNN)):
        for counts in ((4, 5), (1, 7)):
            ours, theirs = (
                network.group_of(counts).tolist() for network in (DeepPartlyShared(group=group), end())
            )
            assert ours == theirs == (list(range(math.prod(counts))) if group == 1 else [0] * len(ours))
    blocks = DeepPartlyShared(group=2).group_of((3, 5)).reshape(3, 5)
    assert blocks.tolist() == [[0, 0, 1, 1, 2], [0, 0, 1, 1, 2], [3, 3, 4, 4, 5]]


def test_the_paper_has_seventeen_windows():
    network = DeepCNN(channels=(4,), kernel=(24, 24), stride=(24, 8))
    (layer,) = network.layers((24, 152, 1))
    assert layer.windows.counts == (1, 17) and layer.inputs == 576


def test_starts_have_their_variance():
    network = DeepLCN(channels=(100, 60), padding="same", stride=2, outputs=40)
    with jax.enable_x64(False):
        params = jax.jit(network.init, static_argnums=1)(stream("init", 3), SHAPE)
    params = jax.tree.map(np.asarray, params)
    for w, inputs in zip(params["w"], (18, 900), strict=True):
        assert w.var() * inputs == pytest.approx(2, rel=0.03)
        assert w.mean() == pytest.approx(0, abs=0.01)
    assert params["u"].var() * 4 * 60 == pytest.approx(1, rel=0.03)
    assert not params["c"].any() and not any(b.any() for b in params["b"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_layer_shows_the_middle(kind):
    network = KINDS[kind](channels=(4,), kernel=(3, 2), biases=False)
    params, x = random_params(network), images(2)
    shown = network.view(params, SHAPE).filters
    assert shown.shape == (4, 3, 2, 2)
    seen = x[:, 2:5, 2:4]  # 5 x 5 windows: the middle one is at (2, 2)
    expected = np.maximum(np.einsum("crsk,irsk->ic", shown, seen), 0)
    hidden = [layer_by_hand(network, image, np.asarray(params["w"][0]), None)[2, 2] for image in x]
    np.testing.assert_allclose(hidden, expected, atol=1e-12)


def test_the_fcn_is_its_definition():
    network = DeepFCN(widths=(5, 4), outputs=3)
    params, x = random_params(network), images(6)
    plain = jax.tree.map(np.asarray, params)
    h = x.reshape(6, -1)
    for w, b in zip(plain["w"], plain["b"], strict=True):
        h = np.maximum(h @ w.T + b, 0)
    np.testing.assert_allclose(scores(network, params, x), h @ plain["u"].T + plain["c"], atol=1e-12)
    count = sum(part.size for part in jax.tree.leaves(plain))
    assert network.parameter_count(SHAPE) == count == 5 * 85 + 4 * 6 + 3 * 5
    assert network.flops(SHAPE) == 2 * (84 * 5 + 5 * 4 + 4 * 3)
    assert network.view(params, SHAPE).filters.shape == (5, *SHAPE)
    np.testing.assert_array_equal(network.view(params, SHAPE).filters[2].ravel(), plain["w"][0][2])


def test_thin_products_are_forecast_to_be_slow():
    def slowness(network):
        usual = network.flops(SHAPE) * 10
        return network.load(SHAPE, 10).flops / usual

    assert slowness(DeepCNN(channels=(64, 30))) == pytest.approx(1 / 6)
    assert slowness(DeepCNN(channels=(64, 5))) == pytest.approx(1)
    assert slowness(DeepLCN(channels=(10, 64))) == pytest.approx(1)
    assert slowness(DeepFCN(widths=(100, 60))) == pytest.approx(1 / 6)
    assert slowness(DeepFCN(parameters=90 * 10, depth=1)) == pytest.approx(1)
    assert DeepFCN(widths=(7,)).load(SHAPE, 10).numbers == DeepFCN(widths=(7,)).parameter_count(SHAPE)


def test_the_fcn_starts_with_its_variance():
    with jax.enable_x64(False):
        start = jax.jit(DeepFCN(widths=(400, 300), outputs=50).init, static_argnums=1)
        params = start(stream("init", 1), SHAPE)
    params = jax.tree.map(np.asarray, params)
    for w, inputs in zip(params["w"], (84, 400), strict=True):
        assert w.var() * inputs == pytest.approx(2, rel=0.03)
    assert params["u"].var() * 300 == pytest.approx(1, rel=0.05)
    assert not params["c"].any() and not any(b.any() for b in params["b"])


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("biases", [True, False])
def test_a_budget_gives_the_closest_width(depth, biases):
    for budget in [1, 60, 95, 96, 180, 1000, 12_345, 123_456, *range(5000, 5200, 7)]:
        network = DeepFCN(parameters=budget, depth=depth, outputs=2, biases=biases)

        def distance(width, budget=budget):
            wide = DeepFCN(widths=(width,) * depth, outputs=2, biases=biases)
            return abs(wide.parameter_count(SHAPE) - budget)

        best = min(range(1, 1500), key=distance)
        assert network.sizes(SHAPE) == (best,) * depth
        assert abs(network.parameter_count(SHAPE) - budget) == distance(best)


def permuted(x):
    """All pixels through the one permutation, channels staying together."""
    flat = x.reshape(len(x), -1, x.shape[3])
    return flat[:, pixel_order(x.shape[1:])].reshape(x.shape)


def test_coupled_twins_are_one_network_on_plain_and_permuted_pixels():
    plain, twin = DeepFCN(widths=(16,), outputs=3), DeepFCN(widths=(16,), outputs=3, coupled=True)
    assert plain.lineage() == twin.lineage() == plain.canonical() != twin.canonical()
    key = stream("init", plain.lineage(), 0)
    x, y = images(40), np.random.default_rng(2).integers(0, 3, 40)
    moved = permuted(x)
    assert not np.array_equal(moved, x)

    def training(network):
        """x, steps -> scores after so many steps of gradient descent."""

        @partial(jax.jit, compiler_options=QUICKLY)
        def run(key, x, steps):
            inputs = network.prepare(x)

            def loss(params):
                f = network.apply(params, inputs)
                return jnp.mean(jax.nn.logsumexp(f, axis=1) - f[jnp.arange(40), y])

            def step(_, params):
                return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))

            return network.apply(jax.lax.fori_loop(0, steps, step, network.init(key, SHAPE)), inputs)

        return lambda x, steps: np.asarray(run(key, x, steps))

    one, other = training(plain), training(twin)
    start, end = one(x, 0), one(x, 20)
    assert np.abs(start - other(moved, 0)).max() <= 1e-12
    assert np.abs(end - other(moved, 20)).max() <= 1e-12
    assert min(np.abs(start - end).max(), np.abs(start - one(moved, 0)).max()) > 0.1


def test_specs():
    assert DeepCNN(kernel=(3, 3), stride=[2, 2]) == DeepCNN(kernel=3, stride=2)
    assert build("network", {"name": "deep-lcn", "kernel": [5, 3]}).canonical() == {
        "name": "deep-lcn", "kernel": [5, 3],
    }  # fmt: skip
    names = ("deep-cnn", "deep-lcn", "deep-partly-shared", "deep-fcn")
    assert [build("network", {"name": name, "outputs": 7}).score_count for name in names] == [7] * 4


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"name": "deep-cnn", "channels": [3, 0]}, "at least one channel"),
        ({"name": "deep-cnn", "kernel": [3, 0]}, "give at least 1 pixel"),
        ({"name": "deep-cnn", "stride": 0}, "give at least 1 pixel"),
        ({"name": "deep-fcn", "widths": [0]}, "at least one neuron"),
        ({"name": "deep-fcn", "parameters": 1000}, "give both settings or neither"),
        ({"name": "deep-fcn", "depth": 2}, "give both settings or neither"),
        ({"name": "deep-fcn", "widths": [3, 3], "parameters": 1000, "depth": 2}, "either widths"),
    ],
)
def test_mistakes_are_told(fields, message):
    with pytest.raises(UserError, match=message):
        build("network", fields)


@pytest.mark.parametrize("network", [DeepCNN(), DeepLCN(), DeepPartlyShared(), DeepFCN()])
def test_inputs_must_be_images(network):
    assert network.refusal((5, 6, 1)) == ""
    assert "reads images (rows, columns, channels)" in network.refusal((30,))
