"""``whyconv run --dry-run``: what a run would do, and how long that takes. Writes nothing."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whyconv.runner.forecast import forecast
from whyconv.runs import Run
from whyconv.studies import Study
from whyconv.system import cores
from whyconv.text import count, rough_duration


def planned(study: Study, workers: int | None = None, preset: str = "quick") -> dict[str, Any]:
    """The grid of a study, the trials it plans, and the forecast, as if nothing had been run yet.

    Arms that differ from the preset's have names that say the change.
    """
    points = study.plan({})
    run = Run(study, points, {}, Path(), "", preset)
    guess = forecast(study.outlook(), workers or cores())
    grid: dict[str, list[Any]] = {}
    for point in points:
        for label, plain in point.labels.items():
            value = run.arm_names.get(plain, plain) if label == "arm" else plain
            if value not in grid.setdefault(label, []):
                grid[label].append(value)
    return {
        "study": study.name, "question": study.title, "data": study.data(),
        "grid": grid, "seeds": study.seeds, "adaptive": study.adaptive, "first_trials": len(points),
        "trials": guess.trials, "seconds": round(guess.seconds, 1),
        "seconds_slow": round(guess.seconds_limit, 1), "workers": guess.workers,
        "memory_bytes": round(guess.memory), "unjudged": study.unjudged(), "changed": run.uncarried,
        "settings": run.changes,
    }  # fmt: skip


def described(plans: Sequence[Mapping[str, Any]], where: Iterable[str] = ()) -> str:
    """Plans as text, within the terminal; ``where``: lines on where the trials would run."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    lines = []
    for plan in plans:
        about = "about " if plan["adaptive"] else ""
        lines += [
            *textwrap.wrap(f"{plan['study']}: {plan['question']}", width, subsequent_indent="  "),
            f"  {about}{count(plan['trials'], 'trial')}, {count(plan['seeds'], 'seed')}, about "
            f"{rough_duration(plan['seconds'])} on {count(plan['workers'], 'worker')}, "
            f"{plan['memory_bytes'] / 1e9:.1f} GB",
        ]
        for label, values in plan["grid"].items():
            between = "; " if any("," in str(value) for value in values) else ", "
            text = f"{label}: {between.join(map(str, values))}"
            lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ")
        if plan["settings"]:
            text = f"settings: {'; '.join(plan['settings'])}"
            lines += textwrap.wrap(
                text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
            )
        unjudged = plan["unjudged"] and f"Shown, not judged: {plan['unjudged']}."
        for text in (plan["changed"], plan["data"], unjudged):
            lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ") if text else []
    if len(plans) > 1:
        trials, seconds = (sum(plan[name] for plan in plans) for name in ("trials", "seconds"))
        lines.append(f"In all: about {count(trials, 'trial')}, about {rough_duration(seconds)}.")
    return "\n".join([*lines, *where, "Nothing was run, nothing written; without --dry-run it is."])
