"""What locality and sharing are worth on real images where nothing is pooled."""

from __future__ import annotations

from typing import ClassVar

from whyconv.papers.lahoti.studies.cifar import CNN, FCN, LCN, POOLED_CNN, POOLED_LCN, Cifar
from whyconv.studies.images import permuted


class CifarUnpooled(Cifar, name="lahoti.cifar-unpooled"):
    """The order CNN < LCN < FCN for networks without pooling; its trials are those of ``lahoti.cifar``.

    Here the readout sees every window apart, so that a CNN's scores depend on where a filter responds, as an
    LCN's do.
    """

    title: ClassVar[str] = "What are locality and sharing worth on real images without pooling?"
    met: ClassVar[str] = "FCN, LCN, CNN without pooling: each needs more examples than the next."
    unmet: ClassVar[str] = "FCN, LCN, CNN without pooling: not each needs more examples than the next."
    criterion: ClassVar[str] = (
        "95 % intervals over seeds of ratios of m*, networks without pooling: the FCN needs more examples "
        "than the LCN, and the LCN more than the CNN (ratios above 1). Sanity as in lahoti.cifar."
    )
    broken: ClassVar[str] = (
        "If the study passes: the LCN on images whose pixels are permuted must not need fewer examples than "
        "the FCN. If not: the LCN with pooling must need more examples than the CNN with pooling."
    )
    order: ClassVar[tuple[str, ...]] = (FCN, LCN, CNN)
    disorder: ClassVar[tuple[str, ...]] = (FCN, permuted(LCN))
    headline: ClassVar[str] = "sharing, without pooling"
    ends: ClassVar[tuple[str, ...]] = (POOLED_LCN, POOLED_CNN)
