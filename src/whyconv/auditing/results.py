"""From the rows of an audit to its result: a pure function, so that it can be had at any time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whyconv.auditing import controls
from whyconv.auditing.arms import contrasts
from whyconv.auditing.corrected import holm, interval, p_value
from whyconv.auditing.forecast import forecast
from whyconv.auditing.order import order_test
from whyconv.auditing.phases import CONTROL, FOREST, LINEAR, MAJORITY, PERMUTED_FCN, REFERENCE, Setup
from whyconv.auditing.result import Arm, Described, Result, Saving
from whyconv.auditing.savings import Factor, decided, gap, saving, what_would_decide
from whyconv.lazy import np
from whyconv.studies import Point
from whyconv.studies.tuned import MEASURED
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

FEWEST = 3
"""No factor from fewer rounds."""
BEATEN = 0.01
"""The best arm beats the majority if the p of their difference is at most this: it is the best of several."""
FALLING = 0.8
"""The training loss still falls if it ends below this share of what it was at half of the steps."""
FITTED = 0.5
"""An arm whose training error is below this share of its test error is past learning more of use."""
PRIMARY = ("locality", "sharing", "pooling")


@dataclass(frozen=True)
class Rounds:
    """The whole rounds: errors by arm (rounds x sizes), further rows at the largest size."""

    seeds: tuple[int, ...]
    sizes: tuple[int, ...]
    errors: Mapping[str, np.ndarray]
    full: Mapping[str, list[Row]]
    """Rows at the largest size by arm, control or reference."""

    def at_full(self, name: str) -> np.ndarray:
        return self.errors[name][:, -1]


def whole_rounds(study: Audit, points: Sequence[Point], rows: Mapping[str, Row]) -> Rounds:
    """Those whose trials all have a row."""
    by_seed: dict[int, list[Point]] = {}
    for point in points:
        if point.labels["phase"] in (MEASURED, CONTROL, REFERENCE):
            by_seed.setdefault(point.trial.seed, []).append(point)
    done = sorted(
        seed
        for seed, each in by_seed.items()
        if any(p.labels["phase"] == MEASURED for p in each)
        and all(p.trial.key in rows and rows[p.trial.key].status == "ok" for p in each)
    )
    found: dict[str, dict[tuple[int, int], Row]] = {}
    for seed in done:
        for point in by_seed[seed]:
            row = rows[point.trial.key]
            found.setdefault(str(point.labels["arm"]), {})[seed, int(point.labels["m"])] = row
    last, errors = study.sizes[-1], {}
    for name, cells in found.items():
        if all((seed, m) in cells for seed in done for m in study.sizes):
            errors[name] = np.array(
                [[float(cells[seed, m].result[study.column]) for m in study.sizes] for seed in done]
            )
    full = {
        name: [cells[seed, last] for seed in done if (seed, last) in cells] for name, cells in found.items()
    }
    return Rounds(tuple(done), study.sizes, errors, full)


def result(
    study: Audit,
    points: Sequence[Point],
    rows: Mapping[str, Row],
    *,
    target: float | None = None,
    seconds: float = 0.0,
    out: str = "",
) -> Result:
    """What the rows so far say."""
    rounds = whole_rounds(study, points, rows)
    tuned = study.tuned(rows)[1] if any(p.labels["phase"] == "tuning" for p in points) else None
    setups = tuned or {}
    ratio = study.task.test / study.sizes[-1]
    arms = [arm for arm in setups if arm in rounds.errors]
    best = min(arms, key=lambda arm: rounds.at_full(arm).mean()) if arms else None
    order = order_test(study, points, rows)
    why = unjudged(study, rounds, arms, best, ratio)
    savings = all_savings(study, setups, rounds, ratio, why)
    checks = controls.all_controls(study, rounds, best, order, ratio)
    learning = [arm for arm in arms if still_learning(rounds.full[arm], study)]
    warnings = [*study.notes, *(f"{arm} was still learning at the step limit" for arm in learning)]
    warnings += [check.says for check in checks if check.fine is False]
    if why and best is not None:
        warnings.append(f"nothing was judged: {why}")
    return Result(
        data=Described(
            study.data_name, study.task.count, study.task.grid, study.task.labels or None, study.metric,
            study.kind_of_grid,
        ),
        order=order,
        savings=savings,
        window=_window(setups, best),
        arms=tuple(_arm(arm, rounds.at_full(arm), ratio) for arm in arms),
        best=best,
        references=references(study, points, rows, ratio),
        forecast=(
            forecast(np.array(rounds.sizes), rounds.errors[best], ratio, target)
            if best is not None and len(rounds.seeds) >= FEWEST
            else None
        ),
        controls=checks,
        warnings=tuple(dict.fromkeys(warnings)),
        rounds=len(rounds.seeds),
        seconds=seconds,
        out=out,
        curves=tuple(_curves(rounds, [*arms, PERMUTED_FCN], ratio)),
    )  # fmt: skip


def _window(setups: Mapping[str, Setup], best: str | None) -> int | None:
    """That of the best arm, else of the best arm with windows in tuning."""
    if best is not None and setups[best].window:
        return setups[best].window
    local = [setup for setup in setups.values() if setup.window]
    return min(local, key=lambda setup: setup.outcome).window if local else None


def _arm(name: str, errors: Sequence[float] | np.ndarray, ratio: float) -> Arm:
    mean, low, high = interval(errors, ratio)
    return Arm(name, mean, _finite(max(low, 0.0) if low > -math.inf else low), _finite(high))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _curves(rounds: Rounds, names: Sequence[str], ratio: float) -> list[dict[str, Any]]:
    points = []
    for name in names:
        for place, m in enumerate(rounds.sizes if name in rounds.errors else ()):
            found = _arm(name, rounds.errors[name][:, place], ratio)
            points.append(
                {
                    "arm": name, "m": m, "error": found.error, "low": found.low, "high": found.high,
                    "rounds": len(rounds.seeds),
                }
            )  # fmt: skip
    return points


def references(
    study: Audit, points: Sequence[Point], rows: Mapping[str, Row], ratio: float
) -> tuple[Arm, ...]:
    """Other methods with all examples, from all rounds there are."""
    regression = study.task.labels == 0
    names = {
        MAJORITY: "mean" if regression else "majority",
        LINEAR: "ridge" if regression else "logistic",
        FOREST: "forest",
    }
    found: dict[str, dict[str, float]] = {}
    for point in points:
        row = rows.get(point.trial.key)
        if point.labels["phase"] == REFERENCE and row is not None and row.status == "ok":
            errors = found.setdefault(str(point.labels["arm"]), {})
            errors[row.key] = float(row.result[study.column])
    return tuple(_arm(names[name], [*errors.values()], ratio) for name, errors in found.items())


def unjudged(study: Audit, rounds: Rounds, arms: Sequence[str], best: str | None, ratio: float) -> str:
    """Why nothing is judged; empty if something may be."""
    if len(rounds.seeds) < FEWEST or best is None:
        return f"{len(rounds.seeds)} of {FEWEST} rounds are done; give more minutes"
    if len(study.sizes) < 2:
        return "there are too few examples for two sizes; more examples are needed"
    majority = np.array([float(row.result[study.column]) for row in rounds.full[MAJORITY]])
    difference = rounds.at_full(best) - majority
    if not (difference.mean() < 0 and p_value(difference, ratio) <= BEATEN):
        return f"no arm beats the {'mean' if study.task.labels == 0 else 'majority'} for certain"
    return ""


def still_learning(rows: Sequence[Row], study: Audit) -> bool:
    """Whether an arm, stopped at its last step, would learn more of use: in most rounds its training loss
    falls, and its training error is not far below its test error.
    """
    return sum(_learning(row, study) for row in rows) * 2 > len(rows)


def _learning(row: Row, study: Audit) -> bool:
    trace, epochs = row.trace.get("loss_at_epochs_2^i", []), int(row.result["epochs"])
    if row.result["stopped"] != "cap" or epochs < 2:
        return False
    before = trace[int(math.log2(epochs / 2))]
    falls = float(row.result["train_loss"]) < FALLING * before
    fitted = float(row.result[f"train_{study.metric}"]) < FITTED * float(row.result[study.column])
    return falls and not fitted


def all_savings(
    study: Audit, setups: Mapping[str, Setup], rounds: Rounds, ratio: float, why: str
) -> tuple[Saving, ...]:
    """The four questions; the first three are adjusted for each other."""
    asked = contrasts(study.pooled(setups))
    known = {
        prior: pair
        for prior, pair in asked.items()
        if len(rounds.seeds) >= FEWEST and len(study.sizes) > 1 and all(arm in rounds.errors for arm in pair)
    }
    sizes = np.array(rounds.sizes)
    factors = {
        prior: saving(rounds.errors[without], rounds.errors[given], sizes, ratio)
        for prior, (without, given) in known.items()
    }
    primary = [prior for prior in PRIMARY if prior in factors]
    adjusted = dict(zip(primary, holm([factors[prior].p for prior in primary]), strict=True))
    found = []
    for prior, (without, given) in asked.items():
        if prior not in factors:
            absent = [arm or "every pooled CNN" for arm in (without, given) if setups and arm not in setups]
            missing = f"{absent[0]} was left out" if absent else why
            found.append(Saving(prior, "not judged", why=missing, without=without, given=given))
            continue
        found.append(
            _saving(study, rounds, prior, (without, given), factors[prior], adjusted.get(prior), ratio, why)
        )
    return tuple(found)


def _saving(
    study: Audit,
    rounds: Rounds,
    prior: str,
    pair: tuple[str, str],
    factor: Factor,
    adjusted: float | None,
    ratio: float,
    why: str,
) -> Saving:
    without, given = pair
    a, b = rounds.errors[without], rounds.errors[given]
    p = factor.p if adjusted is None else adjusted
    verdict = decided(factor, p)
    behind = {"saves": (without,), "costs": (given,), "no difference": pair}.get(verdict, ())
    if not why and (slow := [arm for arm in behind if still_learning(rounds.full[arm], study)]):
        why = f"{' and '.join(slow)} was still learning at the step limit, and might catch up"
    around = gap(a, b, np.array(rounds.sizes), ratio)
    measured: dict[str, Any] = {
        "without": without, "given": given, "at": factor.at,
        "gap": around and around.mean, "gap_low": around and (around.low or None),
        "gap_high": around and _finite(around.high),
    }  # fmt: skip
    if why:
        return Saving(prior, "not judged", why=why, **measured)
    m = rounds.sizes[-1]
    if not math.isnan(factor.value):
        less, more = (m / factor.value, m) if factor.value >= 1 else (m, m * factor.value)
        measured |= {"needed": math.ceil(less), "instead_of": math.ceil(more)}
    return Saving(
        prior,
        verdict,
        _finite(factor.value),
        factor.low or None,
        _finite(factor.high),
        what_would_decide(a, b, ratio, p, factor.p) if verdict == "undecided" else "",
        **measured,
    )


def settled(study: Audit, points: Sequence[Point], rows: Mapping[str, Row]) -> bool:
    """Whether more rounds are not needed: every primary question is decided, or there is nothing to judge."""
    found = result(study, points, rows)
    return all(
        each.verdict in ("saves", "costs", "no difference")
        or "step limit" in each.why
        or "left out" in each.why
        for each in found.savings
        if each.prior in PRIMARY
    )
