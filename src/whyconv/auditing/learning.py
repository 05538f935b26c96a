"""Whether a network that was stopped at its last step would have learned more of use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

FALLING = 0.8
"""The training loss still falls if it ends below this share of what it was at half of the steps."""
FITTED = 0.5
"""An arm whose training error is below this share of its test error is past learning more of use."""


def still_learning(rows: Sequence[Row], study: Audit) -> bool:
    """Whether most of these trials were still learning when they were stopped."""
    return sum(learning(row, study) for row in rows) * 2 > len(rows)


def learning(row: Row, study: Audit) -> bool:
    """Whether the training loss falls, and the training error is not far below the test error."""
    trace, epochs = row.trace.get("loss_at_epochs_2^i", []), int(row.result["epochs"])
    if row.result["stopped"] != "cap" or epochs < 2:
        return False
    before = trace[int(math.log2(epochs / 2))]
    falls = float(row.result["train_loss"]) < FALLING * before
    fitted = float(row.result[f"train_{study.metric}"]) < FITTED * float(row.result[study.column])
    return falls and not fitted
