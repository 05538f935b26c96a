"""Two runs side by side: settings that differ, answers, verdicts, and means at places that both have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyconv.lazy import pd
from whyconv.measure.intervals import Interval

if TYPE_CHECKING:
    from whyconv.runs import Run


def compared(first: Run, second: Run) -> pd.DataFrame:
    """One line for each thing compared: ``what``, and what each of the runs has."""
    lines = [
        ("study", first.study.name, second.study.name),
        ("preset", first.preset, second.preset),
        ("settings changed", first.variant or "none", second.variant or "none"),
        ("trials", *(f"{run.done[0]:,} of {run.done[1]:,}" for run in (first, second))),
        ("verdict", first.verdict, second.verdict),
    ]
    worth = [
        {(a.prior, a.unit): f"{a.worth if a.known else 'not known'}, {a.range}" for a in run.answers}
        for run in (first, second)
    ]
    for key in dict.fromkeys((*worth[0], *worth[1])):
        lines.append((f"worth: {key[0]}", *(each.get(key, "not measured") for each in worth)))
    if first.study.outcome == second.study.outcome:
        means = [_means(run) for run in (first, second)]
        words = first.study.outcome.replace("_", " ")
        lines += [(f"mean {words}: {place}", means[0][place], means[1][place])
                  for place in means[0] if place in means[1]]  # fmt: skip
    return pd.DataFrame(lines, columns=["what", "first", "second"])


def _means(run: Run) -> dict[str, str]:
    """The mean of the outcome with its interval, by place in words."""
    if run.table.empty:
        return {}
    summary = run.summary
    labels = [name for name in summary.columns if name not in ("mean", "low", "high", "count", "std")]
    return {
        ", ".join(str(line[name]) if name == "arm" else f"{name} {line[name]}" for name in labels): Interval(
            line["mean"], line["low"], line["high"], int(line["count"])
        ).cell
        for line in summary.to_dict("records")
    }
