"""The trials of every study, kept as digests of their labels and keys, in the order of the plan.

Adaptive studies are played to their end with made-up rows. A plan that changes makes old rows useless to its
study: whoever means it makes the asset anew, with ``python tests/studies/test_plans.py``, and says why.
"""

import json
from pathlib import Path

import pytest

from whyconv import registry
from whyconv.settings import configure
from whyconv.spec import digest
from whyconv.trial import Row

ASSET = Path(__file__).parents[1] / "assets" / "plans.json"
NAMES = [study.name for study in registry.pieces("study") if study.__module__.startswith("whyconv.")]
IMAGES = {
    "image-classes": {"task.images": "cifar-10", "task.batches": [1, 2]},
    "digit-grid": {"task.images": "mnist"},
}
"""Sets by name, whether they are on the machine or not."""


def made_up(point, error):
    trial, part = point.trial, share(point.trial.key)
    result = {
        "test_error": error, "risk": error, "held_out_error": part / 2, "steps": 1 + int(100 * part),
        "stopped": "error" if part < 0.7 else "cap",
    }  # fmt: skip
    return Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", result)


def share(text):
    """A number between 0 and 1 that looks drawn."""
    return int(digest(text)[:8], 16) / 2**32


def falling(study, cells, point):
    """An error that falls like 1/sqrt(m), through the goal within the range of the search."""
    cell = next((cell for cell in cells if cell.labels.items() <= point.labels.items()), None)
    if cell is None or cell.search is None:
        return 0.1
    need = cell.search.low * (cell.search.cap / cell.search.low) ** share(dict(cell.labels))
    return study.goal(cell) * (need / point.trial.m) ** 0.5 * (0.95 + 0.1 * share(point.trial.key))


def played(study):
    """The plan that asks for nothing more."""
    rows, points = {}, study.plan({})
    cells = list(study.cells())
    while study.adaptive and (missing := [p for p in points if p.trial.key not in rows]):
        rows |= {p.trial.key: made_up(p, falling(study, cells, p)) for p in missing}
        points = study.plan(rows)
    return points


def summary(name):
    task = getattr(registry.find("study", name)(), "task", None)
    points = played(configure(name, "quick", IMAGES.get(getattr(task, "name", ""), {})))
    return [len(points), digest([[dict(point.labels), point.trial.key] for point in points])]


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_has_not_changed(name):
    kept = json.loads(ASSET.read_text())[name]
    assert summary(name) == kept, "if this is meant, make the asset anew (see the top)"


@pytest.mark.parametrize("name", ["brutzkus.fig3a", "malach.separation", "malach.fig3", "lahoti.vary-k"])
def test_a_first_seed_gives_trials_that_share_no_seed_with_the_others(name):
    def seeds(first):
        return {trial.seed for trial in configure(name, "quick", {"first_seed": first}).outlook()}

    assert not seeds(0) & seeds(500)
    assert {seed + 500 for seed in seeds(0)} == seeds(500)


if __name__ == "__main__":
    found = {name: summary(name) for name in sorted(NAMES)}
    ASSET.write_text(json.dumps(found, indent=1) + "\n")
