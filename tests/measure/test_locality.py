"""The locality of filters in cases with a closed form, and by drawing pairs of pixels."""

import numpy as np
import pytest

from whyconv.measure.locality import locality


def test_one_pixel_is_local_and_the_whole_image_is_not():
    filters = np.zeros((2, 9, 13, 3))
    filters[0, 4, 7, 1] = -0.3
    filters[1] = 0.1
    assert locality(filters, (9, 13, 3)) == pytest.approx([1, 0], abs=1e-12)


@pytest.mark.parametrize("k, n", [(1, 8), (3, 8), (3, 32), (8, 8)])
def test_an_even_window(k, n):
    expected = 1 - (k**2 - 1) / (n**2 - 1)
    filters = np.zeros((1, n, n, 1))
    filters[0, n - k :, n - k :] = 2
    assert locality(filters, (n, n, 1)) == pytest.approx([expected])
    assert locality(np.ones((1, k, k, 4)), (n, n, 4)) == pytest.approx([expected])


def test_opposite_corners_are_worse_than_even():
    filters = np.zeros((1, 5, 9, 1))
    filters[0, 0, 0], filters[0, 4, 8] = 1, -1
    # two pixels, equal or (4, 8) apart, each with probability 1/2; even: 2 (24 + 80) / 12
    assert locality(filters, (5, 9)) == pytest.approx([1 - (80 / 2) / (104 / 6)])


def test_it_is_the_expected_squared_distance():
    rng = np.random.default_rng(0)
    filters = rng.normal(size=(4, 3, 5, 2))
    for one, score in zip(filters, locality(filters, (6, 5, 2)), strict=True):
        energy = (one**2).sum(axis=2)
        energy /= energy.sum()
        spread = sum(
            energy[a] * energy[b] * ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)
            for a in np.ndindex(3, 5)
            for b in np.ndindex(3, 5)
        )
        even = np.mean(
            [(a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a in np.ndindex(6, 5) for b in np.ndindex(6, 5)]
        )
        assert score == pytest.approx(1 - spread / even)


def test_noise_is_nearly_even():
    filters = np.random.default_rng(1).normal(size=(200, 16, 16, 3))
    assert locality(filters, (16, 16, 3)).mean() == pytest.approx(0, abs=0.02)


def test_nothing_has_no_place():
    filters = np.zeros((2, 4, 4, 1))
    filters[1, 0, 0] = 1
    assert np.isnan(locality(filters, (4, 4, 1))).tolist() == [True, False]
    assert np.isnan(locality(np.ones((1, 1, 1, 3)), (1, 1, 3))).all()
