"""``whyconv cite``: one verdict with its id, digest and version, as text, BibTeX or JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from whyconv import api, citing, registry
from whyconv.cli import terminal
from whyconv.errors import UserError
from whyconv.paths import given_path
from whyconv.record import best, run_of
from whyconv.runner.opened import open_folder
from whyconv.runs import runs_of


def cite(
    name: Annotated[str, typer.Argument(metavar="CLAIM|STUDY", help="What to cite.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--in", metavar="DIR", parser=given_path, help="A study's rows; default: the recorded ones."
        ),
    ] = None,
    load: Annotated[
        list[str] | None, typer.Option(help="A Python file of your own pieces; may be repeated.")
    ] = None,
    as_bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Cite a verdict, with its version and digest.

    A claim is decided again for it, a study is judged by its rows.
    """
    if as_bibtex and as_json:
        raise UserError("--bibtex and --json exclude each other; give one of them.")
    for file in load or ():
        registry.load(file)
    piece = _piece(name)
    if piece.kind == "study":
        found = _of_study(piece, folder, load or [])
    elif folder is not None:
        raise UserError(f"--in {folder} was given, but {name} is a claim, which has no rows; leave it out.")
    else:
        decided = api.check(piece.name, load or (), watch=terminal.announcer(as_json))[0]
        found = citing.claim_cited(piece, decided)
    print(
        json.dumps(found, indent=2)
        if as_json
        else citing.bibtex(found)
        if as_bibtex
        else citing.sentence(found)
    )


def _piece(name: str) -> Any:
    """The claim or study of this name, or the only one about this place of a paper."""
    for kind in ("claim", "study"):
        if (found := registry.known(kind, name)) is not None:
            return found
    about = [piece for kind in ("claim", "study") for piece in registry.at(kind, name)]
    if len(about) == 1:
        return about[0]
    if about:
        names = ", ".join(piece.name for piece in about)
        raise UserError(f"{name} stands for several verdicts; cite one of {names}.")
    known = (piece.name for kind in ("claim", "study") for piece in registry.pieces(kind))
    near = ", ".join(registry.nearest(name, known))
    raise UserError(f"there is no claim and no study {name!r}; nearest: {near}.")


def _of_study(study: Any, folder: Path | None, load: list[str]) -> dict[str, str]:
    """The latest run in the folder, or the recorded one that README shows."""
    name = study.name
    if folder is None:
        runs = [run_of(kept)] if (kept := best(study)) else []
    else:
        opened = open_folder(folder, load)
        terminal.note(opened.problems, opened.remarks)
        runs = [run for run in runs_of(opened) if run.study.name == name and not run.unfit]
    if not runs:
        where = f"in {folder}" if folder else "recorded"
        raise UserError(f"no rows of {name} are {where}; run it with --out DIR, then cite it with --in DIR.")
    return citing.run_cited(runs[-1])
