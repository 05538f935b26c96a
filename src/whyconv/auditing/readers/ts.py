"""Time series in the format of sktime and aeon (``.ts``).

Lines that begin with # are comments and lines that begin with @ describe the data; after ``@data`` every line
is an example: channels separated by colons, values by commas, and at the end, after a colon, its label::

    @classLabel true up down
    @data
    1.0,2.0,3.0:0.5,0.4,0.3:up
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whyconv.auditing.bad_data import BadData, require_room
from whyconv.auditing.readers import Asked, Read, opened, reader, refuse
from whyconv.lazy import NDArray, np

LONGEST_HEAD = 10_000
SPREAD = 16
"""Bytes in memory for one byte of text, at most: values are kept as text, then as numbers."""


@reader(".ts")
def ts(path: Path, asked: Asked) -> Read:
    """Series of any lengths with one or more channels; classes, or real targets if the file says so."""
    refuse(path, asked, "label", "x", "groups")
    with opened(path) as file:
        require_room(SPREAD * path.stat().st_size, path.name, asked.memory)
        try:
            lines = file.read().decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise BadData(f"{path.name} is not text in UTF-8; save it so.") from error
    numbered = iter(enumerate(lines, 1))
    said = _head(path, numbered)
    labelled, regression = _true(said.get("classlabel")), _true(said.get("targetlabel"))
    if _true(said.get("timestamps")):
        raise BadData(
            f"{path.name} has time stamps; resample its series to equal steps and save values alone."
        )
    if not labelled and not regression:
        raise BadData(
            f"{path.name} has no labels (@classLabel or @targetLabel true); give a file with labels."
        )
    series, labels = [], []
    for number, line in numbered:
        if line.strip() and not line.startswith("#"):
            values, label = _example(path, number, line)
            series.append(values)
            labels.append(label)
    if not series:
        raise BadData(f"{path.name} has no line after @data; give examples.")
    depths = {values.shape[1] for values in series}
    if len(depths) > 1:
        raise BadData(
            f"{path.name} has examples of {min(depths)} to {max(depths)} channels; give each the same."
        )
    y: Any = _targets(path, labels) if regression else np.array(labels)
    same = len({len(values) for values in series}) == 1
    return Read(
        np.stack(series) if same else series, y, grid="series", channels="last", regression=regression
    )


def _head(path: Path, lines: Iterator[tuple[int, str]]) -> dict[str, str]:
    """What the lines before ``@data`` say, by lower-case names."""
    said: dict[str, str] = {}
    for number, line in lines:
        words = line.strip().split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        if number > LONGEST_HEAD or not words[0].startswith("@"):
            break
        name = words[0][1:].lower()
        if name == "data":
            return said
        said[name] = words[1] if len(words) > 1 else ""
    raise BadData(f"{path.name} has no line @data; give a .ts file as sktime and aeon write them.")


def _true(text: str | None) -> bool:
    return (text or "").split()[:1] in (["true"], ["True"])


def _example(path: Path, number: int, line: str) -> tuple[NDArray, str]:
    """(steps, channels) and the label; ``?`` is a missing value, and channels of one example end together."""
    *channels, label = line.strip().split(":")
    try:
        columns = [
            [np.nan if cell.strip() in ("?", "NaN") else float(cell) for cell in each.split(",")]
            for each in channels
        ]
    except ValueError as error:
        raise BadData(
            f"{path.name}, line {number}: {error!s:.80}; give numbers, commas and colons."
        ) from error
    if not columns or len({len(column) for column in columns}) > 1:
        raise BadData(
            f"{path.name}, line {number}: {len(columns)} channels of different lengths; give each as many "
            "steps."
        )
    return np.array(columns, np.float64).T, label.strip()


def _targets(path: Path, labels: list[str]) -> NDArray:
    try:
        return np.array([float(label) for label in labels])
    except ValueError as error:
        raise BadData(f"{path.name} has a target that is no number ({error!s:.60}); mend it.") from error
