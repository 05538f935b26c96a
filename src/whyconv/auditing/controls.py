"""Checks of the audit itself, made in every audit: each can fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whyconv.auditing.arms import BAG, FCN
from whyconv.auditing.phases import MAJORITY, PERMUTED_BEST, PERMUTED_FCN, SHUFFLED, Setup
from whyconv.auditing.result import Control, Order
from whyconv.auditing.rounds import FEWEST, Rounds
from whyconv.auditing.savings import saving
from whyconv.lazy import np

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

CERTAIN = 0.01
"""The p at which something that cannot be is called seen."""
LIKELY = 0.05
"""The p at which something that should be is called seen."""


def all_controls(
    study: Audit, setups: Mapping[str, Setup], rounds: Rounds, best: str | None, order: Order
) -> tuple[Control, ...]:
    """Permuted FCN, permuted winner, shuffled labels, bag."""
    names = (PERMUTED_FCN, PERMUTED_BEST, SHUFFLED, BAG)
    if best is None or len(rounds) < FEWEST:
        return tuple(Control(name, "not made: too few rounds", None) for name in names)
    return (
        _permuted_fcn(rounds),
        _permuted_best(rounds, study.winner(setups), order),
        _shuffled(rounds, study.constant),
        _bag(rounds, best, order, alone=len(setups) == 1),
    )


def _permuted_fcn(rounds: Rounds) -> Control:
    """An FCN cannot see the order: what permuting it saves must be 1. Two open ends say nothing."""
    if FCN not in rounds.errors or len(rounds.sizes) < 2:
        return Control(PERMUTED_FCN, "not made: the FCN was left out, or there is one size only", None)
    sizes = np.array(rounds.sizes)
    found = saving(rounds.errors[FCN], rounds.errors[PERMUTED_FCN], sizes, rounds.ratio, grain=rounds.grain)
    fine: bool | None = True
    says = "permuted FCN: as good as the FCN, as it must be"
    if not found.low <= 1 <= found.high or found.p <= CERTAIN:
        fine = False
        says = "false alarm: the permuted FCN seems to differ from the FCN; trust no saving of this audit"
    elif found.low == 0 and np.isinf(found.high):
        says, fine = "whether it is as good as the FCN is not decided: both ends are open", None
    value = None if np.isnan(found.value) else found.value
    high = None if np.isinf(found.high) else found.high
    error = float(rounds.at_full(PERMUTED_FCN).mean())
    return Control(PERMUTED_FCN, says, fine, value, found.low or None, high, error)


def _permuted_best(rounds: Rounds, winner: str, order: Order) -> Control:
    """The winner of tuning on permuted places: worse exactly if it uses the order.

    An FCN and the bag are blind to it and must not change. Any other winner must be worse on permuted places
    if the order test says that order matters because it is better as it is. For certain it must be neither
    better nor worse unless that test said so; without an answer of that test, being worse decides nothing.
    """
    errors = rounds.at_full(PERMUTED_BEST)
    lost = errors - rounds.at_full(winner)
    p, mean = rounds.p_value(lost), float(lost.mean())
    uses = order.verdict == "matters" and (order.here or 0.0) < (order.permuted or 0.0)
    worse_here = order.verdict == "matters" and not uses
    fine: bool | None = True
    if winner in (FCN, BAG):
        says = f"{winner} is blind to the order, and as good on permuted places, as it must be"
        if p <= CERTAIN:
            says, fine = f"{winner} is blind to the order, but seems to differ on permuted places", False
    elif mean < 0 and p <= CERTAIN and not worse_here:
        says, fine = f"{winner} is better on permuted places, which the order test does not explain", False
    elif uses and (mean <= 0 or p > LIKELY):
        says, fine = f"whether {winner} loses by permuting is not decided by {len(rounds)} rounds", None
    elif uses:
        says = f"{winner} loses its lead on permuted places, as it must where order matters"
    elif order.verdict == "not seen" and mean > 0 and p <= CERTAIN:
        says, fine = (
            f"{winner} loses on permuted places: order matters, though its test did not see it",
            False,
        )
    elif mean < 0 and p <= CERTAIN:
        says = f"{winner} is better on permuted places, as networks are by the order test"
    elif p <= CERTAIN and order.verdict == "not judged":
        says = f"{winner} loses on permuted places; whether order matters is not decided, nor judged"
        fine = None
    elif p <= CERTAIN:
        says = f"{winner} loses on permuted places, though random orders do better in the order test"
        fine = False
    else:
        says = f"{winner} is about as good on permuted places, as it must be where order is of no use"
    return _told(PERMUTED_BEST, says, fine, rounds, errors)


def _shuffled(rounds: Rounds, constant: str) -> Control:
    """Trained on shuffled labels nothing may beat a constant answer."""
    errors = rounds.at_full(SHUFFLED)
    difference = errors - rounds.at_full(MAJORITY)
    fine = not (difference.mean() < 0 and rounds.p_value(difference) <= CERTAIN)
    says = f"trained on shuffled labels, the winner does not beat the {constant}, as it must be"
    if not fine:
        says = f"trained on shuffled labels, the winner still beats the {constant}: test labels leak"
    return _told(SHUFFLED, says, fine, rounds, errors)


def _bag(rounds: Rounds, best: str, order: Order, *, alone: bool) -> Control:
    """An order-free network that is as good as the best says that order is not what helps."""
    if BAG not in rounds.errors or alone:
        left = "every other arm" if BAG in rounds.errors else "the bag"
        return Control(BAG, f"not made: {left} was left out", None)
    errors = rounds.at_full(BAG)
    difference = errors - rounds.at_full(best)
    worse = best != BAG and difference.mean() > 0
    behind = worse and rounds.p_value(difference) <= LIKELY
    says, fine = "an order-free bag of places is behind the best arm", True
    if worse and not behind:
        says, fine = f"whether an order-free bag does as well is not decided by {len(errors)} rounds", None
    elif not behind:
        says, fine = "an order-free bag does as well", order.verdict != "matters"
    if fine is False:
        says = "an order-free bag does as well as the best arm: what helps is not the order"
    return _told(BAG, says, fine, rounds, errors)


def _told(name: str, says: str, fine: bool | None, rounds: Rounds, errors: np.ndarray) -> Control:
    """A control with its error, which is never below 0."""
    around = rounds.interval(errors)
    return Control(name, says, fine, None, max(around.low, 0.0), around.high, around.mean)
