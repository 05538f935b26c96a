"""How often a criterion is met, by simulation: its power, and its false alarms.

For every study that has a world (:mod:`whyconv.criteria.worlds`) and every preset that is judged, rows are
made up with the truth far below the threshold of one condition of the criterion, at it, near it and far
above it, and given to the study's own ``judge``. *consistent* at the threshold or below is a false alarm;
95 % intervals promise 2.5 % at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from whyconv import registry
from whyconv.criteria.worlds import Setting, World
from whyconv.lazy import np
from whyconv.measure.intervals import rate_interval
from whyconv.settings import configure
from whyconv.tasks.images.catalogue import known

if TYPE_CHECKING:
    from whyconv.studies import Study

LIMIT = 0.05
"""A rate of false alarms whose interval lies above this is named."""
SHARE = 4
"""At the threshold, where the rate is small, this many times the tables of the other effects are judged."""


def world_of(study: type[Study]) -> World | None:
    """The world of a study, or of the class that it inherits its criterion from; None if it has none."""
    for base in study.__mro__:
        paper, studies, module = base.__module__.rpartition(".studies.")
        name = f"{paper}.worlds.{module}"
        if studies and find_spec(f"{paper}.worlds") and find_spec(name):
            return import_module(name).WORLD
    return None


@dataclass(frozen=True)
class Power:
    """The verdicts of one study and preset, counted at every effect."""

    study: str
    preset: str
    seeds: int
    world: World
    counts: Mapping[str, Counter[str]]

    def share(self, where: str, verdict: str) -> float:
        return self.counts[where][verdict] / self.counts[where].total()

    @property
    def alarm(self) -> str:
        """The place with too many false alarms, in words; empty if there is none."""
        for where in ("far below", "at"):
            found = rate_interval(self.counts[where]["consistent"], self.counts[where].total())
            if found.low > LIMIT:
                return f"{where} the threshold, {100 * found.mean:.0f} % (at least {100 * found.low:.0f} %)"
        return ""


def simulated(study: Study, preset: str, world: World, runs: int, seed: int = 0) -> Power:
    """Judge ``runs`` made-up tables at the threshold, and a quarter of them at each of the other effects."""
    setting, counts = Setting(study), {}
    for number, (where, effect) in enumerate(world.effects().items()):
        rng = np.random.default_rng([seed, number])
        tables = (
            world.rows(setting, effect, rng) for _ in range(runs if where == "at" else -(-runs // SHARE))
        )
        counts[where] = Counter(study.judge(table).evidence.verdict for table in tables)
    return Power(study.name, preset, study.seeds, world, counts)


def judged_presets(name: str) -> Iterator[tuple[str, Study]]:
    """The presets of a study; on images the set that its criterion is stated for, there or not."""
    study = registry.find("study", name)
    for preset, changes in study.presets.items():
        chosen = configure(name, preset)
        if chosen.unjudged() and "task.images" not in changes:
            for images in ("mnist", "cifar-10"):
                more = {"task.images": images} | ({"task.batches": [1, 2]} if known(images).batches else {})
                try:
                    other = configure(name, preset, more)
                except Exception:  # the task has no such images
                    continue
                chosen = chosen if other.unjudged() else other
        if not chosen.unjudged():
            yield preset, chosen


def _pooled(found: Sequence[Power]) -> str:
    """How often a criterion was met at its threshold, all studies together."""
    at = Counter[str]()
    for power in found:
        at.update(power.counts["at"])
    rate = rate_interval(at["consistent"], at.total())
    share, low, high = (f"{100 * value:.1f}" for value in (rate.mean, rate.low, rate.high))
    return f"All studies together, at the threshold: {share} % [{low}, {high}] of {at.total():,} tables."


def page(found: Sequence[Power], missing: Iterable[str], runs: int) -> str:
    """docs/power.md."""
    lines = [
        "# Power and false alarms of the criteria", "",
        "How often the criterion of each study is met in made-up worlds where the truth is known: "
        f"{runs} tables of rows at the threshold and {-(-runs // SHARE)} at each of the other effects, "
        "judged by the study itself. One condition of the criterion is moved, the others are met; noise is "
        "of the size of measured rows in a few studies and assumed in the others (`whyconv.criteria.worlds` "
        f"says how much, `papers/<paper>/worlds/` what each world is). Made by `make power RUNS={runs}`.", "",
        "*consistent* at the threshold or below is a false alarm, and 95 % intervals allow 2.5 % of them at "
        "the threshold. Cells: *consistent* / *fails* / other, in %.", "",
        "| study | preset | seeds | what is moved | far below | at | near | far above |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    alarms, weak, blunt = [], [], []
    for power in found:
        cells = []
        for where, effect in power.world.effects().items():
            good, bad = (round(100 * power.share(where, verdict)) for verdict in ("consistent", "fails"))
            cells.append(f"{effect:.3g}: {good} / {bad} / {100 - good - bad}")
        name = [f"`{power.study}`", power.preset, str(power.seeds), power.world.effect]
        lines.append(f"| {' | '.join([*name, *cells])} |")
        if power.alarm:
            alarms.append(f"- `{power.study}`, {power.preset}: {power.alarm}.")
        if (share := power.share("far above", "consistent")) < 0.8:
            weak.append(f"- `{power.study}`, {power.preset}: {100 * share:.0f} %.")
        if (share := power.share("far below", "fails")) < 0.8:
            blunt.append(f"- `{power.study}`, {power.preset}: {100 * share:.0f} %.")
    lines += ["", "## False alarms above 5 %", "", _pooled(found), ""]
    lines += alarms or [
        "None: no rate at or below a threshold has an interval (Clopper & Pearson) above 5 %."
    ]
    lines += ["", "## Power below 80 % far above the threshold", "", *(weak or ["None."])]
    lines += ["", "## Below 80 % *fails* far below the threshold", "", *(blunt or ["None."])]
    if names := list(missing):
        lines += ["", f"Not simulated, for want of a world: {', '.join(f'`{name}`' for name in names)}."]
    return "\n".join(lines) + "\n"
