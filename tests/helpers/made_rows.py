"""A folder with a row for every trial of a study, none of which was run."""

from zlib import crc32

from whyconv.runner import environment
from whyconv.runner.store import Store
from whyconv.trial import Row


def fill(folder, study, **result):
    """Store made-up rows; errors differ between trials, and fall with m."""
    entries = []
    described = environment.describe()
    here = environment.identity(described)
    for point in study.plan({}):
        trial = point.trial
        error = (0.2 + 0.1 * (crc32(trial.key.encode()) % 100) / 100) / trial.m**0.5
        made = {"train_error": 0.0, "test_error": error, "epochs": 3, "stopped": "loss", **result}
        row = Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", made, environment=here)
        entries.append((row, 0.1, ""))
    with Store.open(folder) as store:
        store.record_environment(described)
        store.put_all(entries)
