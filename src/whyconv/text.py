"""Text shared by the terminal, the report and the runner: counts, durations, seeds, titles of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyconv.verdict import control_fault

if TYPE_CHECKING:
    from whyconv.verdict import Evidence

PASSED = ("holds", "consistent", "holds as corrected")


def count(quantity: int, singular: str, plural: str | None = None) -> str:
    """``3 rows``, ``1 row``, ``no rows``."""
    word = singular if quantity == 1 else plural or f"{singular}s"
    return f"{f'{quantity:,}' if quantity else 'no'} {word}"


def duration(seconds: float | None) -> str:
    """A measured time; empty if there is none.

    >>> duration(0.25), duration(60), duration(600), duration(7200)
    ('250 ms', '60.0 s', '10 min', '2.0 h')
    """
    if seconds is None or not math.isfinite(seconds):
        return ""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def rough_duration(seconds: float) -> str:
    """A forecast time, rounded as coarsely as forecasts deserve.

    >>> rough_duration(0.2), rough_duration(12.3), rough_duration(170), rough_duration(9000)
    ('1 s', '12 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def labelled(labels: Mapping[str, Any]) -> str:
    """A point's labels.

    >>> labelled({"arm": "MLP", "m": 40})
    'arm MLP, m 40'
    """
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def seeds(values: Sequence[int]) -> str:
    """Seeds, with consecutive ones as ranges.

    >>> seeds([0, 1, 2, 3, 4]), seeds([7]), seeds([0, 1, 5])
    ('seeds 0–4', 'seed 7', 'seeds 0, 1, 5')
    """
    if not values:
        return "no seeds"
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts = [f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"seed{'s' if len(set(values)) > 1 else ''} {', '.join(parts)}"


def means_of(outcome: str, counts: Iterable[int]) -> str:
    """The title of a table of means, or of single results if nothing was repeated.

    >>> means_of("test_error", [5, 5]), means_of("test_error", [1, 1])
    ('Mean test error with 95 % intervals', 'Test error of one repetition: no intervals')
    """
    words = outcome.replace("_", " ")
    if max(counts, default=0) == 1:
        return f"{words.capitalize()} of one repetition: no intervals"
    return f"Mean {words} with 95 % intervals"


def undecided(evidence: Evidence, repetitions: int) -> str:
    """Why a verdict is *undecided*, in a sentence, and whether more seeds help; empty for other verdicts."""
    if evidence.verdict != "undecided":
        return ""
    if evidence.why:
        return f"Undecided: {evidence.why}; more seeds do not help."
    if repetitions == 1:
        return "Undecided: one repetition has no interval; more seeds are needed."
    return "Undecided: an interval contains its threshold; more seeds may decide."


def control_said(verdict: str, control: str, lost: str = "fails, as it must") -> tuple[str, bool]:
    """A control's verdict as news, and whether it is good: a control that flips is what one hopes for.

    ``lost`` says what a control does that fails where the statement holds.

    >>> control_said("consistent", "fails"), control_said("holds", "holds")
    (('fails, as it must', True), ('did not change the verdict', False))
    """
    if {verdict, control} == {"undecided"}:
        return "undecided, as the verdict is", True
    if fault := control_fault(verdict, control):
        return ("undecided, so it proves nothing yet" if control == "undecided" else fault), False
    if verdict == "undecided":
        return f"{control}, while the verdict is undecided", True
    if control == "fails":
        return lost, True
    return ("passes, as it must" if control in PASSED else f"{control}, as it must be"), True
