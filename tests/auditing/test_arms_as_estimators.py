"""Arms of an audit as estimators, and back; scaling and grids."""

import numpy as np
import pytest

from whyconv import ConvClassifier, ConvRegressor
from whyconv.auditing.architecture import POOLINGS, BadSetting
from whyconv.auditing.dataset import BadData
from whyconv.auditing.estimators import for_arm, pieces_of
from whyconv.auditing.fitting import roomy
from whyconv.auditing.grids import grid_of
from whyconv.auditing.scaling import scaling
from whyconv.spec import build

SHAPE = (1, 40, 1)
WINDOWS = {"channels": [16], "kernel": [1, 5], "stride": [1, 2], "padding": "same", "outputs": 3}
ARMS = {
    "FCN": {"name": "deep-fcn", "widths": [128], "outputs": 3},
    "LCN": {"name": "deep-lcn", **WINDOWS},
    "CNN": {"name": "deep-cnn", **WINDOWS},
    "LCN + max": {"name": "deep-lcn", **WINDOWS, "pool": 4},
    "CNN + max": {"name": "deep-cnn", **WINDOWS, "pool": 4},
    "CNN + average": {"name": "deep-cnn", **WINDOWS, "pool": 4, "pooling": "average"},
    "CNN + global max": {"name": "deep-cnn", **WINDOWS, "readout": "max"},
    "blocks": {"name": "deep-partly-shared", **WINDOWS, "group": 3},
    "bag": {"name": "deep-cnn", "channels": [64], "kernel": 1, "outputs": 3, "readout": "max"},
}
LEARNER = {
    "name": "gradient", "rate": 0.004, "batch": 32, "loss": "cross-entropy", "tolerance": 0.02, "epochs": 11
}  # fmt: skip


def same(kind, one, other):
    return build(kind, one) == build(kind, other)


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_becomes_an_estimator_and_is_found_in_it(name):
    estimator = for_arm(ARMS[name], LEARNER, SHAPE, random_state=3)
    assert type(estimator) is ConvClassifier and estimator.random_state == 3 and estimator.grid == SHAPE
    network, learner = pieces_of(estimator, SHAPE, 500, outputs=3)
    assert same("network", network, ARMS[name]) and same("learner", learner, LEARNER)


def test_steps_take_the_place_of_epochs_and_targets_that_of_classes():
    estimator = for_arm(
        {**ARMS["CNN"], "outputs": 1}, {**LEARNER, "loss": "squared"}, regression=True, steps=900
    )
    assert type(estimator) is ConvRegressor and estimator.epochs is None
    _, learner = pieces_of(estimator, SHAPE, 320)
    assert learner["epochs"] == 90 and learner["loss"] == "squared"


def test_every_word_for_pooling_comes_back():
    for pooling in POOLINGS:
        network, learner = pieces_of(ConvClassifier(pooling=pooling, pool=3), (20, 20, 1), 100)
        assert for_arm(network, learner).pooling == pooling
        assert same("network", pieces_of(for_arm(network, learner), (20, 20, 1), 100)[0], network)


@pytest.mark.parametrize(
    ("network", "learner"),
    [
        ({"name": "mlp"}, LEARNER),
        ({**ARMS["CNN"], "biases": False}, LEARNER),
        ({"name": "deep-fcn", "parameters": 1000, "depth": 1, "outputs": 3}, LEARNER),
        (ARMS["CNN"], {"name": "svm"}),
        (ARMS["CNN"], {**LEARNER, "options": {"b1": 0.5}}),
        (ARMS["CNN"], {**LEARNER, "target_error": 0.1, "held_out": 10}),
        ({"name": "deep-cmm"}, LEARNER),
    ],
)
def test_what_no_estimator_has_is_refused(network, learner):
    with pytest.raises(BadSetting):
        for_arm(network, learner)


def test_defaults_follow_the_grid():
    network, learner = pieces_of(ConvClassifier(), (28, 28, 1), 5000, outputs=10)
    assert network == {"name": "deep-cnn", "channels": [16, 16], "outputs": 10}, "kernel 3 is usual"
    assert learner["epochs"] == 7 and "batch" not in learner, "1000 steps of 32 are 6.4 passes"
    network, learner = pieces_of(ConvClassifier(), (1, 150, 2), 20)
    assert network["kernel"] == 18 and network["channels"] == [16] and learner["batch"] is None
    assert pieces_of(ConvClassifier(kernel=None), (1, 150, 2), 300)[0]["widths"] == [256]
    assert "batch" not in pieces_of(ConvClassifier(), (1, 150, 1), 300)[1], "45,000 numbers are not few"


@pytest.mark.parametrize(
    ("grid", "axes", "shape"),
    [
        ("auto", (40,), (1, 40, 1)),
        ("auto", (40, 3), (1, 40, 3)),
        ("auto", (8, 9, 2), (8, 9, 2)),
        ("series", (4, 3), (1, 4, 3)),
        ("table", (12,), (1, 12, 1)),
        ("28x28x1", (784,), (28, 28, 1)),
        ("28x28", (28, 28), (28, 28, 1)),
        ((2, 3, 4), (24,), (2, 3, 4)),
        (np.array([2, 3, 4]), (2, 3, 4), (2, 3, 4)),
    ],
)
def test_grids(grid, axes, shape):
    assert grid_of(grid, axes) == shape


@pytest.mark.parametrize(
    ("grid", "axes"),
    [("auto", (28, 28)), ("series", (8, 9, 2)), ((3, 2, 4), (2, 3, 4)), ((5, 5), (24,)), ("0x3", (3,)),
     (7, (7,)), ((2.5, 4), (10,)), (None, (7,)), ("2x3x4x5", (120,))],
)  # fmt: skip
def test_grids_that_are_refused(grid, axes):
    with pytest.raises(BadData, match="grid = "):
        grid_of(grid, axes)


def test_scaling_by_channel_and_by_feature():
    rng = np.random.default_rng(0)
    x = rng.normal([[[3, 100]] * 4] * 2, [[[1, 7]] * 4] * 2, size=(5000, 2, 4, 2))
    ones = np.ones(5000)
    channel, feature = scaling(x, ones, "channel"), scaling(x, ones, "feature")
    np.testing.assert_allclose(channel.scale[0, 0], x.std(axis=(0, 1, 2)), rtol=1e-9)
    np.testing.assert_allclose(channel.mean[1, 3], x.mean(axis=(0, 1, 2)), rtol=1e-9)
    np.testing.assert_allclose(feature.scale, x.std(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(scaling(x, ones).scale, channel.scale)
    wide = x.copy()
    wide[:, 0, 0, 0] *= 40
    np.testing.assert_allclose(scaling(wide, ones).scale, wide.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(feature.apply(x).std(axis=0), 1, rtol=1e-9)


def test_scaling_counts_weights_and_leaves_constants_alone():
    x = np.random.default_rng(1).normal(size=(9, 1, 4, 1))
    x[:, 0, 2] = 0.1
    weights = np.array([1, 2, 3, 1, 1, 4, 2, 1, 5.0])
    found = scaling(x, weights, "feature")
    repeated = np.repeat(x, weights.astype(int), axis=0)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-9)
    assert found.scale[0, 2, 0] == 1
    np.testing.assert_allclose(found.scale[0, :2], repeated.std(axis=0)[0, :2], rtol=1e-9)
    none = scaling(x, weights, "none")
    np.testing.assert_array_equal(none.apply(x), x)


def test_rooms_are_few_and_hardly_larger_than_their_content():
    assert [roomy(m) for m in (1, 300, 301, 1024, 1025, 60_000)] == [300, 300, 1024, 1024, 1152, 61_440]
    sizes = range(1025, 40_000)
    assert all(m <= roomy(m) <= 1.13 * m for m in sizes)
    assert len({roomy(m) for m in sizes}) < 50
