"""An audit beside the same ladder in plain PyTorch and scikit-learn: the same trials, from start to end.

    python bench/audit.py [--quick]

whyconv audits planted series with a fixed number of rounds: order test, tuning, rounds. Then every trial
that it planned is trained again by PyTorch (an eager loop, a process per core) or scikit-learn: the same rows
of the same splits in the same orders, the same rates, limits of steps and stopping rule; so PyTorch need not
search. Initial weights and batches are drawn anew, so steps and errors must agree on average only, in all and
by network. Both sides are timed from start to end of their processes; whyconv starts with an empty cache of
compiled programs. At size it takes about ten minutes on two free cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from machine import cores, describe, require_torch, timed
from outcome import at_least, table, write
from whyconv.auditing.planted import planted
from whyconv.paths import use_run_folder
from whyconv.runner.store import Store
from whyconv.spec import build
from whyconv.streams import streams
from whyconv.tasks.own_data import arrays, file_of
from whyconv.trial import Trial

GOAL = 3.0
STEPS_MARGIN, ERRORS_MARGIN = 0.2, 0.02
"""Total steps may differ by this share, mean errors by this much: both sides draw their own weights."""
NETWORK_MARGIN, NETWORK_SHARE = 0.4, 0.05
"""The steps of a network with at least this share of all may differ by this share."""
DISTURBED = 0.1
FULL = {"shape": [1000, 60, 7], "changes": {"seeds": 3, "growths": 0}}
QUICK = {
    "shape": [80, 12, 3],
    "changes": {
        "seeds": 3, "orders": 2, "order_steps": 20, "steps": 60, "channels": 4, "windows": [3], "growths": 0,
        "arms": ["FCN", "LCN", "CNN", "CNN + max", "CNN + global max"], "rates": [0.004], "sizes": [30, 60],
    },
}  # fmt: skip
OURS = """
import json, sys
from pathlib import Path
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.auditing.planted import planted
from whyconv.paths import use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options
folder, given = Path(sys.argv[1]), json.loads(sys.argv[2])
dataset = planted("shift", *given["shape"], 7)
study = designed(dataset)
study = type(study)(**{**dict(study), **given["changes"]})
keep(dataset, folder, study.task.data)
use_run_folder(folder)
complete(study, folder, Options(preset="quick", force=True))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny: shows that both sides do the same work")
    parser.add_argument("--patience", type=float, default=0, help="minutes to wait for a quiet machine")
    chosen = parser.parse_args()
    require_torch()
    with tempfile.TemporaryDirectory() as name:
        rows, told = compared(Path(name), QUICK if chosen.quick else FULL, chosen.quick)
    write("audit", rows, told)
    print(f"{describe()}\n{table(rows)}\n{json.dumps(told, indent=1)}")
    return 1 if told["complaints"] or any(row.met is False for row in rows) else 0


def compared(folder: Path, given: dict[str, Any], quick: bool) -> tuple[list[Any], dict[str, Any]]:
    """Both sides, one after the other."""
    run, cache = folder / "run", {"WHYCONV_CACHE": str(folder / "cache")}
    command = [sys.executable, "-c", OURS, str(run), json.dumps(given)]
    ours = timed(command, cache, folder / "ours.log")
    known = export(run, folder, given)
    script = str(Path(__file__).parent / "torch_audit.py")
    theirs = timed([sys.executable, script, str(folder), str(cores())], {}, folder / "torch.log")
    found = {each["key"]: each for each in json.loads((folder / "torch.json").read_text())}
    pairs = [(row, found[key]) for key, row in known.items()]
    work = by_network(pairs)
    steps = [sum(row.get("steps", 0) for row, _ in pairs), sum(other["steps"] for _, other in pairs)]
    errors = [
        float(np.mean([row["test_error"] for row, _ in pairs])),
        float(np.mean([o["error"] for _, o in pairs])),
    ]
    complaints = []
    if abs(steps[0] - steps[1]) > STEPS_MARGIN * steps[1]:
        complaints.append(f"whyconv took {steps[0]:,} steps, PyTorch {steps[1]:,}")
    if abs(errors[0] - errors[1]) > ERRORS_MARGIN and not quick:
        complaints.append(f"the mean test error is {errors[0]:.3f} and {errors[1]:.3f}")
    for name, (_, mine, other) in work.items():
        if other > NETWORK_SHARE * steps[1] and abs(mine - other) > NETWORK_MARGIN * other:
            complaints.append(f"whyconv took {mine:,} steps of {name}, PyTorch {other:,}")
    disturbed = max(ours.neighbours, theirs.neighbours) > DISTURBED
    ratio = theirs.seconds / ours.seconds
    rows = [] if quick else [at_least("audit", GOAL, ratio, disturbed)]
    told = {
        "trials": len(pairs), "work": work, "steps": steps, "errors": errors, "complaints": complaints,
        "ratio": ratio,
        "seconds": [ours.seconds, theirs.seconds], "neighbours": [ours.neighbours, theirs.neighbours],
    }  # fmt: skip
    return rows, told


def by_network(pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, list[int]]:
    """Trials, whyconv's steps and PyTorch's, by the name of the network or of the reference."""
    work: dict[str, list[int]] = {}
    for row, other in pairs:
        counts = work.setdefault(row["work"], [0, 0, 0])
        for place, more in enumerate((1, row.get("steps", 0), other["steps"])):
            counts[place] += more
    return work


def export(run: Path, folder: Path, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Write every trial with its rows, places and labels for PyTorch; returns whyconv's results."""
    use_run_folder(run)
    with Store.read(run) as store:
        stored = store.contents().rows()
    dataset = planted("shift", *given["shape"], 7)
    held: dict[str, np.ndarray] = {"x": dataset.x, "y0": 2 * dataset.y - 1}
    jobs, known = [], {}
    for key, row in stored.items():
        trial = Trial(**{**row.spec, "task": build("task", row.spec["task"])})
        task, world = trial.task, streams(trial)["world"]
        orders = [task.shuffle(task.stock(part), world, None, 0) for part in ("train", "test")]
        train, test = (order.rows for order in orders)
        split = f"{trial.seed}-{task.inner}"
        most = task.most(task.inner)
        held |= {f"train{split}": train[:most], f"test{split}": test[: trial.test_size]}
        held[f"places{task.permuted}"] = orders[0].places
        labels = f"shuffled{trial.seed}" if task.shuffled_labels else "0"
        held[f"y{labels}"] = orders[0].y if task.shuffled_labels else held["y0"]
        learner = trial.learner.canonical()
        network, model = trial.network, learner.get("model", "majority")
        jobs.append({
            "key": key, "split": split, "places": task.permuted, "labels": labels, "m": trial.m,
            "seed": trial.seed, "network": network.canonical() if network else None, "model": model,
            "rate": learner.get("rate", 1e-3), "epochs": learner.get("epochs", 2000),
            "tolerance": learner.get("tolerance", 1e-3),
        })  # fmt: skip
        known[key] = {**row.result, "work": named(network.canonical()) if network else model}
    assert arrays(file_of(task.data)).x.shape == dataset.x.shape
    np.savez(folder / "data.npz", allow_pickle=False, **held)
    (folder / "jobs.json").write_text(json.dumps(jobs))
    return known


def named(network: dict[str, Any]) -> str:
    """What kind of network a specification is: its name, how it pools, and its widths."""
    parts = [network["name"], *map(str, network.get("widths", ()))]
    parts += ["pool"] * (network.get("pool", 1) > 1) + ["global"] * (network.get("readout") == "max")
    return " ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
