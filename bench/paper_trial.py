"""The largest trial of the paper's sizes, as a worker runs it, and the memory it takes.

``python paper_trial.py OUT``: Malach & Shalev-Shwartz, Figure 3, preset paper, LCN at the largest number of
digits. All is as there (60,000 sequences of MNIST, 1024 neurons a window, checkpoints, tests, shifted tests)
but for one epoch in place of 30: memory does not grow from one to the next. OUT gets what was measured, or
what is missing, in a sentence.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path

from whyconv.errors import UserError
from whyconv.execution import execute
from whyconv.runner.checkpoint import Checkpoint
from whyconv.settings import configure
from whyconv.tasks import images
from whyconv.trial import Trial

CHECKPOINT_SECONDS = 5


def largest() -> Trial:
    """The LCN at the largest number of digits, for one epoch."""
    study = configure("malach.fig3", "paper", {"learner.epochs": 1, "task.images": "mnist"})
    points = [point for point in study.plan({}) if point.labels["arm"] == "LCN"]
    return max(points, key=lambda point: point.labels["n"]).trial


def main(out: Path) -> None:
    """Run it and write down the largest resident memory of this process."""
    try:
        if not images.here("mnist"):
            raise UserError("MNIST is not here; run whyconv data fetch mnist, or set WHYCONV_DATA.")
        trial = largest()
        trial.task.fetch()
    except UserError as error:
        out.write_text(json.dumps({"missing": str(error)}))
        return
    segments = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{trial.key}.npz"
        execute(trial, segments.append, Checkpoint(path, CHECKPOINT_SECONDS))
        saved = path.stat().st_size if path.exists() else 0
    told = {
        "trial": trial.canonical(),
        "segments": len(segments) - 1,
        "checkpoint_bytes": saved,
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    out.write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
