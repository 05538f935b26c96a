"""Where Lahoti et al. may break: patches of different size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.papers.lahoti.studies.diminishing import DROPPED, HALF, PAPER, Diminishing
from whyconv.papers.lahoti.studies.signal_study import FAIR, SignalField


class UnequalPatches(Diminishing, name="lahoti.unequal-patches"):
    """What weight sharing saves when patches have different sizes.

    Sizes grow evenly from ``least`` to 20 over the k = 20 patches, from 4 on average 12; a patch holds as
    many entries of w*, scaled to length 1, so no filter fits all. With equal patches all have 12.
    sigma = 0.1.
    """

    reference: ClassVar[str] = (
        'Lahoti et al., break condition of a summary: "if patches have different dimensions, the weight '
        'sharing advantage diminishes" (reconstructed)'
    )
    title: ClassVar[str] = "Patches of different size: does the advantage of sharing diminish?"
    met: ClassVar[str] = "Patches of different size: the advantage of sharing diminishes."
    unmet: ClassVar[str] = "Patches of different size: the advantage of sharing does not diminish."
    says: ClassVar[str] = (
        '"If ... patches have different dimensions, the weight sharing advantage diminishes" (break '
        "condition 1 of a summary of the paper)."
    )
    criterion: ClassVar[str] = (
        "95 % interval: the factor m*(LCN) / m*(CNN) with patches of different size is less than 0.8 times "
        "that with equal ones. An m* that is not reached counts as more than the largest m."
    )
    rule: ClassVar[str] = FAIR
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {"first_seed": 1000, "seeds": 40},
    }
    shown: ClassVar[Mapping[int, str]] = {
        HALF: "equal patches, half of them",
        PAPER: "equal patches",
        DROPPED: "patches of different size",
    }

    task: SignalField = Field({"name": "signal", "patch_dim": 12}, validate_default=True)
    least: int = Field(4, ge=1, le=4096)

    def dropped(self) -> Mapping[str, Any]:
        """Sizes from ``least`` to as much above the mean."""
        k, mean = self.task.patches, self.task.patch_dim
        least = min(self.least, mean)
        sizes = [least + round(2 * (mean - least) * i / max(k - 1, 1)) for i in range(k)]
        return {"patch_dim": max(sizes), "patch_dims": tuple(sizes)}
