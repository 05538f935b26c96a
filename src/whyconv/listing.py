"""What there is, in words: all pieces, one piece with its settings, or one study with its forecast."""

from __future__ import annotations

import difflib
import inspect
import json
import shutil
import textwrap
from typing import Any

from whyconv import registry
from whyconv.errors import UserError
from whyconv.runner.events import cores
from whyconv.runner.forecast import duration, forecast
from whyconv.settings import configure


def everything(paper: str = "") -> dict[str, list[dict[str, str]]]:
    """Every piece by kind, or those of a paper: its name, its first line, its reference."""
    order = ("study", "claim", "task", "network", "learner")
    return {
        registry.KINDS[kind]: [
            {"name": piece.name, "summary": piece.summary(), "reference": piece.reference}
            for piece in registry.pieces(kind)
            if not paper or piece.name.partition(".")[0] == paper
        ]
        for kind in order
    }


def one(name: str) -> dict[str, Any]:
    """A paper's studies and claims; a study with its grid and forecast; any other piece with its settings."""
    pieces = [piece for kind in registry.KINDS for piece in registry.pieces(kind)]
    found = [piece for piece in pieces if piece.name == name]
    if not found and any(piece.name.partition(".")[0] == name for piece in pieces):
        return everything(name)
    if not found:
        close = difflib.get_close_matches(name, [piece.name for piece in pieces])
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise UserError(f"there is nothing named {name!r}; {hint}whyconv list shows all names.")
    piece = found[0]
    if piece.kind == "study":
        return study(name)
    schema = piece.model_json_schema().get("properties", {})
    return {
        "kind": piece.kind,
        "name": name,
        "text": "\n\n".join(_documents(piece)),
        "reference": piece.reference,
        "settings": {
            field: {"default": about.get("default"), "allowed": _allowed(about)}
            for field, about in schema.items()
        },
    }


def _documents(piece: type) -> list[str]:
    """What a piece says of itself, and what the unnamed class of its module says that it is a case of."""
    shared = [
        base for base in piece.__mro__[1:] if base.__module__ == piece.__module__ and not vars(base)["name"]
    ]
    return [inspect.cleandoc(each.__doc__ or "") for each in (piece, *shared)]


def _allowed(about: dict[str, Any]) -> str:
    """The values a setting may have, from its JSON schema."""
    parts = [part for part in about.get("anyOf", [about]) if part.get("type") != "null"]
    words = []
    for part in parts:
        if "enum" in part:
            words.append(", ".join(str(value) for value in part["enum"]))
            continue
        kind = str(part.get("type", ""))
        kind = {"array": "list", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)
        signs = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
        limits = [f"{sign} {part[key]:g}" for key, sign in signs if key in part]
        words.append(" ".join([kind, " and ".join(limits)]).strip())
    return " or ".join(words)


def study(name: str) -> dict[str, Any]:
    """One study: criterion, control, and for every preset its settings, trials and forecast."""
    piece = registry.find("study", name)
    presets = {}
    for preset in piece.presets:
        chosen = configure(name, preset)
        points = chosen.plan({})
        guess = forecast(chosen.outlook(), cores())
        grid: dict[str, list[Any]] = {}
        for point in points:
            for label, value in point.labels.items():
                if value not in grid.setdefault(label, []):
                    grid[label].append(value)
        presets[preset] = {
            "data": chosen.data(),
            "grid": grid,
            "seeds": chosen.seeds,
            "trials": guess.trials,
            "seconds": round(guess.seconds, 1),
            "seconds_at_most": round(guess.seconds_limit, 1),
            "workers": guess.workers,
            "memory_bytes": round(guess.memory),
        }
    return {
        "study": name,
        "summary": piece.summary(),
        "reference": piece.reference,
        "criterion": piece.criterion,
        "control": piece.broken,
        "adaptive": piece.adaptive,
        "settings": sorted(piece.model_fields),
        "presets": presets,
    }


def text(told: dict[str, Any]) -> str:
    """The same for people, fitted to the terminal."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    if "studies" in told:
        return _pieces(told, width)
    return _study(told, width) if "study" in told else _piece(told, width)


def _piece(told: dict[str, Any], width: int) -> str:
    lines = [f"{told['kind']} {told['name']}", told["reference"], "", told["text"], ""]
    for field, about in told["settings"].items():
        default = "" if about["default"] is None else f", default {json.dumps(about['default'])}"
        text = f"{field}: {about['allowed']}{default}"
        lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


def _pieces(told: dict[str, Any], width: int) -> str:
    lines = []
    for kind, pieces in told.items():
        if not pieces:
            continue
        lines.append(kind.upper())
        margin = max(len(piece["name"]) for piece in pieces) + 4 if pieces else 0
        for piece in pieces:
            head = f"  {piece['name']:<{margin - 2}}"
            place = piece["reference"].partition(", ")[2] or piece["reference"]
            line = f"{head}[{place}] {piece['summary']}"
            lines.append(line if len(line) <= width else line[: width - 3].rstrip() + "...")
        lines.append("")
    papers = {
        piece["name"].partition(".")[0]: piece["reference"].partition(", ")[0]
        for piece in told["studies"] + told["claims"]
    }
    lines += [f"{short}: {authors}" for short, authors in sorted(papers.items())]
    lines.append("whyconv list NAME tells more: a study's grid, presets and forecast, a piece's settings.")
    return "\n".join(lines)


def _study(told: dict[str, Any], width: int) -> str:
    def paragraph(title: str, body: str) -> list[str]:
        return textwrap.wrap(f"{title}: {body}", width, subsequent_indent="  ")

    lines = [f"{told['study']} - {told['summary']}", told["reference"], ""]
    lines += paragraph("criterion", told["criterion"]) + paragraph("control", told["control"])
    lines += [*paragraph("settings", ", ".join(told["settings"]) + " (--set NAME=VALUE)"), ""]
    about = "about " if told["adaptive"] else ""
    for name, preset in told["presets"].items():
        lines.append(
            f"preset {name}: {about}{preset['trials']} trials, {preset['seeds']} seeds, about "
            f"{duration(preset['seconds'])} on {preset['workers']} workers (at most "
            f"{duration(preset['seconds_at_most'])}), {preset['memory_bytes'] / 1e9:.1f} GB"
        )
        if preset["data"]:
            lines += textwrap.wrap(preset["data"], width, initial_indent="  ", subsequent_indent="  ")
        for label, values in preset["grid"].items():
            first = ", first" if label == "m" and told["adaptive"] else ""
            between = "; " if any("," in str(value) for value in values) else ", "
            lines += paragraph(f"  {label}{first}", between.join(str(value) for value in values))
    return "\n".join(lines)
