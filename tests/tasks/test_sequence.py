"""Digit sequences: which digits they hold, what their label is, and what an epoch changes."""

import numpy as np
import pytest

from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.lazy import jnp
from whyconv.pixels import pixel_order
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks import images
from whyconv.tasks.sequence import Sequence, cut_digits, narrow

WORLD, DRAWS = stream("test world", 0), stream("test draws", 0)


def sequences(count=40, part="train", epoch=0, **fields):
    task = Sequence(images="digits", **fields)
    stock = task.stock(part)
    order = task.shuffle(stock, WORLD, DRAWS, epoch)
    made = task.assemble(stock, order, WORLD, DRAWS, jnp.arange(count))
    return task, stock, np.asarray(made.x), np.asarray(made.y)


def named(stock, x):
    """Which digit of the stock stands at each position, found again by its pixels."""
    pixels = np.asarray(stock.pixels).reshape(len(stock.pixels), -1).astype(np.float64)
    back = np.rint(x[..., 0].astype(np.float64) * float(stock.spread[0]) + float(stock.mean[0]))
    places = back.reshape(len(x), 24, -1, 8).swapaxes(1, 2).reshape(len(x), -1, 192)
    distances = (places**2).sum(-1)[..., None] - 2 * places @ pixels.T + (pixels**2).sum(-1)
    assert distances.min(axis=-1).max() < 0.5  # every place holds a digit of the stock, pixel by pixel
    return distances.argmin(axis=-1)


@pytest.mark.parametrize(
    ("where", "counted", "digits", "places"),
    [
        ("middle", 3, 5, [1, 2, 3]), ("middle", 3, 19, [8, 9, 10]), ("middle", 1, 5, [2]),
        ("spread", 3, 5, [0, 2, 4]), ("spread", 3, 19, [0, 9, 18]), ("spread", 2, 7, [0, 6]),
    ],
)  # fmt: skip
def test_the_label_is_the_parity_of_the_digits_that_count(where, counted, digits, places):
    task, stock, x, y = sequences(where=where, counted=counted, digits=digits)
    assert task.places() == places
    assert x.shape == (40, 24, 8 * digits, 1) == (40, *task.shape)
    labels = images.load("digits").train.labels.astype(int)
    # equal pictures of two digits do not occur among the embedded ones, so names are labels
    total = labels[named(stock, x)][:, places].sum(axis=1)
    np.testing.assert_array_equal(y, np.where(total % 2 == 0, 1, -1))
    assert 5 < (y > 0).sum() < 35


def test_every_position_goes_through_the_whole_list_in_its_own_order():
    task = Sequence(images="digits", digits=3)
    stock = task.stock("train")
    order = np.asarray(task.shuffle(stock, WORLD, DRAWS, 0).digits)
    assert order.shape == (3, 1297)
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(1297), (3, 1)))
    assert (order[0] == order[1]).mean() < 0.01
    again = np.asarray(task.shuffle(stock, WORLD, DRAWS, 1).digits)
    assert (order == again).mean() < 0.01  # re-shuffled in the next epoch
    still = Sequence(images="digits", digits=3, reshuffled=False)
    np.testing.assert_array_equal(order, still.shuffle(stock, WORLD, DRAWS, 5).digits)
    assert task.fresh
    assert not still.fresh


def test_beyond_the_list_the_sequences_are_new_ones():
    task = Sequence(images="digits", digits=4)
    order = task.shuffle(task.stock("train"), WORLD, DRAWS, 0)
    chosen = np.asarray(task.chosen(order, jnp.arange(3 * 1297)))
    np.testing.assert_array_equal(chosen[:1297], np.asarray(order.digits).T)
    assert len(np.unique(chosen, axis=0)) == len(chosen)
    for lap in range(3):  # and every digit stands once at every position in every round
        for position in range(4):
            assert len(set(chosen[lap * 1297 : (lap + 1) * 1297, position])) == 1297


def test_a_larger_sample_contains_the_smaller_one_and_tests_are_of_other_digits():
    task = Sequence(images="digits", digits=3)
    small, large = (draw(task, WORLD, DRAWS, count) for count in (10, 1500))
    np.testing.assert_array_equal(small.x, large.x[:10])
    assert task.stock("test").pixels.shape == (500, 24, 8)
    _, stock, x, _ = sequences(20, part="test", digits=3)
    assert named(stock, x).shape == (20, 3)


def test_pixels_are_standardised_over_the_training_digits():
    stock = Sequence(images="digits").stock("train")
    standard = (np.asarray(stock.pixels, np.float64) - float(stock.mean[0])) / float(stock.spread[0])
    assert standard.mean() == pytest.approx(0, abs=1e-6)
    assert standard.std() == pytest.approx(1, abs=1e-6)
    assert float(cut_digits("digits", "test", "crop").mean[0]) == float(stock.mean[0])


def test_controls_see_the_same_examples():
    _, _, x, y = sequences(digits=3)
    _, _, permuted, same = sequences(digits=3, permuted=True)
    order = pixel_order((24, 24, 1))
    np.testing.assert_array_equal(permuted.reshape(40, -1), x.reshape(40, -1)[:, order])
    np.testing.assert_array_equal(same, y)
    task, stock, shifted, same = sequences(digits=3, shift=2)
    np.testing.assert_array_equal(shifted[:, :, 2:], x[:, :, :-2])
    black = -float(stock.mean[0]) / float(stock.spread[0])
    np.testing.assert_allclose(shifted[:, :, :2], black, rtol=1e-6)
    np.testing.assert_array_equal(same, y)
    _, _, unmoved, noise = sequences(digits=3, shuffled_labels=True)
    np.testing.assert_array_equal(unmoved, x)
    assert 8 < (noise != y).sum() < 32
    assert (
        task.lineage() == Sequence(images="digits", digits=3, permuted=True, shuffled_labels=True).lineage()
    )


def test_tests_are_plain_and_shifted_never_shuffled():
    task = Sequence(images="digits", digits=3, shuffled_labels=True, permuted=True, shifted_tests=(1, 4))
    tests = task.tests()
    assert list(tests) == ["", "shift_1", "shift_4"]
    assert [each.shift for each in tests.values()] == [0, 1, 4]
    assert all(each.permuted and not each.shuffled_labels for each in tests.values())


def test_cropping_and_squeezing():
    image = np.arange(28 * 28).reshape(1, 28, 28) % 251
    crop, squeeze = (narrow(image.astype(np.uint8), cut) for cut in ("crop", "squeeze"))
    assert crop.shape == squeeze.shape == (1, 24, 8)
    # row 2, columns 6 and 7 come first in crop; row 2, columns 2, 3, 4 in squeeze
    assert crop[0, 0, 0] == np.round(image[0, 2, 6:8].mean())
    assert crop[0, -1, -1] == np.round(image[0, 25, 20:22].mean())
    assert squeeze[0, 0, 0] == np.round(image[0, 2, 2:5].mean())
    assert squeeze[0, -1, -1] == np.round(image[0, 25, 23:26].mean())
    eight = np.arange(64, dtype=np.uint8).reshape(1, 8, 8)
    np.testing.assert_array_equal(narrow(eight, "crop")[0, 3:6], np.tile(eight[0, 1], (3, 1)))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"counted": 4, "digits": 3}, "counted = 4 digits were given, but there are digits = 3"),
        ({"images": "cifar-10"}, "sequences take mnist, fashion-mnist or digits"),
        ({"images": "imagenet"}, "imagenet"),
        ({"shifted_tests": [0]}, "shifted_tests must be distinct numbers of pixels, 1 or more"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(fields, told):
    with pytest.raises(UserError, match=told):
        build("task", {"name": "sequence", "images": "digits", **fields})
