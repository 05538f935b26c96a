"""Reads settings from ``--set`` or a notebook, with the checks that need no study."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from whyconv.errors import UserError

DEEPEST = 20
"""Limit for nested lists or dictionaries; no setting needs more than a few."""
LARGEST = 2**53
"""Integers up to here are exact as floats, which estimates of time and memory use."""
SMALLEST = 1e-37
"""Of numbers other than 0; most trials compute in float32, which has hardly smaller ones."""
_FLAT = f"nest at most {DEEPEST} of them."
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def given(assignments: Iterable[str] | Mapping[str, Any], seeds: int | None) -> dict[str, Any]:
    """The values that the user sets, by the names of settings; each may be given once."""
    pairs = list(assignments.items() if isinstance(assignments, Mapping) else map(_parsed, assignments))
    if seeds is not None:
        pairs.append(("seeds", seeds))
    for path, value in pairs:
        named = isinstance(path, str) and path.isprintable() and all(map(str.strip, path.split(".")))
        if not named:
            raise UserError(f"the setting {path!r} was given; give a name such as task.positions.")
        _require_sound(path, value)
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [path for path, _ in pairs]
        twice = next(path for path in names if names.count(path) > 1)
        raise UserError(f"the setting {twice} was given twice; give it once.")
    return found


def _parsed(assignment: str) -> tuple[str, Any]:
    """Name and value of ``NAME=VALUE``."""
    path, equals, text = assignment.partition("=")
    if not equals or not path.strip() or not text.strip():
        raise UserError(
            f"--set {assignment} was given; write it as --set NAME=VALUE, as in task.positions=20."
        )
    for form in (text, f"[{text}]"):
        try:
            return path.strip(), json.loads(form, object_pairs_hook=_each_once, parse_float=_real)
        except ValueError:
            continue
        except RecursionError:
            raise UserError(f"--set {path.strip()} was given a value of nested brackets; {_FLAT}") from None
    if _NUMBER.fullmatch(text):
        return path.strip(), _real(text)
    return path.strip(), text


def _real(text: str) -> float:
    """The number; one that is too small for a float is refused instead of becoming 0."""
    number = float(text)
    if number == 0 and re.search("[1-9]", text.lower().partition("e")[0]):
        raise UserError(f"{text} was given with --set; give 0, or a number of at least {SMALLEST} in size.")
    return number


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise UserError(
            f"{{{', '.join(name for name, _ in pairs)}}} was given with --set; give each name once."
        )
    return made


def _require_sound(path: str, value: Any, depth: int = 0) -> None:
    """Refuse what no setting can be, anywhere in the value: it would become part of rows and their keys."""
    if isinstance(value, str) and not value.isprintable():
        raise UserError(f"{path} = {value!r} was given; give printable characters only.")
    if isinstance(value, float) and not isfinite(value):
        raise UserError(f"{path} = {value} was given; give a finite number.")
    if isinstance(value, float) and 0 < abs(value) < SMALLEST:
        raise UserError(f"{path} = {value} was given; give 0, or a number of at least {SMALLEST} in size.")
    if isinstance(value, int) and abs(value) > LARGEST:
        size = value.bit_length()
        raise UserError(f"{path} was given a number of {size} bits; give one of at most {LARGEST:,}.")
    if depth > DEEPEST:
        raise UserError(f"{path} was given a value of nested brackets; {_FLAT}")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str) or not name.strip():
                raise UserError(f"{path} was given a value with the name {name!r} in it; a name is a word.")
            _require_sound(path, name, depth + 1)
            _require_sound(path, item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _require_sound(path, item, depth + 1)
