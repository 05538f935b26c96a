"""``whyconv profile``: what compiling and running one trial of each kind takes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from whyconv import registry
from whyconv.profiling import Kind
from whyconv.profiling import profile as measured
from whyconv.settings import configure


def profile(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study whose programs are measured.")],
    preset: Annotated[str, typer.Option(help="The study's preset.")] = "quick",
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting, as in run.")] = None,
    load: Annotated[list[str] | None, typer.Option(metavar="FILE", help="A file of your own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell how long a study's programs take to compile, and to run.

    One trial of each kind is run.
    """
    for file in load or ():
        registry.load(file)
    found = list(measured(configure(study, preset, set_ or ()).outlook()))
    print(json.dumps([data(kind) for kind in found], indent=2) if as_json else text(found))


def data(kind: Kind) -> dict[str, object]:
    """One kind of trial as JSON data."""
    trial = kind.trial
    return {
        "task": trial.task.name,
        "network": trial.network.name if trial.network else None,
        "learner": trial.learner.name,
        "m": trial.m,
        "compile_seconds": kind.compiling,
        "run_seconds": kind.seconds - kind.compiling,
        "programs": [vars(program) for program in kind.programs],
    }


def text(found: list[Kind]) -> str:
    """A line per program that takes at least 10 ms, in 80 columns."""
    lines = [f"{'':44}{'made':>6}{'cached':>8}{'compile s':>11}{'run s':>9}"]
    for kind in found:
        trial = kind.trial
        names = [trial.task.name, trial.network.name if trial.network else "", trial.learner.name]
        title = f"{', '.join(filter(None, names))}, m = {trial.m}"
        made, cached = (sum(getattr(p, name) for p in kind.programs) for name in ("made", "cached"))
        run = kind.seconds - kind.compiling
        lines.append(f"{title:44.44}{made:6}{cached:8}{kind.compiling:11.2f}{run:9.2f}")
        large = [program for program in kind.programs if program.seconds >= 0.01]
        lines += [f"  {p.name:42.42}{p.made:6}{p.cached:8}{p.seconds:11.2f}" for p in large]
    return "\n".join(lines)
