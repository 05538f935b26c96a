"""Every deep CNN is an LCN and every LCN an FCN, output by output."""

from functools import partial

import jax
import numpy as np
import pytest

from whyconv.networks.deep import DeepCNN, DeepFCN, DeepLCN, DeepPartlyShared
from whyconv.networks.deep_embedding import as_deep_fcn, as_deep_lcn
from whyconv.streams import stream

SHAPE = (7, 8, 2)
CNN, LCN, GROUPS = DeepCNN, DeepLCN, lambda **fields: DeepPartlyShared(group=2, **fields)
CASES = [
    (CNN, {"channels": (3, 2), "kernel": 3, "outputs": 2}),
    (CNN, {"channels": (2, 3, 2), "kernel": 2, "stride": 2, "padding": "same"}),
    (CNN, {"channels": (2, 2), "kernel": (3, 4), "stride": (2, 1), "padding": "same", "readout": "average"}),
    (CNN, {"channels": (3, 2), "kernel": 3, "pool": 2, "pooling": "average", "padding": "same"}),
    (CNN, {"channels": (3,), "kernel": 20, "outputs": 2}),
    (LCN, {"channels": (3, 2), "kernel": (2, 3), "stride": (1, 2), "biases": False}),
    (LCN, {"channels": (2, 2), "kernel": 2, "pool": 3, "pooling": "average", "readout": "average"}),
    (GROUPS, {"channels": (2, 3, 2), "kernel": (3, 2), "padding": "same", "outputs": 3}),
    (CNN, {"channels": (3, 2), "kernel": 2, "pool": 2}),
    (CNN, {"channels": (2, 2), "kernel": 2, "readout": "max", "biases": False}),
    (LCN, {"channels": (2, 2), "kernel": 2, "pool": 3, "padding": "same", "outputs": 2, "readout": "max"}),
    (CNN, {"channels": (2, 2), "kernel": 2, "pool": 2, "pooling": "average", "readout": "max"}),
    (GROUPS, {"channels": (2, 2), "kernel": 3, "pool": 2, "padding": "same", "readout": "average"}),
]


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def random_params(network):
    rng = np.random.default_rng(0)
    start = jax.eval_shape(lambda key: network.init(key, SHAPE), stream("init", 0))
    return jax.tree.map(lambda part: rng.normal(size=part.shape), start)


def shapes(params):
    return jax.tree.map(np.shape, params)


def all_scores(pairs, x):
    """The scores of several networks, compiled together."""
    networks, params = zip(*pairs, strict=True)

    @partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
    def run(params, x):
        return [n.apply(p, n.prepare(x)) for n, p in zip(networks, params, strict=True)]

    return [np.asarray(each) for each in run(params, x)]


@pytest.mark.parametrize("kind, fields", CASES)
def test_embeddings_keep_every_score(kind, fields):
    network = kind(**fields)
    params = random_params(network)
    lcn, local = as_deep_lcn(network, params, SHAPE)
    fcn, full = as_deep_fcn(network, params, SHAPE)
    assert type(lcn) is DeepLCN and type(fcn) is DeepFCN
    x = np.random.default_rng(1).normal(size=(10, *SHAPE))
    expected, *found = all_scores([(network, params), (lcn, local), (fcn, full)], x)
    assert np.abs(expected).max() > 0.1
    for scores in found:
        assert scores.shape == expected.shape
        assert np.abs(scores - expected).max() <= 1e-12
    for other, theirs in ((lcn, local), (fcn, full)):
        start = jax.eval_shape(lambda key, other=other: other.init(key, SHAPE), stream("init", 0))
        assert shapes(theirs) == shapes(start)


def test_a_neuron_of_the_fcn_sees_its_window_only():
    network = DeepCNN(channels=(3,), kernel=(2, 3), stride=(2, 1))
    fcn, full = as_deep_fcn(network, random_params(network), SHAPE)
    seen = (fcn.view(full, SHAPE).filters != 0).any(axis=3).reshape(3, 6, 3, 7, 8)  # row, column, channel
    rows, columns = np.arange(7), np.arange(8)
    for r in range(3):
        for c in range(6):
            window = (rows[:, None] // 2 == r) & (columns >= c) & (columns < c + 3)
            assert (seen[r, c] == window).all()


def test_a_maximum_takes_a_layer_for_every_round():
    """6 x 7 positions pooled by 2 x 2: four meet in two rounds; then 3 x 4 in four."""
    network = DeepCNN(channels=(2,), kernel=2, pool=2, readout="max")
    fcn, full = as_deep_fcn(network, random_params(network), SHAPE)
    # 42 positions, 2 channels; blocks of 4, and three of 2 at the end of the rows; 12 maxima of each channel
    assert fcn.widths[:3] == (84, 84, 2 * (9 * 2 + 3))
    assert len(fcn.widths) == 1 + 2 + 4 and fcn.widths[3:] == (24, 12, 6, 4)
    assert all(not np.any(bias) for bias in full["b"][1:])
