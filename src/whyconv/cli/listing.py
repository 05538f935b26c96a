"""``whyconv list``: all pieces, one piece with its settings, or one study with its forecast."""

from __future__ import annotations

import inspect
import json
import shutil
import textwrap
from typing import Any

from whyconv import registry
from whyconv.claims.errata import LABELS
from whyconv.cli.plain_text import unmarked, wrapped
from whyconv.errors import UserError
from whyconv.functions import Named, choices
from whyconv.published import Paper
from whyconv.runner.forecast import forecast, on_cluster
from whyconv.settings import configure
from whyconv.spec import Piece, Spec, plain
from whyconv.system import cores
from whyconv.text import count, rough_duration


def one(name: str, slots: int | None = None) -> dict[str, Any]:
    """A paper's studies and claims; a study with its grid and forecast; any other piece with its settings.

    All pieces of that name, or with that name after their paper's: ``fig4``; or about a place: ``Lemma 5.2``.
    ``slots``: forecast the study on a cluster with so many, too.
    """
    pieces = [piece for kind in (*registry.KINDS, *registry.FUNCTIONS) for piece in registry.pieces(kind)]
    found = (
        [piece for piece in pieces if piece.name == name]
        or [piece for piece in pieces if piece.name.partition(".")[2] == name]
        or [piece for kind in ("study", "claim") for piece in registry.at(kind, name)]
    )
    if slots is not None and [piece.kind for piece in found] != ["study"]:
        wrong = f", but {name!r} is no study; leave it out" if name else " without a study; leave it out"
        raise UserError(f"--slots was given{wrong}, or name a study.")
    if not found and any(piece.name.partition(".")[0] == name for piece in pieces):
        paper = registry.paper(name)
        return {**registry.everything(name), **({"paper": paper.data()} if paper else {})}
    if not found:
        papers = (piece.name.partition(".")[0] for piece in pieces if "." in piece.name)
        near = ", ".join(registry.nearest(name, [*papers, *(piece.name for piece in pieces)]))
        raise UserError(f"there is nothing named {name!r}; nearest: {near}; whyconv list shows all names.")
    if len(found) > 1:
        return {"namesakes": [_one(piece) for piece in found]}
    return _one(found[0], slots)


def _one(piece: Any, slots: int | None = None) -> dict[str, Any]:
    name = piece.name
    if piece.kind == "study":
        return study(name, slots)
    if isinstance(piece, Named):
        return _function(piece)
    schema, named = piece.model_json_schema().get("properties", {}), choices(piece)
    return {
        "kind": piece.kind,
        "name": name,
        "text": "\n\n".join(_documents(piece)),
        "reference": piece.reference,
        **({"recorded": piece.expected} if piece.kind == "claim" else {}),
        **({"erratum": piece.erratum.data()} if getattr(piece, "erratum", None) else {}),
        "settings": {
            field: {
                "default": about.get("default"),
                "allowed": ", ".join(named[field].names(piece)) if field in named else _allowed(about),
            }
            for field, about in schema.items()
        },
    }


def _function(function: Named) -> dict[str, Any]:
    """A function: its docstring, and the settings of pieces that accept it."""
    users = [
        f"{setting} of {piece.name}"
        for kind in registry.KINDS
        for piece in registry.pieces(kind)
        for setting, choice in choices(piece).items()
        if choice.kind == function.kind and function.fits(piece)
    ]
    where = f"Can be given as {', '.join(users)}." if users else ""
    return {
        "kind": function.kind,
        "name": function.name,
        "text": "\n\n".join(filter(None, (inspect.cleandoc(function.__doc__ or ""), where))),
        "reference": function.reference,
        "settings": {},
    }


def _documents(piece: type[Piece]) -> list[str]:
    """The docstring of a piece, then those of the classes that its settings come from, nearest first.

    That of its kind is left out; a base that is a piece itself is named.
    """
    contract = next(base for base in piece.__mro__ if "kind" in vars(base))
    shared = [
        base
        for base in piece.__mro__[1:]
        if base not in contract.__mro__ and (issubclass(base, Piece) or base.__module__ == piece.__module__)
    ]
    texts = [inspect.cleandoc(piece.__doc__ or "")]
    for base in shared:
        text, name = inspect.cleandoc(base.__doc__ or ""), vars(base).get("name", "")
        if text and text not in texts:
            texts += [f"Otherwise like {name}:", text] if name else [text]
    return texts


def _allowed(about: dict[str, Any]) -> str:
    """The values that a setting accepts, from its JSON schema."""
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


def study(name: str, slots: int | None = None) -> dict[str, Any]:
    """One study: criterion, control, and for every preset its settings, trials and forecast."""
    piece = registry.find("study", name)
    presets = {}
    for preset in piece.presets:
        chosen = configure(name, preset)
        points = chosen.plan({})
        outlook = chosen.outlook()
        guess, there = forecast(outlook, cores()), on_cluster(outlook, slots) if slots else None
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
            **({"cluster": {"slots": slots, "seconds": round(there.seconds, 1)}} if there else {}),
        }
    return {
        "study": name,
        "summary": piece.summary(),
        "reference": piece.reference,
        "criterion": piece.criterion,
        "control": piece.broken,
        "adaptive": piece.adaptive,
        "settings": _settings(piece),
        "presets": presets,
    }


def _settings(piece: type[Any]) -> dict[str, dict[str, Any]]:
    """Every setting of a study with its default, and what the preset quick changes in it."""
    default, changes = piece(), piece.presets.get("quick", {})
    quick = configure(piece.name) if changes else default
    settings: dict[str, dict[str, Any]] = {
        field: {"default": _value(getattr(default, field))} for field in sorted(piece.model_fields)
    }
    for path in changes:
        here, there = (_value(_at(study, path)) for study in (default, quick))
        if here != there:
            settings[path.partition(".")[0]].setdefault("quick", {})[path] = there
    return settings


def _at(value: Any, path: str) -> Any:
    """The setting at a path such as ``task.positions``."""
    for part in path.split("."):
        value = getattr(value, part) if isinstance(value, Spec) else value[part]
    return value


def _value(value: Any) -> Any:
    """A setting as ``--set`` accepts it: a piece with default settings is just its name."""
    if isinstance(value, Spec) and not isinstance(value, Piece):
        return {name: _value(getattr(value, name)) for name in type(value).model_fields}
    return _named(plain(value))


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return (
            value["name"] if list(value) == ["name"] else {key: _named(item) for key, item in value.items()}
        )
    return value


def text(listed: dict[str, Any]) -> str:
    """A listing as text, fitted to the terminal."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 120)
    if "namesakes" in listed:
        return "\n\n".join(text(each) for each in listed["namesakes"])
    if "studies" in listed:
        return _pieces(listed, width)
    return _study(listed, width) if "study" in listed else _piece(listed, width)


def _piece(listed: dict[str, Any], width: int) -> str:
    lines = [f"{listed['kind']} {listed['name']}"]
    lines += [wrapped(listed["reference"], width)] if listed["reference"] else []
    if "recorded" in listed:
        check = f"whyconv check {listed['name']}"
        lines.append(wrapped(f"Recorded verdict: {listed['recorded']} ({check} decides it again).", width))
    lines += ["", wrapped(listed["text"], width), ""]
    for name, text in listed.get("erratum", {}).items():
        lines += _indented(f"{LABELS[name]}: {text}", width)
    for field, about in listed["settings"].items():
        default = "" if about["default"] is None else f", default {json.dumps(about['default'])}"
        lines += _indented(f"{field}: {about['allowed']}{default}", width)
    return "\n".join(lines)


def _pieces(listed: dict[str, Any], width: int) -> str:
    paper = listed.get("paper")
    lines = [wrapped(Paper(**paper).sentence, width), ""] if paper else []
    for kind, pieces in listed.items():
        if kind == "paper" or not pieces:
            continue
        lines.append(kind.upper())
        margin = min(max(len(piece["name"]) for piece in pieces) + 4, 34)
        for piece in pieces:
            place = piece["reference"].partition(", ")[2] or piece["reference"]
            where = f" [{place}]" if place else ""
            head, said = f"  {piece['name']:<{margin - 2}}", unmarked(piece.get("title") or piece["summary"])
            if len(head) > margin:
                lines.append(head)
                head = ""
            lines += textwrap.wrap(
                f"{said}{where}", width, break_on_hyphens=False,
                initial_indent=head or " " * margin, subsequent_indent=" " * margin,
            )  # fmt: skip
        lines.append("")
    papers = {
        piece["name"].partition(".")[0]: piece["reference"].partition(", ")[0]
        for piece in listed["studies"] + listed["claims"]
    }
    lines += [f"{short}: {authors}" for short, authors in sorted(papers.items())]
    more = "whyconv list NAME shows more: a study's grid, presets and forecast, a piece's settings."
    return "\n".join([*lines, wrapped(more, width)])


def _study(listed: dict[str, Any], width: int) -> str:
    def paragraph(text: str) -> list[str]:
        return textwrap.wrap(unmarked(text), width, subsequent_indent="  ", break_on_hyphens=False)

    lines = [*paragraph(f"{listed['study']} - {listed['summary']}"), *paragraph(listed["reference"]), ""]
    lines += paragraph(f"criterion: {listed['criterion']}") + paragraph(f"control: {listed['control']}")
    lines += ["", "settings with their defaults (--set NAME=VALUE):"]
    for field, setting in listed["settings"].items():
        quick = ", ".join(
            f"{'' if path == field else f'{path} = '}{_shown(value)}"
            for path, value in setting.get("quick", {}).items()
        )
        default = _shown(setting["default"])
        lines += _indented(f"{field}: {default}{f'; quick: {quick}' if quick else ''}", width)
    lines.append("")
    about = "about " if listed["adaptive"] else ""
    for name, preset in listed["presets"].items():
        trials, seeds = count(preset["trials"], "trial"), count(preset["seeds"], "seed")
        time, slow = (rough_duration(preset[key]) for key in ("seconds", "seconds_at_most"))
        lines += paragraph(
            f"preset {name}: {about}{trials}, {seeds}, about {time} on {count(preset['workers'], 'worker')}"
            f"{f' ({slow} if nothing stops early)' if slow != time else ''}, "
            f"{preset['memory_bytes'] / 1e9:.1f} GB"
        )
        if there := preset.get("cluster"):
            slots, time = count(there["slots"], "slot"), rough_duration(there["seconds"])
            lines += _indented(f"on a cluster of {slots}: about {time}", width)
        if preset["data"]:
            lines += _indented(preset["data"], width)
        for label, values in preset["grid"].items():
            first = ", first" if label == "m" and listed["adaptive"] else ""
            between = "; " if any("," in str(value) for value in values) else ", "
            lines += _indented(f"{label}{first}: {between.join(str(value) for value in values)}", width)
    return "\n".join(lines)


def _indented(text: str, width: int) -> list[str]:
    """A line below a heading, wrapped and indented."""
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _shown(value: Any) -> str:
    """A setting as on the command line: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
