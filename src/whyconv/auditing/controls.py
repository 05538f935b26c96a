"""Checks of the audit itself, made in every audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyconv.auditing.arms import BAG, FCN
from whyconv.auditing.corrected import interval, p_value
from whyconv.auditing.phases import MAJORITY, PERMUTED_BEST, PERMUTED_FCN, SHUFFLED
from whyconv.auditing.result import Control, Order
from whyconv.auditing.savings import saving
from whyconv.lazy import np

if TYPE_CHECKING:
    from whyconv.auditing.results import Rounds
    from whyconv.auditing.study import Audit

FEWEST = 3


def all_controls(
    study: Audit, rounds: Rounds, best: str | None, order: Order, ratio: float
) -> tuple[Control, ...]:
    """Permuted FCN, permuted winner, shuffled labels, bag."""
    names = (PERMUTED_FCN, PERMUTED_BEST, SHUFFLED, BAG)
    if best is None or len(rounds.seeds) < FEWEST:
        return tuple(Control(name, "not made: too few rounds", None) for name in names)
    return (
        _permuted_fcn(rounds, ratio),
        _permuted_best(study, rounds, ratio),
        _shuffled(study, rounds, ratio),
        _bag(rounds, best, order, ratio),
    )


def _permuted_fcn(rounds: Rounds, ratio: float) -> Control:
    """An FCN cannot see the order: what permuting it saves must be 1."""
    if FCN not in rounds.errors or len(rounds.sizes) < 2:
        return Control(PERMUTED_FCN, "not made: the FCN was left out, or there is one size only", None)
    found = saving(rounds.errors[FCN], rounds.errors[PERMUTED_FCN], np.array(rounds.sizes), ratio)
    fine = found.low <= 1 <= found.high
    says = "permuted FCN: as good as the FCN, as it must be"
    if not fine:
        says = "false alarm: the permuted FCN seems to differ from the FCN; trust no saving of this audit"
    value = None if np.isnan(found.value) else found.value
    high = None if np.isinf(found.high) else found.high
    error = float(rounds.at_full(PERMUTED_FCN).mean())
    return Control(PERMUTED_FCN, says, fine, value, found.low or None, high, error)


def _full(study: Audit, rounds: Rounds, name: str) -> np.ndarray:
    return np.array([float(row.result[study.column]) for row in rounds.full[name]])


def _permuted_best(study: Audit, rounds: Rounds, ratio: float) -> Control:
    """What the winner of tuning loses if places are permuted; nothing can go wrong here."""
    mean, low, high = interval(_full(study, rounds, PERMUTED_BEST), ratio)
    return Control(PERMUTED_BEST, "the winner of tuning on permuted places", True, None, low, high, mean)


def _shuffled(study: Audit, rounds: Rounds, ratio: float) -> Control:
    """Trained on shuffled labels nothing may beat the majority."""
    errors, majority = _full(study, rounds, SHUFFLED), _full(study, rounds, MAJORITY)
    difference = errors - majority
    fine = not (difference.mean() < 0 and p_value(difference, ratio) <= 0.01)
    says = "trained on shuffled labels, the winner does not beat the majority, as it must be"
    if not fine:
        says = "trained on shuffled labels, the winner still beats the majority: test labels leak"
    mean, low, high = interval(errors, ratio)
    return Control(SHUFFLED, says, fine, None, low, high, mean)


def _bag(rounds: Rounds, best: str, order: Order, ratio: float) -> Control:
    """An order-free network that is as good as the best says that order is not what helps."""
    if BAG not in rounds.errors:
        return Control(BAG, "not made: the bag was left out", None)
    errors = rounds.at_full(BAG)
    difference = errors - rounds.at_full(best)
    worse = best != BAG and difference.mean() > 0
    behind = worse and p_value(difference, ratio) <= 0.05
    says, fine = "an order-free bag of places is behind the best arm", True
    if worse and not behind:
        says, fine = f"whether an order-free bag does as well is not decided by {len(errors)} rounds", None
    elif not behind:
        says, fine = "an order-free bag does as well", order.verdict != "matters"
    if fine is False:
        says = "an order-free bag does as well as the best arm: what helps is not the order"
    mean, low, high = interval(errors, ratio)
    return Control(BAG, says, fine, None, low, high, mean)
