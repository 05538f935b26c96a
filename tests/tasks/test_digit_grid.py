"""Grids of digits: which digits they hold, what decides, and what the controls leave as it is."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.lazy import jnp
from whyconv.pixels import grid_order, pixel_order
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks import images
from whyconv.tasks.digit_grid import DigitGrid

WORLD, DRAWS = stream("test world", 0), stream("test draws", 0)
HERE = Path(__file__).parents[3] / "shared" / "data"


def grids(count=60, part="train", **fields):
    """(task, inputs, labels) of the first examples."""
    task = DigitGrid(**{"images": "digits", **fields})
    made = task.assemble(task.stock(part), (), WORLD, DRAWS, jnp.arange(count))
    return task, np.asarray(made.x), np.asarray(made.y)


def whole(task, x):
    """The images that inputs were cut from, digit by digit."""
    rows, columns, _ = task.image_shape()
    tiles = x.reshape(len(x), task.side, task.side, rows, columns)
    return np.concatenate(
        [np.concatenate(list(line), axis=2) for line in tiles.transpose(1, 2, 0, 3, 4)], axis=1
    )


def found(x, part, name="digits"):
    """Which image of the part stands at each position, (example, position), by its pixels."""
    pixels = (images.load(name).train if part == "train" else images.load(name).test).images
    names = {image.tobytes(): number for number, image in enumerate(pixels)}
    back = np.rint(255 * x).astype(np.uint8)
    return np.array([[names[digit.tobytes()] for digit in example] for example in back])


@pytest.mark.parametrize(
    ("part", "side", "positive", "negative"), [("train", 2, 3, 5), ("test", 2, 3, 5), ("train", 3, 0, 9)]
)
def test_one_digit_decides_and_the_others_are_neither(part, side, positive, negative):
    fields = {"side": side, "positive": positive, "negative": negative}
    task, x, y = grids(part=part, **fields)
    assert x.shape == (60, side**2, 64) == (60, *task.shape) and x.min() == 0 and x.max() == 1
    labels = (images.load("digits").train if part == "train" else images.load("digits").test).labels
    digits = labels[found(x, part)]
    decides = (digits == positive) | (digits == negative)
    assert (decides.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(digits[decides], np.where(y > 0, positive, negative))


def test_labels_positions_and_images_are_uniform():
    task = DigitGrid(images="digits")
    stock = task.stock("train")
    labels, places, which, others = map(np.asarray, task.contents(stock, DRAWS, jnp.arange(20_000)))
    assert stats.binomtest(int((labels == 1).sum()), len(labels)).pvalue > 1e-3
    assert stats.chisquare(np.bincount(places, minlength=4)).pvalue > 1e-3
    for label, kind in ((1, stock.positive), (-1, stock.negative)):
        assert stats.chisquare(np.bincount(which[labels == label], minlength=len(kind))).pvalue > 1e-3
        assert stats.chisquare(np.bincount(places[labels == label], minlength=4)).pvalue > 1e-3
    counts = np.bincount(others.ravel(), minlength=len(stock.spurious))
    assert stats.chisquare(counts).pvalue > 1e-3 and others.shape == (20_000, 4)
    assert np.mean(others[:, 0] == others[:, 1]) < 0.01


def test_no_digit_of_the_test_is_trained_on():
    train, test = images.load("digits").train.images, images.load("digits").test.images
    assert not {image.tobytes() for image in train} & {image.tobytes() for image in test}
    used = {part: DigitGrid(images="digits").stock(part) for part in ("train", "test")}
    assert [sum(map(len, used[part])) for part in ("train", "test")] == [1297, 500]


def test_a_larger_sample_contains_the_smaller_one():
    task = DigitGrid(images="digits")
    small, large = (draw(task, WORLD, DRAWS, count) for count in (40, 1500))
    np.testing.assert_array_equal(small.x, large.x[:40])
    np.testing.assert_array_equal(small.y, large.y[:40])
    # divided by 255 inside a compiled program or not: the last bit may differ, the bytes of pixels may not
    pixels = (np.rint(255 * np.asarray(x)) for x in (grids()[1][:40], small.x))
    np.testing.assert_array_equal(*pixels)
    np.testing.assert_allclose(grids()[1][:40], small.x, rtol=2e-7, atol=0)
    assert len(np.unique(np.asarray(large.x), axis=0)) == 1500


def test_the_permuted_twin_sees_the_same_examples_with_their_pixels_permuted():
    task, x, y = grids()
    twin, permuted, labels = grids(permuted=True)
    assert twin.lineage() == task.lineage() and not task.fresh
    np.testing.assert_array_equal(labels, y)
    pixels, order = whole(task, x).reshape(60, -1), pixel_order((16, 16, 1))
    np.testing.assert_array_equal(whole(task, permuted).reshape(60, -1), pixels[:, order])
    moved = x.reshape(60, -1)[:, grid_order(task.shape)]
    np.testing.assert_array_equal(moved, permuted.reshape(60, -1))
    parts = (order.reshape(16, 16)[:8, :8] // 16 // 8) * 2 + order.reshape(16, 16)[:8, :8] % 16 // 8
    assert set(parts.ravel()) == {0, 1, 2, 3}  # a window sees pixels of all digits


def test_a_shift_moves_the_whole_image_across_digits():
    task, x, y = grids()
    _, moved, labels = grids(shift=3)
    before, after = whole(task, x), whole(task, moved)
    np.testing.assert_array_equal(after[:, :, 3:], before[:, :, :-3])
    assert (after[:, :, :3] == 0).all() and before[:, :, 5:8].any()
    np.testing.assert_array_equal(labels, y)


def test_shuffled_labels_have_nothing_to_do_with_the_images():
    task, x, y = grids()
    twin, same, noise = grids(shuffled_labels=True)
    np.testing.assert_array_equal(same, x)
    assert twin.lineage() == task.lineage() and (noise != y).any()
    index = jnp.arange(20_000)
    drawn, true = twin.noise_labels(DRAWS, index), task.contents(task.stock("train"), DRAWS, index)[0]
    np.testing.assert_array_equal(noise, drawn[:60])
    assert stats.binomtest(int((drawn == true).sum()), len(index)).pvalue > 1e-3
    assert stats.binomtest(int((drawn == 1).sum()), len(index)).pvalue > 1e-3


def test_every_test_has_true_labels_and_keeps_the_permutation():
    task = DigitGrid(images="digits", permuted=True, shuffled_labels=True, shifted_tests=(1, 4))
    tests = task.tests()
    assert list(tests) == ["", "shift_1", "shift_4"] and [each.shift for each in tests.values()] == [0, 1, 4]
    assert all(each.permuted and not each.shuffled_labels for each in tests.values())
    assert {str(each.lineage()) for each in tests.values()} == {str(task.lineage())}


def test_a_row_has_the_error_of_every_test(execute):
    task = {"name": "digit-grid", "images": "digits", "shifted_tests": [4]}
    row = execute(task=task, learner="svm", m=60, seed=0)
    assert row["train_error"] == 0 and row["separable"] is True
    assert row["test_error"] < 0.4 < row["test_error_shift_4"]


def test_impossible_digits_are_refused():
    for fields, words in (({"negative": 3}, "different"), ({"positive": 10}, "9"), ({"side": 0}, "1")):
        with pytest.raises(UserError, match=words):
            build("task", {"name": "digit-grid", "images": "digits", **fields})


def test_the_digits_of_mnist_fit_the_same_networks(monkeypatch):
    assert DigitGrid(images="mnist").shape == (4, 784)
    if HERE.is_dir() and not images.here("mnist"):
        monkeypatch.setenv("WHYCONV_DATA", str(HERE))
    if not images.here("mnist"):
        pytest.skip("needs the published files in WHYCONV_DATA or ../shared/data")
    _, x, y = grids(part="test", images="mnist")
    digits = images.load("mnist").test.labels[found(x, "test", "mnist")]
    np.testing.assert_array_equal((digits == 3).sum(axis=1), y > 0)
    np.testing.assert_array_equal((digits == 5).sum(axis=1), y < 0)
