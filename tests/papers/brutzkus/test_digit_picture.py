"""Figure 5 shows real training images, and outlines the digit that decides."""

import base64
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

from whyconv.papers.brutzkus.digit_picture import EACH, examples, figure5, picture
from whyconv.runner.store import Store
from whyconv.settings import configure
from whyconv.tasks import images
from whyconv.tasks._image_task import on_device
from whyconv.tasks.digit_grid import DigitGrid
from whyconv.tasks.images import download
from whyconv.tasks.images.catalogue import known

SVG = "{http://www.w3.org/2000/svg}"


def decoded(png, size=16):
    """The grey pixels of a PNG without filters."""
    length, body = png.index(b"IDAT") - 4, png.index(b"IDAT") + 4
    packed = png[body : body + int.from_bytes(png[length : length + 4])]
    return np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size, size + 1)[:, 1:]


@pytest.fixture(scope="module")
def root():
    return ElementTree.fromstring(picture(DigitGrid(images="digits")))


def test_each_outlined_digit_is_a_training_image_of_its_class(root):
    part = images.load("digits").train
    names = {image.tobytes(): int(label) for image, label in zip(part.images, part.labels, strict=True)}
    tiles = list(root.iter(f"{SVG}image"))
    frames = [each for each in root.iter(f"{SVG}rect") if "frame" in each.get("class")]
    assert len(tiles) == len(frames) == 2 * EACH
    for tile, frame in zip(tiles, frames, strict=True):
        pixels = 255 - decoded(base64.b64decode(tile.get("href").partition("base64,")[2]))
        left, top = (round((float(frame.get(a)) - float(tile.get(a))) / 54) for a in ("x", "y"))
        digits = {
            (row, column): names[pixels[8 * row :, 8 * column :][:8, :8].tobytes()]
            for row in (0, 1)
            for column in (0, 1)
        }
        assert digits.pop((top, left)) == (3 if "positive" in frame.get("class") else 5)
        assert not {3, 5} & set(digits.values())


def test_the_images_are_those_the_seed_begins_with(root):
    task = DigitGrid(images="digits", permuted=True, shuffled_labels=True, shift=2)
    inputs, labels, places = examples(task, 0)
    plain = examples(DigitGrid(images="digits"), 0)
    for one, other in zip((inputs, labels, places), plain, strict=True):
        np.testing.assert_array_equal(one, other)
    assert min((labels == 1).sum(), (labels == -1).sum()) >= EACH and set(places) == {0, 1, 2, 3}


def test_it_is_self_contained_and_falls_back_on_the_embedded_digits(monkeypatch, tmp_path):
    monkeypatch.delenv("WHYCONV_DATA", raising=False)
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path))
    ((caption, svg),) = configure("brutzkus.fig3c", "paper").pictures().items()
    assert "3 or 5" in caption and "not MNIST" in caption
    assert "prefers-color-scheme" in svg and svg.count("http") == 1 and len(svg) < 60_000


def never(name):
    raise AssertionError(f"{name} would be downloaded")


def with_files(folder, name, batches=None):
    """A folder that has the files of a set by their names only."""
    home = folder / name
    home.mkdir(parents=True)
    for file in known(name).files(batches):
        (home / file.name).write_bytes(b"damaged")
    return folder


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data on this machine or in memory, and none to be downloaded."""
    on_device.cache_clear()
    monkeypatch.delenv("WHYCONV_DATA", raising=False)
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "fetch", never)


def test_other_batches_are_not_downloaded(nowhere, monkeypatch, tmp_path):
    monkeypatch.setenv("WHYCONV_DATA", str(with_files(tmp_path / "data", "cifar-10", (1,))))
    ((caption, svg),) = figure5(DigitGrid(images="cifar-10", batches=(2,))).items()
    assert "ship with scikit-learn" in caption and svg.startswith("<svg")
    assert "CIFAR-10 in part: 10,000 of 50,000 training images (batch 2), are not on this machine" in caption


@pytest.mark.parametrize("folder", ["damaged", "missing"])
def test_a_report_is_made_whatever_the_data(folder, nowhere, monkeypatch, tmp_path, whyconv):
    """Files that are damaged, or a folder that is none, leave the embedded digits and a caption."""
    with_files(tmp_path / "damaged", "mnist")
    with Store.open(tmp_path / "rows") as store:
        store.record_run(configure("brutzkus.fig3c", "paper"), "paper", [], "whyconv run brutzkus.fig3c")
    monkeypatch.setenv("WHYCONV_DATA", str(tmp_path / folder))
    done = whyconv("report", tmp_path / "rows")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "rows" / "report.html").read_text("utf-8")
    assert (
        "not MNIST), since the images of the run, MNIST, 60,000 + 10,000 images of 28 x 28, cannot " in page
    )
    assert str(tmp_path) not in page.replace(str(tmp_path / "rows"), "")


def test_a_report_looks_into_the_folder_it_is_given(nowhere, tmp_path, whyconv):
    done = whyconv("report", tmp_path, "--data", tmp_path / "none")
    assert done.returncode == 2
    assert f"the data folder {tmp_path / 'none'} does not exist" in done.stderr
