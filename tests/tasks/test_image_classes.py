"""Images and their classes: samples without replacement, standardised, with their controls."""

import numpy as np
import pytest

from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.pixels import pixel_order
from whyconv.spec import checked
from whyconv.streams import stream
from whyconv.tasks import images
from whyconv.tasks.image_classes import ImageClasses
from whyconv.trial import Trial

WORLD, DRAWS = stream("test world", 0), stream("test draws", 0)


def test_a_sample_is_drawn_without_replacement():
    task = ImageClasses(images="digits")
    sample = draw(task, WORLD, DRAWS, 1297)
    found = images.load("digits").train
    raw = found.images.reshape(1297, -1).astype(np.float64)
    mean, spread = raw.mean(), raw.std()
    x = np.rint(np.asarray(sample.x, np.float64).reshape(1297, -1) * spread + mean)
    assert task.shape == (8, 8, 1)
    assert {tuple(row) for row in x} == {tuple(row) for row in raw}
    names = {tuple(row): label for row, label in zip(raw, found.labels, strict=True)}
    assert [names[tuple(row)] for row in x] == np.asarray(sample.y).tolist()
    assert np.asarray(sample.x).mean() == pytest.approx(0, abs=1e-5)
    assert np.asarray(sample.x).std() == pytest.approx(1, abs=1e-5)


def test_samples_are_nested_and_seeds_differ():
    task = ImageClasses(images="digits")
    small, large = (draw(task, WORLD, DRAWS, count) for count in (7, 900))
    np.testing.assert_array_equal(small.x, large.x[:7])
    other = draw(task, WORLD, stream("test draws", 1), 7)
    assert not np.array_equal(small.x, other.x)


def test_examples_are_the_training_examples_of_the_first_epoch():
    task = ImageClasses(images="digits")
    x, y = task.examples(WORLD, DRAWS, np.array([7, 3]))
    sample = draw(task, WORLD, DRAWS, 10)
    np.testing.assert_array_equal(x, np.asarray(sample.x)[[7, 3]])
    np.testing.assert_array_equal(y, np.asarray(sample.y)[[7, 3]])


def test_controls_see_the_same_images():
    plain, permuted, noise, moved = (
        draw(ImageClasses(images="digits", **fields), WORLD, DRAWS, 500)
        for fields in ({}, {"permuted": True}, {"shuffled_labels": True}, {"shift": 1})
    )
    flat = np.asarray(plain.x).reshape(500, -1)
    np.testing.assert_array_equal(np.asarray(permuted.x).reshape(500, -1), flat[:, pixel_order((8, 8, 1))])
    np.testing.assert_array_equal(moved.x[:, :, 1:], plain.x[:, :, :-1])
    agree = (np.asarray(noise.y) == np.asarray(plain.y)).mean()
    assert agree == pytest.approx(0.1, abs=0.05)
    assert set(np.asarray(noise.y).tolist()) == set(range(10))


def test_a_trial_needs_a_score_for_every_class_and_no_more_images_than_there_are():
    values = {
        "task": {"name": "image-classes", "images": "digits"},
        "network": {"name": "deep-fcn", "widths": [4], "outputs": 10},
        "learner": {"name": "gradient", "loss": "cross-entropy"}, "m": 100, "seed": 0, "test_size": 100,
    }  # fmt: skip
    assert checked(Trial, values, "trial").task.classes == 10
    single = {**values, "network": {"name": "deep-fcn", "widths": [4]}, "learner": {"name": "gradient"}}
    with pytest.raises(UserError, match="has 10 classes and needs a network of 10 outputs"):
        checked(Trial, single, "trial")
    with pytest.raises(UserError, match="loss = logistic was given for a network of 10 outputs"):
        checked(Trial, {**values, "learner": {"name": "gradient"}}, "trial")
    with pytest.raises(UserError, match="m = 2000 was given, but the task image-classes has 1297 examples"):
        checked(Trial, {**values, "m": 2000}, "trial")
    with pytest.raises(UserError, match="test_size = 501 was given"):
        checked(Trial, {**values, "test_size": 501}, "trial")
