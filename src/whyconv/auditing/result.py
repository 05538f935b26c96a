"""What an audit found, as data: the same object for terminal, ``--json``, report and notebook.

Every number that is not known is None, and an interval's open end too, so that JSON has null there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from whyconv.auditing.forecast import Model

PARTS: Mapping[str, tuple[str, ...]] = {
    "data": ("name", "examples", "shape", "classes", "metric"),
    "order": ("verdict", "p", "here", "permuted"),
    "savings": ("prior", "factor", "low", "high", "verdict"),
    "window": (),
    "arms": ("name", "error", "low", "high"),
    "best": (),
    "references": ("name", "error", "low", "high"),
    "forecast": ("m", "error", "low", "high", "target", "needed", "backtest"),
    "controls": ("name", "says", "fine", "factor", "low", "high", "error"),
    "warnings": (),
    "rounds": (),
    "seconds": (),
    "out": (),
}
"""What programs get, and of which parts which fields: a form that stays."""
PRIORS = ("locality", "sharing", "pooling", "together")
"""In every audit, in this order."""

SavingVerdict = Literal["saves", "costs", "no difference", "undecided", "not judged"]
OrderVerdict = Literal["matters", "not seen", "not judged"]


@dataclass(frozen=True)
class Described:
    """The data: ``shape`` of one example (rows, columns, channels); ``classes`` is None for regression."""

    name: str
    examples: int
    shape: tuple[int, int, int]
    classes: int | None
    metric: str
    grid: str = "series"
    """series, image or table."""


@dataclass(frozen=True)
class Order:
    """The test of the order of features: error ``here`` and its mean over random orders; two-sided ``p``."""

    verdict: OrderVerdict
    p: float | None = None
    here: float | None = None
    permuted: float | None = None
    orders: int = 0
    arm: str = ""
    why: str = ""


@dataclass(frozen=True)
class Saving:
    """What a prior saves: examples needed without it over those needed with it; above 1 it saves.

    ``why``: what decides it if it is undecided or not judged. ``gap``: the mean gap of the two curves in
    log m, as a factor. ``without``, ``given``: the two arms. ``at``: the error at which they are compared.
    """

    prior: str
    verdict: SavingVerdict
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    without: str = ""
    given: str = ""
    at: float | None = None
    needed: int | None = None
    """Examples that ``given`` needs where ``without`` needs ``instead_of``."""
    instead_of: int | None = None


@dataclass(frozen=True)
class Arm:
    """An architecture's error with all training examples."""

    name: str
    error: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Forecast:
    """The error of the best arm with more data, at most twice as many; ``backtest``: how such forecasts did.

    ``needed``: examples for the error ``target``, None if that lies beyond the cap or no target was given.
    """

    m: int
    error: float | None
    low: float | None
    high: float | None
    target: float | None = None
    needed: int | None = None
    backtest: str = ""


@dataclass(frozen=True)
class Control:
    """A check of the audit itself: ``fine`` is None if it was not made or not decided."""

    name: str
    says: str
    fine: bool | None
    factor: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None

    @property
    def made(self) -> bool:
        """Whether anything was measured for it."""
        return self.error is not None


@dataclass(frozen=True)
class Result:
    """An audit."""

    data: Described
    order: Order
    savings: tuple[Saving, ...]
    window: int | None
    """The width of the window, in features, that tuning chose; None if no window was tuned."""
    arms: tuple[Arm, ...]
    best: str | None
    """The name of the best arm."""
    references: tuple[Arm, ...]
    """majority (or mean), logistic (or ridge), forest."""
    forecast: Forecast | None
    controls: tuple[Control, ...]
    warnings: tuple[str, ...]
    rounds: int
    seconds: float
    out: str
    curves: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """arm, m, error, low, high, rounds: one for every point of the learning curves."""
    filters: Mapping[str, tuple[Any, str]] = field(default_factory=dict, repr=False, compare=False)
    """Of the best arm and the FCN: the strongest filters of the first layer (number, row, column, channel),
    and a score."""
    ahead: str = field(default="", compare=False)
    """What the same command would give if it were called again."""
    model: Model | None = field(default=None, repr=False, compare=False)
    """The best arm with its learning curve; None before there is a whole round."""

    def to_json(self) -> dict[str, Any]:
        """The object of ``whyconv audit --json``: plain values, None for what is not known or not finite."""
        return {name: plain(getattr(self, name), parts) for name, parts in PARTS.items()}


def plain(value: Any, parts: tuple[str, ...] = ()) -> Any:
    """A value as JSON has it; of a dataclass these parts."""
    if isinstance(value, list | tuple):
        return [plain(each, parts) for each in value]
    if parts and value is not None:
        return {name: plain(getattr(value, name)) for name in parts}
    return None if isinstance(value, float) and not math.isfinite(value) else value
