"""Pictures of the signal task, drawn from its definition for the sizes that were run (not by the task)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whyconv.lazy import np
from whyconv.report.drawing import WIDTH, svg, text
from whyconv.spec import build
from whyconv.tasks.signal import Signal

MOST = 16
"""Patches, and coordinates of a patch, that are drawn."""
_TOP, _HEIGHT, _GAP = 54, 110, 62


def problem(given: Any, seed: int = 2) -> dict[str, str]:
    """Two inputs of a task (or its spec), one of each class; the patches with the signal are outlined."""
    task = build("task", given)
    k, d = task.patches, task.patch_dim
    sizes = f"{k} patches of {d} coordinates" if task.patch_dims is None else f"{k} patches of different size"
    cut = " (the first of them drawn)" if max(k, d) > MOST else ""
    caption = f"Two inputs: {sizes}{cut}, noise of strength {task.sigma:g} in all; {_where(task)}"
    return {caption: picture(task, seed)}


def _where(task: Signal) -> str:
    if task.label == "product":
        return "two outlined patches hold the signal, each with a sign of its own; y is their product"
    if task.place is not None:
        return f"patch {task.place} always holds y times the signal"
    which = "the outlined patch holds" if task.signals == 1 else f"the {task.signals} outlined patches hold"
    return f"{which} y times the signal, at random places"


def picture(task: Signal, seed: int) -> str:
    """A column of cells for every patch: teal above 0, red below, the stronger the larger."""
    rng = np.random.default_rng(seed)
    k, d = min(task.patches, MOST), min(task.patch_dim, MOST)
    signal = rng.normal(size=d)
    signal /= np.linalg.norm(signal)
    parts = [text(0, 16, "x = (x_1, …, x_k)", "math"), text(WIDTH, 16, "x_t = y w* + noise", "math", "end")]
    for number, label in enumerate((1, -1)):
        top = _TOP + number * (_HEIGHT + _GAP)
        kind = "positive" if label > 0 else "negative"
        parts.append(text(0, top - 10, f"y = {'+1' if label > 0 else '−1'}", f"strong {kind}"))
        values, chosen = _drawn(task, rng, signal, label, k)
        parts += _cells(values, top, task.patch_dims)
        parts += _frames(chosen, kind, top, k)
    return svg(
        _TOP + 2 * _HEIGHT + _GAP + 8, parts, "Two inputs of noisy patches, some of which hold the signal"
    )


def _drawn(
    task: Signal, rng: np.random.Generator, signal: np.ndarray, label: int, k: int
) -> tuple[np.ndarray, list[int]]:
    """The values of an input, (patch, coordinate), and the patches that hold the signal."""
    strength = task.uneven ** (np.arange(k) / max(k - 1, 1) - 0.5)
    values = task.sigma * strength[:, None] * rng.normal(size=(k, len(signal)))
    held = 2 if task.label == "product" else min(task.signals, k)
    chosen = [min(task.place, k) - 1] if task.place else sorted(rng.choice(k, held, replace=False).tolist())
    signs = [1, label] if task.label == "product" else [label] * held
    for patch, sign in zip(chosen, signs, strict=True):
        values[patch] = sign * signal + (values[patch] if task.noisy_signal else 0)
    return values, chosen


def _cells(values: np.ndarray, top: float, sizes: tuple[int, ...] | None) -> Iterator[str]:
    k, d = values.shape
    wide, high, scale = WIDTH / k, _HEIGHT / d, float(np.abs(values).max())
    for (patch, row), value in np.ndenumerate(values):
        if sizes is not None and row >= sizes[patch]:
            continue
        kind, strength = ("positive" if value > 0 else "negative"), abs(value) / scale
        corner = f'x="{patch * wide + 1:.1f}" y="{top + row * high:.1f}"'
        size = f'width="{wide - 2:.1f}" height="{high:.1f}"'
        shade = f'stroke-width="0" fill-opacity="{0.05 + 0.95 * strength:.2f}"'
        yield f'<rect class="{kind}" {corner} {size} {shade}/>'


def _frames(chosen: list[int], kind: str, top: float, k: int) -> Iterator[str]:
    wide = WIDTH / k
    for patch in chosen:
        place = f'x="{max(patch * wide, 2):.1f}" y="{top - 2}" width="{wide - 3:.1f}" height="{_HEIGHT + 4}"'
        yield f'<rect class="{kind} frame" {place} rx="3"/>'
