"""From a study's name, a preset and ``--set`` assignments to a checked study."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from whyconv import registry
from whyconv.errors import UserError
from whyconv.spec import Piece, Spec, checked
from whyconv.studies import Study

DEEPEST = 20
"""Lists or dictionaries inside one another; no setting has more than a few."""
LARGEST = 2**53
"""Whole numbers up to here are floats, too; estimates of time and memory calculate with floats."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class _Fields(dict[str, Any]):
    """The fields of a spec, as opposed to a dictionary that may take new keys."""


def configure(
    name: str,
    preset: str = "quick",
    assignments: Iterable[str] | Mapping[str, Any] = (),
    seeds: int | None = None,
) -> Study:
    """The study ``name`` with a preset's overrides, then the user's: ``task.positions=20``.

    A path walks through the fields (``arms.MLP.network.width=64``). On the command line a value is
    read as JSON, a comma-separated list of numbers becomes a list, .5 and +1 are numbers, too, and
    anything else stays a word.
    """
    study = registry.find("study", name)
    if preset not in study.presets:
        raise UserError(f"{name} has no preset {preset!r}; choose one of {', '.join(study.presets)}.")
    values = _fields(study())
    overrides = dict(study.presets[preset])
    overrides.update(_given(assignments, seeds))
    for path, value in overrides.items():
        _assign(values, path, value)
    return checked(study, values, name)


def _given(assignments: Iterable[str] | Mapping[str, Any], seeds: int | None) -> dict[str, Any]:
    """What the user sets, each setting once."""
    pairs = list(assignments.items() if isinstance(assignments, Mapping) else map(_parsed, assignments))
    if seeds is not None:
        pairs.append(("seeds", seeds))
    for path, value in pairs:
        named = isinstance(path, str) and path.isprintable() and all(map(str.strip, path.split(".")))
        if not named:
            raise UserError(f"the setting {path!r} was given; a setting is named as in task.positions.")
        _require_sound(path, value)
    given = dict(pairs)
    if len(given) < len(pairs):
        names = [path for path, _ in pairs]
        twice = next(path for path in names if names.count(path) > 1)
        raise UserError(f"the setting {twice} was given twice; give it once.")
    return given


def _parsed(assignment: str) -> tuple[str, Any]:
    path, equals, text = assignment.partition("=")
    if not equals or not path.strip() or not text.strip():
        raise UserError(
            f"--set {assignment} was given; write it as --set NAME=VALUE, as in task.positions=20."
        )
    for form in (text, f"[{text}]"):
        try:
            return path.strip(), json.loads(form, object_pairs_hook=_each_once)
        except ValueError:
            continue
        except RecursionError:
            raise UserError(
                f"--set {path.strip()} was given a value of brackets inside brackets; {_FLAT}"
            ) from None
    if _NUMBER.fullmatch(text):
        return path.strip(), float(text)
    return path.strip(), text


_FLAT = f"take at most {DEEPEST}, one inside the other."


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise UserError(
            f"{{{', '.join(name for name, _ in pairs)}}} was given with --set; give each name once."
        )
    return made


def _require_sound(path: str, value: Any, depth: int = 0) -> None:
    """Refuse what no setting can be, wherever it is in the value: it would go into rows and their names."""
    if isinstance(value, str) and not value.isprintable():
        raise UserError(f"{path} = {value!r} was given; give printable characters only.")
    if isinstance(value, float) and not isfinite(value):
        raise UserError(f"{path} = {value} was given; give a finite number.")
    if isinstance(value, int) and abs(value) > LARGEST:
        size = value.bit_length()
        raise UserError(f"{path} was given a number of {size} bits; give one of at most {LARGEST:,}.")
    if depth > DEEPEST:
        raise UserError(f"{path} was given a value of brackets inside brackets; {_FLAT}")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str) or not name.strip():
                raise UserError(f"{path} was given a value with the name {name!r} in it; a name is a word.")
            _require_sound(path, name, depth + 1)
            _require_sound(path, item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _require_sound(path, item, depth + 1)


def _assign(values: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    place: Any = values
    for depth, part in enumerate([*parents, last]):
        known = isinstance(place, dict) and (part in place or not isinstance(place, _Fields))
        if not known or (depth < len(parents) and part not in place):
            choices = ", ".join(sorted(place)) if isinstance(place, dict) else "nothing below it"
            raise UserError(f"there is no setting {path!r} ({part!r} is unknown); choose from {choices}.")
        if depth < len(parents):
            place = place[part]
    listed = isinstance(place.get(last), list | tuple)
    place[last] = [value] if listed and not isinstance(value, list | tuple) else value


def _fields(value: Any) -> Any:
    """All fields of a spec and of the specs inside it, defaults included."""
    if isinstance(value, Spec):
        fields = _Fields({name: _fields(getattr(value, name)) for name in type(value).model_fields})
        if isinstance(value, Piece) and not isinstance(value, Study):
            fields["name"] = value.name
        return fields
    if isinstance(value, Mapping):
        return {key: _fields(item) for key, item in value.items()}
    return value
