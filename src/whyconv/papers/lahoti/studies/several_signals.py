"""Open question of Lahoti et al.: several signals at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.papers.lahoti.studies.signal_study import BROKEN, FAIR, AxisStudy, SignalField, sharers
from whyconv.studies.complexity import Sizes
from whyconv.studies.grid import Arm


class SeveralSignals(AxisStudy, name="lahoti.several-signals"):
    """What weight sharing saves when the signal is in several patches at once.

    r random patches of k = 20 hold the same signed signal; sigma = 0.2, so that the task stays out of a
    linear filter's reach for larger r. A summary of the paper expects the advantage of sharing to diminish.
    """

    reference: ClassVar[str] = "Lahoti et al., open question: several signals at once (reconstructed)"
    title: ClassVar[str] = "Several signals at once: sharing keeps its advantage"
    criterion: ClassVar[str] = (
        "95 % intervals: m* of the LCN is more than 5 times that of the CNN for every number of signals. The "
        "change of that factor from the smallest to the largest number is reported, not judged."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = FAIR
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 20},
    }
    needed: ClassVar[tuple[str, ...]] = tuple(sharers())
    axis: ClassVar[str] = "signals"
    field: ClassVar[str] = "signals"
    axis_title: ClassVar[str] = "patches that hold the signal at once"

    task: SignalField = Field({"name": "signal", "sigma": 0.2}, validate_default=True)
    arms: dict[str, Arm] = Field(default_factory=sharers, validate_default=True)
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"cap": 4000}))
    values: tuple[float, ...] = (1, 2)
