"""What a budget is going to give: said before it is spent, and of the next one when it is over.

Work that has no row yet is forecast by its closed form (:mod:`whyconv.runner.forecast`), times how much
longer than that the rows so far took on this machine; what rounds have measured is taken as measured. Before
there are rows, a machine on which others compute counts as slower (:func:`whyconv.system.crowding`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from whyconv import system
from whyconv.auditing import budget
from whyconv.auditing.arms import FCN, WIDTHS, networks
from whyconv.auditing.phases import CONTROL, REFERENCE, Setup
from whyconv.auditing.rounds import FEWEST, whole_rounds
from whyconv.auditing.study import Audit
from whyconv.auditing.tuning import chosen_scope, expected, tuned
from whyconv.runner.forecast import START_SECONDS, TRIAL_SECONDS, seconds
from whyconv.studies import Point, good
from whyconv.studies.tuned import MEASURED
from whyconv.text import rough_duration
from whyconv.trial import Row

TRIAL, SLOWER, COMPILE = 0.07, 2.6, 1.5
"""Where no row tells: core seconds of any trial, how much longer than by the closed form its training takes,
and core seconds of a program. By 3,000 series of 60 steps and 6,000 images of 28 x 28 on an AMD EPYC (family
26, AVX-512)."""
LONGEST = 10_000.0
"""Minutes beyond which nothing is promised."""
NEAR = 1.1
"""The minutes wanted are told up to this factor."""
Rows = Mapping[str, Row]


@dataclass(frozen=True)
class Outlook:
    """What so many ``minutes`` are forecast to give: whether the order test ends, new rounds, and when.

    ``first``: seconds until the order test and the references are known; ``tuned``: until tuning is done;
    ``each``: seconds of a round. ``rounds`` come to those that are ``done``; ``fewest`` of them if tuning
    gives networks as many more steps as it may. ``wanted``: minutes for another round, or for as many as
    savings need. ``over``: nothing is left to be decided.
    """

    minutes: float
    first: float
    tuned: float
    each: float
    rounds: int
    fewest: int
    done: int = 0
    over: bool = False
    wanted: float | None = None

    @property
    def enough(self) -> bool:
        """Whether there are going to be rounds enough for savings."""
        return self.over or self.done + self.rounds >= FEWEST

    @property
    def sentence(self) -> str:
        """As it is said before an audit starts."""
        return f"Forecast: {self._given()}."

    def _given(self) -> str:
        given, more = f"{self.minutes:g} min", _minutes(self.wanted)
        new, next_ = (" more", "next") if self.done else ("", "first")
        said = f"about {self.rounds}{new} round{_s(self.rounds)} in {given}"
        if self.over:
            said = f"nothing new in {given}, since all that rounds can decide here is decided"
        elif self.enough and self.rounds:
            soon = f"the {next_} after {rough_duration(self.tuned + self.each)}"
            if self.fewest < self.rounds:
                why = "by the steps that networks need"
                said = f"{self.fewest} to {self.rounds} rounds in {given}, {why}; {soon}"
            else:
                said = f"{said}, {soon}"
        elif self.rounds:
            said = f"{said}, and savings need {FEWEST} in all; {more} would give them"
        elif self.done:
            said = f"no more round in {given}; {more} would give another"
        elif self.first <= 60 * self.minutes:
            said = f"only the order test and references in {given}; {more} would give a first round"
        else:
            said = f"not even the order test ends in {given}; {more} would give a first round"
        return said


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _minutes(value: float | None) -> str:
    if value is None:
        return "fewer examples"
    return f"{math.ceil(value):,} min" if value > 1 else f"{math.ceil(10 * value) / 10:g} min"


def outlook(study: Audit, minutes: float, workers: int | None, rows: Rows | None = None) -> Outlook:
    """The forecast; ``rows``: those of earlier calls."""
    found = _outlook(study, minutes, workers, rows or {})
    if found.over or (found.enough and found.rounds):
        return found
    least, below, above = max(1, FEWEST - found.done) if found.rounds else 1, minutes, 2 * minutes
    while _outlook(study, above, workers, rows or {}).rounds < least:
        below, above = above, 2 * above
        if above > LONGEST:
            return found
    while above > NEAR * below:
        middle = math.sqrt(below * above)
        enough = _outlook(study, middle, workers, rows or {}).rounds >= least
        below, above = (below, middle) if enough else (middle, above)
    return replace(found, wanted=above)


def _outlook(study: Audit, minutes: float, workers: int | None, rows: Rows) -> Outlook:
    slots = workers or system.cores()
    study = study.model_copy(update={"budget": budget.core_seconds(minutes, slots)})
    rows = good(rows)
    order = study.order_points()
    first = Work(order + study.references(0), rows)
    known = [point for point in order if point.trial.key in rows]
    pace = budget.slowness(known, rows) if known else None
    crowd = 1.0 if known else system.crowding(slots)
    tried, setups = tuned(study, rows, order)
    chosen = setups is not None
    if setups is None:
        scope = chosen_scope(study, rows, order)
        tried += expected(study, scope)
        setups = guessed(study, pace)
    tuning = Work(tried, rows, first)
    begun = crowd * (START_SECONDS + first.seconds(pace, slots))
    ready = begun + crowd * tuning.seconds(pace, slots)
    points = study.plan(rows) if rows else []
    done = len(whole_rounds(study, points, rows))
    over = done >= study.seeds or (bool(points) and all(point.trial.key in rows for point in points))
    each = crowd * _round_seconds(study, points, rows, setups) / slots
    left = 60 * minutes - budget.reserve(minutes) - ready
    rounds = 0 if over else max(0, min(study.seeds - done, int(left / each)))
    fewest = min(rounds, budget.ROUNDS) if study.growths and not chosen else rounds
    return Outlook(minutes, begun, ready, each, rounds, fewest, done, over)


class Work:
    """Trials without a row, and programs that nothing ``before`` them has compiled."""

    def __init__(self, points: Sequence[Point], rows: Rows, before: Work | None = None) -> None:
        trials = {point.trial.key: point for point in points if point.trial.key not in rows}
        self.points = [*trials.values()]
        known = before.programs if before else {p.trial.program for p in points if p.trial.key in rows}
        self.new = {point.trial.program for point in self.points} - known
        self.programs = self.new | known

    def seconds(self, pace: float | None, slots: int) -> float:
        return (_seconds(self.points, pace) + COMPILE * len(self.new)) / slots


def _seconds(points: Sequence[Point], pace: float | None) -> float:
    """Core seconds of trials whose programs are compiled."""
    if pace is not None:
        return pace * budget.forecast(points)
    return sum(TRIAL + SLOWER * (seconds(point.trial) - TRIAL_SECONDS) for point in points)


def _round_seconds(study: Audit, points: Sequence[Point], rows: Rows, setups: Mapping[str, Setup]) -> float:
    """Core seconds of a round: the last whole one's, or by what a trial of every arm takes."""
    if seeds := whole_rounds(study, points, rows).seeds:
        phases = (MEASURED, CONTROL, REFERENCE)
        own = [p for p in points if p.trial.seed == seeds[-1] and p.labels["phase"] in phases]
        return sum(budget.measured(point, rows) for point in own)
    sizes = budget.sizes_within(study.sizes, setups, study.budget)
    return budget.cost_of_rounds(setups, len(sizes)) / budget.ROUNDS


def guessed(study: Audit, pace: float | None) -> dict[str, Setup]:
    """The arms with the window and the rate in the middle, and the seconds that a trial of each may take."""
    window, seed = study.windows[len(study.windows) // 2], study.first_seed
    made = networks(study.task.grid, study.outputs, window, study.channels)
    found = {}
    for arm in study.arms:
        network = made[f"{FCN} {WIDTHS[-1]}" if arm == FCN else arm]
        cell = study.cell({"arm": arm}, network, study.sizes[-1], study.middle, range(seed, seed + 1))
        took = _seconds(cell.points(), pace)
        found[arm] = Setup(network, study.middle, window, 0.0, study.steps, took)
    return found


def ahead(study: Audit, points: Sequence[Point], rows: Rows, minutes: float, workers: int | None) -> str:
    """What the next call would give: the last sentence of an audit."""
    done = len(whole_rounds(study, points, rows))
    if done >= study.seeds:
        return f"An audit has {study.seeds} rounds at most: more examples would tell more."
    if points and all(point.trial.key in rows for point in points):
        return "All that rounds can decide here is decided: another call would add none."
    found = outlook(study, minutes, workers, rows)
    again = "Called again with the same minutes, the audit goes on from here:"
    if found.rounds:
        more = " more" if done else ""
        return f"{again} about {found.rounds}{more} round{_s(found.rounds)}."
    which = "one more" if done else "a first"
    return f"{again} no round yet; {_minutes(found.wanted)} would give {which} round."
