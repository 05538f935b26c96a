"""From the rows of an audit to its result: a pure function, so that it can be had at any time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyconv.auditing import controls
from whyconv.auditing.arms import FCN, contrasts
from whyconv.auditing.corrected import holm
from whyconv.auditing.forecast import Model
from whyconv.auditing.learning import still_learning
from whyconv.auditing.order import order_test
from whyconv.auditing.phases import FOREST, GROWTH, LINEAR, MAJORITY, PERMUTED_FCN, REFERENCE, Setup
from whyconv.auditing.result import Arm, Described, Result, Saving
from whyconv.auditing.rounds import FEWEST, Rounds, whole_rounds
from whyconv.auditing.savings import Factor, decided, gap, saving, what_would_decide
from whyconv.lazy import np
from whyconv.studies import Point
from whyconv.studies.tuned import TUNING
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

BEATEN = 0.01
"""The best arm beats the majority if the p of their difference is at most this: it is the best of several."""
PRIMARY = ("locality", "sharing", "pooling")


def result(
    study: Audit,
    points: Sequence[Point],
    rows: Mapping[str, Row],
    *,
    seconds: float = 0.0,
    out: str = "",
) -> Result:
    """What the rows so far say."""
    rounds = whole_rounds(study, points, rows)
    tuned = study.tuned(rows)[1] if any(p.labels["phase"] == TUNING for p in points) else None
    setups = tuned or {}
    arms = [arm for arm in setups if arm in rounds.errors]
    best = min(arms, key=lambda arm: rounds.at_full(arm).mean()) if arms else None
    order = order_test(study, points, rows)
    model = _model(study, setups, rounds, best)
    why = unjudged(study, rounds, arms, best)
    savings = all_savings(study, setups, rounds, why)
    checks = controls.all_controls(study, setups, rounds, best, order)
    warnings = [*study.notes, *_unfinished(study, setups, rounds)]
    warnings += [check.says for check in checks if check.fine is False]
    if why and best is not None:
        warnings.append(f"nothing was judged: {why}")
    others = references(study, points, rows, rounds)
    if not why and best is not None:
        warnings += _as_good(study, points, rows, dict(zip(rounds.seeds, rounds.at_full(best), strict=True)))
    return Result(
        data=Described(
            study.data_name, study.task.count, study.task.grid, study.task.labels or None, study.metric,
            study.kind_of_grid,
        ),
        order=order,
        savings=savings,
        window=_window(setups, best),
        arms=tuple(_arm(arm, rounds.at_full(arm), rounds) for arm in arms),
        best=best,
        references=others,
        forecast=model.forecast(study.target) if model and len(rounds) >= FEWEST else None,
        controls=checks,
        warnings=tuple(dict.fromkeys(warnings)),
        rounds=len(rounds.seeds),
        seconds=seconds,
        out=out,
        curves=tuple(_curves(rounds, [*arms, PERMUTED_FCN])),
        filters={
            arm: _filters(rounds.full[arm])
            for arm in dict.fromkeys((best, FCN))
            if arm in arms and _shown(rounds.full[arm])
        },
        model=model,
    )  # fmt: skip


def _model(study: Audit, setups: Mapping[str, Setup], rounds: Rounds, best: str | None) -> Model | None:
    """The best arm as it was trained, and its learning curve."""
    if best is None:
        return None
    setup, m = setups[best], study.sizes[-1]
    learner = study.learner(m, setup.rate, setup.steps)
    return Model(setup.network, learner, np.array(rounds.sizes), rounds.errors[best], rounds.ratio)


def _shown(rows: Sequence[Row]) -> bool:
    """Whether a row shows filters: that of seed 0."""
    return any("filters" in row.trace for row in rows)


def _filters(rows: Sequence[Row]) -> tuple[np.ndarray, str]:
    """The filters in these rows of an arm, and how local they are on average."""
    trace = next(row.trace for row in rows if "filters" in row.trace)
    local = [float(row.result["locality"]) for row in rows if "locality" in row.result]
    shape = [int(size) for size in trace["filters_shape"]]
    score = f"locality {np.mean(local):.2f}" if local else ""
    return np.asarray(trace["filters"]).reshape(shape), score


def _unfinished(study: Audit, setups: Mapping[str, Setup], rounds: Rounds) -> list[str]:
    """A warning for every arm that was still learning when it was stopped."""
    found = []
    for arm, setup in setups.items():
        if arm in rounds.errors and still_learning(rounds.full[arm], study):
            more = setup.steps < study.steps * GROWTH**study.growths
            todo = "; more minutes allow more steps" if more else ""
            found.append(f"{arm} was still learning at the step limit of {setup.steps:,}{todo}")
    return found


def _window(setups: Mapping[str, Setup], best: str | None) -> int | None:
    """That of the best arm, else of the best arm with windows in tuning."""
    if best is not None and setups[best].window:
        return setups[best].window
    local = [setup for setup in setups.values() if setup.window]
    return min(local, key=lambda setup: setup.outcome).window if local else None


def _arm(name: str, errors: Sequence[float] | np.ndarray, rounds: Rounds) -> Arm:
    mean, low, high = rounds.interval(errors)
    return Arm(name, mean, _finite(max(low, 0.0) if low > -math.inf else low), _finite(high))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _curves(rounds: Rounds, names: Sequence[str]) -> list[dict[str, Any]]:
    points = []
    for name in names:
        for place, m in enumerate(rounds.sizes if name in rounds.errors else ()):
            found = _arm(name, rounds.errors[name][:, place], rounds)
            points.append(
                {
                    "arm": name, "m": m, "error": found.error, "low": found.low, "high": found.high,
                    "rounds": len(rounds.seeds),
                }
            )  # fmt: skip
    return points


def references(
    study: Audit, points: Sequence[Point], rows: Mapping[str, Row], rounds: Rounds
) -> tuple[Arm, ...]:
    """Other methods with all examples, from all rounds there are."""
    linear = "logistic" if study.task.labels else "ridge"
    names = {MAJORITY: study.constant, LINEAR: linear, FOREST: "forest"}
    found: dict[str, dict[str, float]] = {}
    for point in points:
        row = rows.get(point.trial.key)
        if point.labels["phase"] == REFERENCE and row is not None and row.status == "ok":
            errors = found.setdefault(str(point.labels["arm"]), {})
            errors[row.key] = float(row.result[study.column])
    return tuple(_arm(names[name], [*errors.values()], rounds) for name, errors in found.items())


def _as_good(
    study: Audit, points: Sequence[Point], rows: Mapping[str, Row], best: Mapping[int, float]
) -> list[str]:
    """That a linear model errs no more than the best network (errors by seed) in every round with both."""
    linear = "logistic" if study.task.labels else "ridge"
    lost = [
        best[point.trial.seed] < float(rows[point.trial.key].result[study.column])
        for point in points
        if point.labels["phase"] == REFERENCE and point.labels["arm"] == LINEAR and point.trial.seed in best
        and point.trial.key in rows and rows[point.trial.key].status == "ok"
    ]  # fmt: skip
    if len(lost) < FEWEST or any(lost):
        return []
    return [
        f"a linear model ({linear}) errs no more than the best network in any of {len(lost)} rounds, so "
        "priors of networks say little here"
    ]


def unjudged(study: Audit, rounds: Rounds, arms: Sequence[str], best: str | None) -> str:
    """Why nothing is judged; empty if something may be."""
    if len(rounds.seeds) < FEWEST or best is None:
        return f"{len(rounds.seeds)} of {FEWEST} rounds are done; give more minutes"
    if len(rounds.sizes) < 2:
        return "there are too few examples for two sizes; more examples are needed"
    difference = rounds.at_full(best) - rounds.at_full(MAJORITY)
    if not (difference.mean() < 0 and rounds.p_value(difference) <= BEATEN):
        return f"no arm beats the {study.constant} for certain"
    return ""


def all_savings(study: Audit, setups: Mapping[str, Setup], rounds: Rounds, why: str) -> tuple[Saving, ...]:
    """The four questions; the first three are adjusted for each other."""
    asked = contrasts(study.pooled(setups))
    known = {
        prior: pair
        for prior, pair in asked.items()
        if len(rounds.seeds) >= FEWEST and len(rounds.sizes) > 1 and all(arm in rounds.errors for arm in pair)
    }
    sizes = np.array(rounds.sizes)
    factors = {
        prior: saving(rounds.errors[without], rounds.errors[given], sizes, rounds.ratio, grain=rounds.grain)
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
            _saving(study, rounds, prior, (without, given), factors[prior], adjusted.get(prior), why)
        )
    return tuple(found)


def _saving(
    study: Audit,
    rounds: Rounds,
    prior: str,
    pair: tuple[str, str],
    factor: Factor,
    adjusted: float | None,
    why: str,
) -> Saving:
    without, given = pair
    a, b = rounds.errors[without], rounds.errors[given]
    p = factor.p if adjusted is None else adjusted
    verdict = decided(factor, p)
    behind = {"saves": (without,), "costs": (given,), "no difference": pair}.get(verdict, ())
    if not why and (slow := [arm for arm in behind if still_learning(rounds.full[arm], study)]):
        why = f"{' and '.join(slow)} was still learning at the step limit, and might catch up"
    around = gap(a, b, np.array(rounds.sizes), rounds.ratio, rounds.grain)
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
        what_would_decide(a, b, rounds.ratio, p, factor.p, rounds.grain) if verdict == "undecided" else "",
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
