"""Recomputes a few stored rows and compares them byte by byte."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from whyconv import registry
from whyconv.errors import UserError
from whyconv.runner import environment
from whyconv.runner.events import Options
from whyconv.runner.places import local
from whyconv.runner.pool import Errand, Outcome
from whyconv.runner.store import Store
from whyconv.spec import to_json
from whyconv.trial import Row, Trial

OTHER_ENVIRONMENT = "computed in another environment"
OTHER_VERSION = "computed by another version"
FAILED = "failed"
UNKNOWN = "of pieces that are not here"


@dataclass(frozen=True)
class Recomputed:
    """Keys of rows that came out the same, a sentence for each that did not, and counts of rows left out."""

    same: list[str]
    problems: tuple[str, ...]
    left_out: Mapping[str, int]


def recompute(
    folder: str | Path,
    count: int = 3,
    loads: Iterable[str | Path] = (),
    chance: random.Random | None = None,
    watch: Callable[[str], None] = lambda key: None,
    options: Options | None = None,
) -> Recomputed:
    """Run ``count`` randomly chosen trials again, and compare the bytes of their results and traces.

    Chooses only good rows of the same environment and versions, which must come out the same. ``watch`` is
    called with the key of every row that is done.
    """
    if count < 1:
        raise UserError(f"{count} rows to recompute were asked for; ask for at least 1.")
    files = [str(Path(file).resolve()) for file in loads]
    for file in files:
        registry.load(file)
    with Store.read(folder) as store:
        rows = store.rows()
    trials, left_out = _comparable(rows)
    chosen = (chance or random.SystemRandom()).sample(sorted(trials), min(count, len(trials)))
    same, problems = [], []
    for outcome in _outcomes([trials[key] for key in chosen], files, options or Options(), Path(folder)):
        watch(outcome.key)
        if what := _difference(rows[outcome.key], outcome):
            problems.append(f"row {outcome.key}: computed again, it {what}.")
        else:
            same.append(outcome.key)
    return Recomputed(same, tuple(problems), left_out)


def _comparable(rows: Mapping[str, Row]) -> tuple[dict[str, Trial], Counter[str]]:
    """The trials that must come out the same here, and the number of others by reason."""
    here, trials, left_out = environment.identity(environment.describe()), {}, Counter()
    for key, row in rows.items():
        try:
            trial = Trial(**row.spec)
        except Exception:  # stored specs may be anything
            left_out[UNKNOWN] += 1
            continue
        if row.status != "ok":
            left_out[FAILED] += 1
        elif trial.key != key:
            left_out[OTHER_VERSION] += 1
        elif row.environment != here:
            left_out[OTHER_ENVIRONMENT] += 1
        else:
            trials[key] = trial
    return trials, left_out


def _outcomes(trials: list[Trial], files: list[str], options: Options, kept: Path) -> Iterable[Outcome]:
    if not trials:
        return
    with tempfile.TemporaryDirectory(prefix="whyconv-") as folder, local() as place:
        place.begin(Errand(Path(folder), options.limit, tuple(files), options.execute, kept=kept), 1)
        for trial in trials:
            place.submit(trial.key, trial.canonical(), trial.program)
        while place.unfinished:
            yield from place.wait(0.1)


def _difference(row: Row, outcome: Outcome) -> str:
    """How the outcome differs from the stored row, in a few words; empty if it does not."""
    if outcome.status != "ok":
        return f"failed ({outcome.error.rstrip('.')})"
    pairs = [("result", row.result, outcome.result), ("trace", row.trace, outcome.trace)]
    names = [
        name if kind == "result" else f"the trace {name}"
        for kind, then, now in pairs
        for name in sorted({*then, *now})
        if to_json(then.get(name)) != to_json(now.get(name))
    ]
    return f"differs in {', '.join(names)}" if names else ""
