"""Figure 1 is a picture of the real task: orthonormal patterns, and exactly one that decides."""

from xml.etree import ElementTree

import numpy as np
import pytest

from whyconv.papers.brutzkus.pictures import architecture, draw, examples, figure1, patterns

SVG = "{http://www.w3.org/2000/svg}"


def test_the_patterns_are_orthonormal():
    found = patterns()
    assert found.shape == (8, 16)
    assert np.abs(found @ found.T - np.eye(8)).max() < 1e-12


@pytest.mark.parametrize("label", [1, -1])
def test_images_follow_the_distribution(label):
    rng = np.random.default_rng(0)
    images = np.stack([draw(rng, label) for _ in range(4000)])
    decisive = images < 2
    assert (decisive.sum(axis=1) == 1).all()
    assert set(images[decisive]) == {0 if label > 0 else 1}
    assert decisive.mean(axis=0) == pytest.approx(np.full(16, 1 / 16), abs=0.02)
    spurious = np.bincount(images[~decisive])[2:] / (~decisive).sum()
    assert spurious == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_each_image_has_exactly_one_outlined_pattern():
    frames = [part.get("class") for part in ElementTree.fromstring(examples(each=4)).iter(f"{SVG}rect")]
    assert frames.count("positive frame") == frames.count("negative frame") == 4 + 1  # and one in the key


def test_the_architecture_shows_eq_1():
    root = ElementTree.fromstring(architecture())
    words = "".join(root.itertext()).replace("\u200b", "")
    assert "N(x) = Σi ai maxj σ(wi · x[j])" in words


def test_both_parts_are_valid_self_contained_svg():
    for caption, svg in figure1().items():
        assert caption.startswith(("(a)", "(b)"))
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"
        assert "prefers-color-scheme" in svg
        assert svg.count("http") == 1  # the namespace
        assert len(svg) < 60_000
