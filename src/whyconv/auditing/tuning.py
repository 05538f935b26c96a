"""Tuning: the window, the rate and the steps of every arm, by one rule for all, within its share of the time.

All on inner splits of a seed used for nothing else: the window of arms with filters of their own at every
place on the LCN, of arms that share them on the CNN with max-pooling (compiling every window for every arm
would take most of the time); then the rate of every arm, the least mean outcome over two sizes. Last, one
trial of every arm on all training examples: while arms still learn at the step limit, and five rounds with
four times the steps fit into the time, all of these get four times the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whyconv.auditing import budget
from whyconv.auditing.arms import BAG, FCN, LCN, LOCAL_MAX, LOCAL_MEAN, SHARED_MAX, WIDTHS, networks
from whyconv.auditing.learning import learning
from whyconv.auditing.phases import GROWTH, Setup
from whyconv.spec import once
from whyconv.studies import Cell, Point
from whyconv.studies.tuned import TUNING, Tuner
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

Rows = Mapping[str, Row]


@dataclass(frozen=True)
class Scope:
    """How much is tried: windows, training sizes, and how often a grid of rates may be extended."""

    windows: tuple[int, ...]
    sizes: tuple[int, ...]
    extensions: int


@dataclass(frozen=True)
class Entry:
    """An entry of :func:`whyconv.auditing.arms.networks`: an arm, or the FCN with one of its widths."""

    name: str
    arm: str
    window: int | None


def tuned(study: Audit, rows: Rows, order: Sequence[Point]) -> tuple[list[Point], dict[str, Setup] | None]:
    """The trials of tuning, and what was chosen for every arm once all are in; ``order``: the order test."""
    scope = chosen_scope(study, rows, order)
    first, windows = _windows(study, scope, rows)
    if windows is None:
        return first, None
    tried = _entries(study, windows)
    points, rates = _grids(study, scope, tried, 0, rows)
    if rates is not None and _time_to_extend(study, scope, first + points, rows):
        points, rates = _grids(study, scope, tried, scope.extensions, rows)
    if rates is None:
        return first + points, None
    more, setups = _grown(study, _best(study, scope, rates, rows), rows)
    return [*first, *points, *more], setups


def chosen_scope(study: Audit, rows: Rows, order: Sequence[Point]) -> Scope:
    """The largest scope that is within its share of the time, by forecast and the pace of the order test."""
    sizes, middle = study.tuning_sizes, study.windows[len(study.windows) // 2]
    scopes = [
        Scope(study.windows, sizes, study.extensions),
        Scope(study.windows, sizes[-1:], 0),
        Scope((middle,), sizes[-1:], 0),
    ]
    if study.budget is None:
        return scopes[0]
    pace = budget.slowness([point for point in order if point.trial.key in rows], rows)
    costs = [(scope, pace * _forecast(study, scope)) for scope in scopes]
    return budget.first_within(costs, budget.TUNING_SHARE * study.budget)


def _time_to_extend(study: Audit, scope: Scope, points: Sequence[Point], rows: Rows) -> bool:
    """Whether every grid might get another rate within the share of tuning."""
    if not scope.extensions or study.budget is None:
        return scope.extensions > 0
    spent = sum(budget.measured(point, rows) for point in points)
    return spent * (1 + 1 / len(study.rates)) <= budget.TUNING_SHARE * study.budget


def expected(study: Audit, scope: Scope) -> list[Point]:
    """Everything in the scope but extensions, with the middle window and rate where nothing is chosen yet."""
    points, _ = _windows(study, scope, {})
    middle = scope.windows[len(scope.windows) // 2]
    tried = _entries(study, dict.fromkeys((LCN, SHARED_MAX), middle))
    points += _grids(study, scope, tried, 0, {})[0]
    return points + [trained_on_all(study, entry, study.middle, study.steps) for entry in tried]


@once
def _forecast(study: Audit, scope: Scope) -> float:
    return budget.forecast(expected(study, scope))


def _entries(study: Audit, windows: Mapping[str, int]) -> list[Entry]:
    found = []
    for arm in study.arms:
        window = None if arm in (FCN, BAG) else windows[window_of(arm)]
        names = [f"{FCN} {width}" for width in WIDTHS] if arm == FCN else [arm]
        found += [Entry(name, arm, window) for name in names]
    return found


def window_of(arm: str) -> str:
    """The arm whose tuning decides the window of this one."""
    return LCN if arm in (LCN, LOCAL_MAX, LOCAL_MEAN) else SHARED_MAX


def _windows(study: Audit, scope: Scope, rows: Rows) -> tuple[list[Point], dict[str, int] | None]:
    """The best window of arms with filters of their own at every place, and of arms that share them."""
    points, chosen = [], {}
    leaders = dict.fromkeys(window_of(arm) for arm in study.arms if arm not in (FCN, BAG))
    if len(scope.windows) == 1:
        return [], dict.fromkeys(leaders, scope.windows[0])
    for leader in leaders:
        tried = {
            width: _inner(study, Entry(leader, leader, width), scope.sizes[-1], study.middle).points()
            for width in scope.windows
        }
        points += [point for each in tried.values() for point in each]
        if all(point.trial.key in rows for point in points):
            merits = {w: study.merit([rows[p.trial.key] for p in each]) for w, each in tried.items()}
            chosen[leader] = min(merits, key=lambda width, found=merits: found[width])
    return points, None if any(point.trial.key not in rows for point in points) else chosen


def _inner(study: Audit, entry: Entry, m: int, rate: float) -> Cell:
    seed = study.first_tuning_seed
    return study.cell(_labels(entry), _network(study, entry), m, rate, range(seed, seed + 1), inner=True)


def _labels(entry: Entry) -> dict[str, object]:
    return {"arm": entry.arm, "phase": TUNING, "window": entry.window or 0, "entry": entry.name}


def _network(study: Audit, entry: Entry) -> Mapping[str, object]:
    return networks(study.task.grid, study.outputs, entry.window or 1, study.channels)[entry.name]


def _grids(
    study: Audit, scope: Scope, tried: Sequence[Entry], extensions: int, rows: Rows
) -> tuple[list[Point], dict[Entry, float] | None]:
    """The grids of rates of all entries, and the best rates once all trials are in."""
    tuner = Tuner(
        study.rates, 1, lambda rate, found: (*study.merit(found), rate), study.first_tuning_seed, extensions
    )
    points, rates = [], {}
    for entry in tried:
        own, rate = tuner.tune([_inner(study, entry, m, study.middle) for m in scope.sizes], rows)
        points += own
        if rate is not None:
            rates[entry] = rate
    return points, rates if len(rates) == len(tried) else None


def _best(
    study: Audit, scope: Scope, rates: Mapping[Entry, float], rows: Rows
) -> dict[str, tuple[Entry, Setup]]:
    """What was chosen for every arm, with the steps it was tuned with; of the FCN the better width."""
    found: dict[str, tuple[Entry, Setup]] = {}
    for entry, rate in rates.items():
        last = _inner(study, entry, scope.sizes[-1], rate).points()
        outcome = study.merit([rows[point.trial.key] for point in last])[0]
        if entry.arm not in found or outcome < found[entry.arm][1].outcome:
            setup = Setup(_network(study, entry), rate, entry.window, outcome, study.steps)
            found[entry.arm] = entry, setup
    return found


def trained_on_all(study: Audit, entry: Entry, rate: float, steps: int) -> Point:
    """The trial that shows whether an arm still learns, and how long it takes; only training is judged."""
    labels = _labels(entry) | {"steps": steps}
    seed = study.first_tuning_seed
    network = _network(study, entry)
    (point,) = study.cell(labels, network, study.sizes[-1], rate, range(seed, seed + 1), steps=steps).points()
    return point


def _grown(
    study: Audit, best: Mapping[str, tuple[Entry, Setup]], rows: Rows
) -> tuple[list[Point], dict[str, Setup] | None]:
    """Four times the steps for arms that still learn, as often as the time allows."""
    setups = {arm: setup for arm, (_, setup) in best.items()}
    if study.growths == 0 and study.budget is None:
        return [], setups
    points: dict[str, Point] = {}
    for number in range(study.growths + 1):
        last = {
            arm: trained_on_all(study, best[arm][0], setup.rate, setup.steps) for arm, setup in setups.items()
        }
        points |= {point.trial.key: point for point in last.values()}
        if any(key not in rows for key in points):
            return [*points.values()], None
        setups = {
            arm: replace(setup, seconds=budget.measured(last[arm], rows)) for arm, setup in setups.items()
        }
        more = {
            arm: replace(setup, steps=GROWTH * setup.steps, seconds=GROWTH * setup.seconds)
            for arm, setup in setups.items()
            if learning(rows[last[arm].trial.key], study)
        }
        wanted = {**setups, **more}
        fits = study.budget is None or budget.cost_of_rounds(wanted, len(study.sizes)) <= (
            budget.ROUNDS_SHARE * study.budget
        )
        if not more or not fits or number == study.growths:
            break
        setups = wanted
    return [*points.values()], setups
