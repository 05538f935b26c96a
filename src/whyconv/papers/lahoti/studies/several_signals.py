"""Where Lahoti et al. may break: several signals at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.papers.lahoti.studies.diminishing import DROPPED, HALF, PAPER, Diminishing
from whyconv.papers.lahoti.studies.signal_study import FAIR, SignalField
from whyconv.studies.complexity import Sizes


class SeveralSignals(Diminishing, name="lahoti.several-signals"):
    """What weight sharing saves when the signal is in several patches at once.

    Two random patches of k = 20 hold the same signed signal; d = 10, sigma = 0.2. With more (``count``)
    a linear filter reaches the target, and there is nothing left to save.
    """

    reference: ClassVar[str] = (
        'Lahoti et al., break condition of a summary: "if the signal appears in multiple patches '
        'simultaneously, the weight sharing advantage diminishes" (reconstructed)'
    )
    title: ClassVar[str] = "Several signals at once: does the advantage of sharing diminish?"
    met: ClassVar[str] = "Several signals at once: the advantage of sharing diminishes."
    unmet: ClassVar[str] = "Several signals at once: the advantage of sharing does not diminish."
    says: ClassVar[str] = (
        '"If the signal appears in multiple patches simultaneously ..., the weight sharing advantage '
        'diminishes" (break condition 1 of a summary of the paper).'
    )
    criterion: ClassVar[str] = (
        "95 % interval: the factor m*(LCN) / m*(CNN) with several signals is less than 0.8 times that with "
        "one."
    )
    rule: ClassVar[str] = FAIR
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {"first_seed": 1000, "seeds": 40, "task.patch_dim": 20},
    }
    shown: ClassVar[Mapping[int, str]] = {
        HALF: "one signal, half the patches",
        PAPER: "one signal",
        DROPPED: "several signals",
    }

    task: SignalField = Field({"name": "signal", "patch_dim": 10, "sigma": 0.2}, validate_default=True)
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"cap": 4000}))
    count: int = Field(2, ge=2, le=10_000)

    def dropped(self) -> Mapping[str, Any]:
        return {"signals": self.count}
