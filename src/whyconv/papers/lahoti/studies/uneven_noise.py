"""Open question of Lahoti et al.: noise that differs from patch to patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from whyconv.papers.lahoti.studies.signal_study import BROKEN, FAIR, AxisStudy, sharers
from whyconv.studies.grid import Arm


class UnevenNoise(AxisStudy, name="lahoti.uneven-noise"):
    """What weight sharing saves when noise differs from patch to patch.

    sigma_i grows geometrically over the k = 20 patches, from the quietest to the loudest by the factor on
    the axis, with the same mean square. The CNN's one threshold must serve all; so must the LCN's, whose
    filters may shrink one by one.
    """

    reference: ClassVar[str] = "Lahoti et al., open question: heterogeneous noise (reconstructed)"
    title: ClassVar[str] = "Noise that differs by patch: does sharing keep its advantage?"
    met: ClassVar[str] = "Noise that differs by patch: sharing keeps its advantage."
    unmet: ClassVar[str] = "Noise that differs by patch: sharing does not keep its advantage."
    says: ClassVar[str] = (
        '"How do the bounds change if the noise variance is not constant across patches?" (an open '
        "question, shortened from a summary of the paper)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals: m* of the LCN is more than 5 times that of the CNN at every unevenness. The change "
        "of that factor from even to the most uneven noise is reported, not judged."
    )
    broken: ClassVar[str] = BROKEN
    rule: ClassVar[str] = FAIR
    thresholds: ClassVar[Mapping[str, float]] = {"LCN over CNN": 5.0, "FCN over LCN": 1.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"seeds": 20, "values": [1, 2, 4, 8]},
    }
    needed: ClassVar[tuple[str, ...]] = tuple(sharers())
    axis: ClassVar[str] = "unevenness"
    field: ClassVar[str] = "uneven"
    axis_title: ClassVar[str] = "noise of the loudest patch over that of the quietest"

    arms: dict[str, Arm] = Field(default_factory=sharers, validate_default=True)
    values: tuple[float, ...] = (1, 4)
