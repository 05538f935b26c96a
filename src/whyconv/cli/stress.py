"""``whyconv check --stress``: the search for counterexamples, shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from whyconv import api, registry
from whyconv.cli.terminal import number, safe
from whyconv.errors import UserError
from whyconv.stress import FILE, Found, search
from whyconv.text import count, rough_duration


def stressed(which: str, load: list[str], folder: Path, minutes: float, quiet: bool) -> dict[str, Found]:
    """Search, with progress on stderr."""
    if not 0 < minutes <= 10_000:
        raise UserError(f"--minutes {minutes:g} was given; take a number above 0, at most 10,000.")
    for file in load:
        registry.load(file)
    return search(api.chosen_claims(which), folder, minutes, _silent if quiet else _Progress())


def _silent(claim: str, rounds: int, left: float) -> None:
    del claim, rounds, left


class _Progress:
    """One line that is redrawn in a terminal; elsewhere one at the beginning."""

    def __init__(self) -> None:
        self._drawn = sys.stderr.isatty()
        self._begun = False

    def __call__(self, claim: str, rounds: int, left: float) -> None:
        if self._drawn:
            text = f"{count(rounds, 'round')}, {rough_duration(left)} left: {claim}"
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif not self._begun:
            print(f"searching for about {rough_duration(left)}", file=sys.stderr, flush=True)
        self._begun = True


def as_data(found: Mapping[str, Found], unsearched: Mapping[str, str]) -> list[dict[str, Any]]:
    """One object for every inequality, and one for every claim without a search, with its reason."""
    searched = [
        {"claim": claim, "inequality": name, "error": each.error, "rounds": each.rounds, **case}
        for claim, each in found.items()
        for name, case in (each.data()["largest"] or {"": {}}).items()
    ]
    others = [
        {"claim": claim, "inequality": "", "error": "", "rounds": 0, "unsearched": reason}
        for claim, reason in unsearched.items()
    ]
    return [*searched, *others]


def print_found(found: Mapping[str, Found], folder: Path, unsearched: Mapping[str, str]) -> None:
    """The largest ratio of every inequality, the nearest to its bound first; then what is not searched."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("measured / bound", justify="right")
    table.add_column("claim and inequality")
    table.add_column("rounds", justify="right")
    cases = [
        (case.ratio, claim, name, number_of_round, case.settings, each.rounds)
        for claim, each in found.items()
        for name, (number_of_round, case) in each.largest.items()
    ]
    for ratio, claim, name, place, settings, rounds in sorted(cases, key=lambda case: -case[0]):
        where = ", ".join(f"{key} {number(value)}" for key, value in settings.items())
        table.add_row(
            f"{ratio:.4g}",
            f"[bold]{claim}[/]  {safe(name)}\n[dim]round {place}: {safe(where)}[/]",
            f"{rounds:,}",
        )
    Console().print(table)
    for claim, reason in unsearched.items():
        Console().print(f"[bold]{claim}[/]  [dim]not searched: {safe(reason)}[/]")
    for claim, each in found.items():
        if each.error:
            print(f"{claim}: {each.error}.", file=sys.stderr)
    violated = [f"{claim} ({name})" for claim, each in found.items() for name in each.contradicted]
    total = count(sum(each.rounds for each in found.values()), "round")
    verdict = f"COUNTEREXAMPLES: {', '.join(violated)}" if violated else "no counterexample"
    print(f"{verdict} in {total}. Record: {folder / FILE}; the same command goes on from there.")
