"""Figure 1 of Brutzkus & Globerson, computed here from the definitions (not by the task or the network).

(a) Images drawn from the distribution of Section 3: one of the n = 16 positions, chosen uniformly, holds the
pattern of the class (o_1 for y = +1, o_2 for y = -1), every other one a spurious pattern (o_3 ... o_8),
chosen independently. The patterns are Hadamard tiles: 4 x 4 pixels of ±1/4, orthonormal in R^16.

(b) The network of Eq. 1, N(x) = sum_i a_i max_j relu(w_i . x[j]), on the first of these images.

The SVG has its own style for light and dark pages, and its text is legible on a phone.
"""

from __future__ import annotations

from collections.abc import Iterator

from whyconv.lazy import np
from whyconv.report.drawing import WIDTH, arrow, svg, text

SIDE = 4
"""Patches along an image, and pixels along a patch."""
_WALSH = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, -1, 1), (1, -1, 1, -1))
_CHOSEN = ((1, 1), (2, 2), (0, 1), (1, 0), (3, 3), (0, 3), (2, 1), (3, 0))
"""The products of Walsh functions used as o_1 (positive), o_2 (negative) and o_3 ... o_8 (spurious)."""
_TILE = 24


def figure1(seed: int = 1) -> dict[str, str]:
    """Both parts of Figure 1 as SVG text, by caption."""
    return {
        "(a) Images of both classes: the outlined pattern decides, all others appear in both": examples(seed),
        "(b) The network of Eq. 1, computed on the first of these images": architecture(seed),
    }


def patterns() -> np.ndarray:
    """The orthonormal patterns o_1 ... o_8, one row of 16 pixels each."""
    walsh = np.array(_WALSH) / 2
    return np.stack([np.outer(walsh[row], walsh[column]).ravel() for row, column in _CHOSEN])


def draw(rng: np.random.Generator, label: int) -> np.ndarray:
    """The pattern at each of the 16 positions of one image of the class ``label`` (+1 or -1)."""
    image = rng.integers(2, len(_CHOSEN), size=SIDE * SIDE)
    image[rng.integers(image.size)] = 0 if label > 0 else 1
    return image


def examples(seed: int = 1, each: int = 4) -> str:
    """Part (a): ``each`` images per class, and the patterns they are made of."""
    rng = np.random.default_rng(seed)
    parts = list(_key(0))
    size = SIDE * (_TILE + 2) - 2
    step = (WIDTH - size) / (each - 1)
    for label, top in ((1, 118), (-1, 266)):
        name, sign = ("positive", "+1") if label > 0 else ("negative", "−1")
        parts.append(
            text(0, top - 10, f"{name} images", f"strong {name}") + text(164, top - 10, f"y = {sign}", "math")
        )
        for number in range(each):
            parts += _image(number * step, top, draw(rng, label))
    return svg(266 + size + 2, parts, "Images of both classes, made of orthogonal patterns")


def _key(top: float) -> Iterator[str]:
    """The three kinds of patterns with their symbols."""
    for left, name, symbol, numbers in ((0, "positive", "o_1", [0]), (96, "negative", "o_2", [1])):
        yield text(left, top + 16, name, f"strong {name}")
        yield from _pattern(left, top + 28, numbers[0], name)
        yield text(left + 36, top + 47, symbol, "math")
    yield text(200, top + 16, "spurious", "strong quiet")
    for place, number in enumerate(range(2, len(_CHOSEN))):
        yield from _pattern(200 + place * 32, top + 28, number)
    yield text(200 + 6 * 32 + 4, top + 47, "o_3 … o_8", "math")


def architecture(seed: int = 1) -> str:
    """Part (b): image, filters, rectified responses, maxima over positions, readout."""
    rng = np.random.default_rng(seed)
    image = draw(rng, 1)
    basis = patterns()
    filters = np.stack([basis[0], basis[1], basis[3]]) + rng.normal(0, 0.05, (3, SIDE * SIDE))
    responses = np.maximum(filters @ basis[image].T, 0)
    weights = (1.0, -1.0, 0.1)
    output = sum(weight * best for weight, best in zip(weights, responses.max(axis=1), strict=True))
    parts = [text(52, 14, "image", "strong", "middle"), text(52, 36, "x", "math", "middle")]
    parts += _image(0, 130, image)
    heads = (
        (158, "k filters", "w_i"),
        (262, "responses", "σ(w_i · x[j])"),
        (364, "max", "{over} j"),
        (440, "readout", "a_i"),
    )
    for centre, head, symbol in heads:
        parts += [text(centre, 14, head, "strong", "middle"), text(centre, 36, symbol, "math", "middle")]
    for lane, (pixels, values) in enumerate(zip(filters, responses, strict=True)):
        middle = 82 + lane * 100
        best = float(values.max())
        parts.append(f'<path class="line" d="M106 182 C122 182 118 {middle} 134 {middle}"/>')
        parts += _filter(140, middle - 18, pixels)
        parts += [arrow(182, 218, middle), *_heat(226, middle - 36, values), arrow(304, 336, middle)]
        at = f'x="342" y="{middle - 22}" width="44" height="44" rx="4"'
        parts.append(f'<rect class="cell" {at}/><rect class="heat" {at} opacity="{best:.2f}"/>')
        parts.append(text(364, middle + 42, f"{best:.2f}", "quiet", "middle"))
        parts.append(f'<path class="line" d="M390 {middle} C420 {middle} 430 182 448 182"/>')
        parts.append(
            text(
                394, middle - 8 if lane < 2 else middle + 18, f"{weights[lane]:+}".replace("-", "−"), "quiet"
            )
        )
    parts.append('<circle class="line" cx="463" cy="182" r="15" stroke-width="1.5"/>')
    parts += [text(463, 188, "Σ", "", "middle"), text(463, 220, f"{output:.1f}", "strong", "middle")]
    parts.append(
        text(240, 378, "N(x) = Σ_i a_i {max}_j σ(w_i · x[j]),   σ(z) = {max}(0, z)", "math", "middle")
    )
    return svg(390, parts, "Filters over patches, rectifier, maximum over positions, linear readout")


def _image(left: float, top: float, image: np.ndarray) -> Iterator[str]:
    """One image: 4 x 4 patches, the one that decides outlined and drawn last."""
    places = sorted(enumerate(int(pattern) for pattern in image), key=lambda place: -place[1])
    for position, pattern in places:
        row, column = divmod(position, SIDE)
        kind = {0: "positive", 1: "negative"}.get(pattern, "")
        yield from _pattern(left + column * (_TILE + 2), top + row * (_TILE + 2), pattern, kind)


def _pattern(left: float, top: float, number: int, kind: str = "") -> Iterator[str]:
    """One patch as a tile: dark where the pattern is positive."""
    row, column = _CHOSEN[number]
    pixel = _TILE / SIDE
    yield f'<rect class="minus" x="{left:g}" y="{top:g}" width="{_TILE}" height="{_TILE}"/>'
    steps = "".join(
        f"M{left + x * pixel:g} {top + y * pixel:g}h{pixel:g}v{pixel:g}h-{pixel:g}z"
        for y in range(SIDE)
        for x in range(SIDE)
        if _WALSH[row][y] * _WALSH[column][x] > 0
    )
    yield f'<path class="{kind or "plus"}" d="{steps}"/>'
    if kind:
        size = f'width="{_TILE + 2}" height="{_TILE + 2}"'
        yield f'<rect class="{kind} frame" x="{left - 1:g}" y="{top - 1:g}" {size}/>'


def _filter(left: float, top: float, pixels: np.ndarray) -> Iterator[str]:
    """A filter's weights as a tile of greys."""
    low, high = float(pixels.min()), float(pixels.max())
    yield f'<rect class="minus" x="{left:g}" y="{top:g}" width="36" height="36"/>'
    for place, value in enumerate(pixels):
        row, column = divmod(place, SIDE)
        share = (float(value) - low) / (high - low)
        yield (
            f'<rect class="plus" x="{left + 9 * column:g}" y="{top + 9 * row:g}" width="9" height="9" '
            f'opacity="{share:.2f}"/>'
        )


def _heat(left: float, top: float, values: np.ndarray) -> Iterator[str]:
    """The rectified responses of one filter at the 4 x 4 positions; the largest is framed."""
    for place, value in enumerate(values):
        row, column = divmod(place, SIDE)
        at = f'x="{left + 18 * column:g}" y="{top + 18 * row:g}" width="17" height="17" rx="2"'
        yield f'<rect class="cell" {at}/><rect class="heat" {at} opacity="{min(1.0, float(value)):.2f}"/>'
    row, column = divmod(int(values.argmax()), SIDE)
    yield (
        f'<rect class="line" x="{left + 18 * column - 1:g}" y="{top + 18 * row - 1:g}" '
        'width="19" height="19" rx="3" stroke-width="2"/>'
    )
