"""Arms that a user changed are shown under a name that says the change: ``ConvPool (stride=10)``.

Rows, criteria and tables of the study keep the plain name; what readers see (answers, means, figures) does
not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from whyconv.lazy import alt, pd
from whyconv.studies.answers import Answer
from whyconv.text import labelled


def names_of(arms: Iterable[str], changes: Iterable[str]) -> dict[str, str]:
    """The changed arms with the names they are shown under.

    ``changes`` are assignments as on the command line.

    >>> names_of(["CNN", "MLP"], ["arms.CNN.network.stride=10", "task.noise=1"])
    {'CNN': 'CNN (stride=10)'}
    """
    found: dict[str, list[str]] = {}
    for change in changes:
        path, _, value = change.partition("=")
        for arm in arms:
            if path == f"arms.{arm}" or path.startswith(f"arms.{arm}."):
                found.setdefault(arm, []).append(
                    _said(path.removeprefix(f"arms.{arm}").rpartition(".")[2], value)
                )
    return {arm: f"{arm} ({', '.join(parts)})" for arm, parts in found.items()}


def _said(field: str, value: str) -> str:
    """A change in a few words; a whole piece by its name and its settings."""
    if not value.startswith("{"):
        return f"{field}={value}"
    given = json.loads(value)
    piece = given.get("network") if isinstance(given.get("network"), dict) else given
    name = str(piece.get("name", field))
    return " ".join(filter(None, (name, labelled({k: v for k, v in piece.items() if k != "name"}))))


def answers(found: Iterable[Answer], names: Mapping[str, str]) -> list[Answer]:
    """The answers with the arms under the names they are shown under."""
    return [
        replace(each, given=names.get(each.given, each.given), without=names.get(each.without, each.without))
        for each in found
    ]


def lines(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """A data frame with a column of arms, under the names they are shown under."""
    return frame.assign(arm=frame["arm"].replace(dict(names))) if names and "arm" in frame else frame


def chart(drawn: Any, names: Mapping[str, str]) -> Any:
    """A chart with the arms under the names they are shown under: in data, scales and legends."""

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return names.get(value, value)
        if isinstance(value, dict):
            return {name: renamed(item) for name, item in value.items()}
        return [renamed(item) for item in value] if isinstance(value, list) else value

    return alt.Chart.from_dict(renamed(drawn.to_dict())) if names else drawn
