"""Figure 2 shows real inputs: the framed bits have the parity that stands beside them."""

from math import prod
from xml.etree import ElementTree

from whyconv.papers.malach.pictures import BITS, FIRST, WINDOW, figure2, picture

SVG = "{http://www.w3.org/2000/svg}"


def test_every_row_carries_the_parity_of_its_frame():
    root = ElementTree.fromstring(picture(rows=5))
    cells = [rect for rect in root.iter(f"{SVG}rect") if "frame" not in rect.get("class")][: 5 * BITS]
    labels = [text.text for text in root.iter(f"{SVG}text") if "strong" in (text.get("class") or "")]
    assert len(labels) == 5 and set(labels) == {"+1", "−1"}
    for row, label in enumerate(labels):
        bits = [-1 if rect.get("class") == "minus" else 1 for rect in cells[row * BITS : (row + 1) * BITS]]
        assert ("+1" if prod(bits[FIRST : FIRST + WINDOW]) > 0 else "−1") == label


def test_the_frame_is_around_the_window():
    frames = [r for r in ElementTree.fromstring(picture()).iter(f"{SVG}rect") if "frame" in r.get("class")]
    cells = [r for r in ElementTree.fromstring(picture()).iter(f"{SVG}rect") if "frame" not in r.get("class")]
    left, width = float(frames[0].get("x")), float(frames[0].get("width"))
    inside = [i for i in range(BITS) if left < float(cells[i].get("x")) < left + width]
    assert inside == list(range(FIRST, FIRST + WINDOW))


def test_it_is_self_contained_and_follows_the_colour_scheme():
    ((caption, svg),) = figure2().items()
    assert "k = 5" in caption and "prefers-color-scheme" in svg and svg.count("http") == 1
