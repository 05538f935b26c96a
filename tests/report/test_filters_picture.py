"""Filters in the report: the pixels of the picture are the weights of the row."""

import base64
import re
import struct
import zlib
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from whyconv.report.filters_picture import filters, tinted
from whyconv.report.raster import bitmap, png


def read(data):
    """A PNG of one part, as its format says."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, parts = 8, {}
    while place < len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        (sum_,) = struct.unpack(">I", data[place + 8 + size : place + 12 + size])
        assert sum_ == zlib.crc32(name + body)
        parts[name] = body
        place += 12 + size
    columns, rows, depth, colour, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert depth == 8
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(rows, -1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:].reshape((rows, columns, 3) if colour == 2 else (rows, columns))


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3)])
def test_a_bitmap_is_a_png_of_the_pixels(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(read(png(pixels)), pixels)
    text = bitmap(pixels, 1, 2, 30, 40)
    assert 'x="1" y="2" width="30" height="40"' in text
    data = re.search(r"base64,([^\"]+)", text)[1]
    np.testing.assert_array_equal(read(base64.b64decode(data)), pixels)


def test_red_is_positive_blue_negative_white_zero():
    red, white, blue = tinted(np.array([[[2.0], [0.0], [-2.0]]]))[0]
    assert red[0] > red[2] and blue[2] > blue[0]
    assert white.tolist() == [255, 255, 255]
    assert tinted(np.zeros((2, 2, 1))).min() == 255
    colours = tinted(np.array([[[1.0, 0.0, -1.0]]]))[0, 0]
    assert colours.tolist() == [255, 128, 0]


def run_of(traces):
    points = [
        SimpleNamespace(labels={"arm": arm, "n": n}, trial=SimpleNamespace(key=f"{arm}{n}"))
        for arm, n in traces
    ]
    rows = {
        f"{arm}{n}": SimpleNamespace(trace=trace, result={"locality": 0.25})
        for (arm, n), trace in traces.items()
    }
    return SimpleNamespace(points=points, rows=rows)


def test_every_arm_is_shown_at_its_last_place():
    def trace(value):
        return {"filters_shape": [2.0, 3.0, 4.0, 1.0], "filters": [value] * 24}

    found = filters(run_of({("CNN", 5): trace(0.0), ("CNN", 9): trace(100.0), ("LCN", 9): trace(-100.0)}))
    (drawing,) = found.values()
    root = ElementTree.fromstring(drawing)
    words = [text for text in root.itertext() if text.strip()]
    assert [word for word in words if word in ("CNN", "LCN")] == ["CNN", "LCN"]
    assert words.count("locality 0.25") == 2
    images = re.findall(r"base64,([^\"]+)", drawing)
    assert len(images) == 4
    assert read(base64.b64decode(images[0]))[0, 0].tolist() == [178, 24, 43]
    assert read(base64.b64decode(images[2]))[0, 0].tolist() == [33, 102, 172]


def test_the_title_tells_where_and_locality_is_that_of_all_seeds():
    points, rows = [], {}
    for arm, n, seed, score in [
        ("CNN", 5, 0, 0.9),
        ("CNN", 9, 0, 0.2),
        ("CNN", 9, 1, 0.4),
        ("CNN", 9, 2, 0.6),
    ]:
        key = f"{arm}{n}{seed}"
        points.append(SimpleNamespace(labels={"arm": arm, "n": n}, trial=SimpleNamespace(key=key)))
        trace = {"filters_shape": [1.0, 2.0, 2.0, 1.0], "filters": [1.0] * 4} if seed == 0 else {}
        rows[key] = SimpleNamespace(trace=trace, result={"locality": score})
    ((title, drawing),) = filters(SimpleNamespace(points=points, rows=rows)).items()
    assert "of seed 0 at n = 9," in title and "1 for one pixel" in title
    # mean 0.4, t(2) 4.303, standard deviation 0.2
    assert "locality 0.40 [-0.10, 0.90]" in "".join(ElementTree.fromstring(drawing).itertext())


def test_there_is_no_picture_without_filters():
    assert filters(run_of({("SVM", 5): {}})) == {}
