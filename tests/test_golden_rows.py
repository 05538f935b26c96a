"""Rows of this version, kept: a change of any number without a new version of the piece turns red.

Made by ``python tests/test_golden_rows.py``, with the flags that ``conftest`` sets for all tests. In the
environment they were made in (as the runner describes one: processor, packages, kernels) every bit must be
the same. Elsewhere sums are taken in another order: words and counts must be the same, and floats agree to
``TOLERANCE``, some ten times what was seen on another processor and with OPENBLAS_CORETYPE=Prescott and
XLA_FLAGS=--xla_cpu_max_isa=SSE4_2.
"""

import json
import sys
from pathlib import Path

import pytest

from whyconv.runner.environment import describe, identity
from whyconv.trial import Trial

TOLERANCE = {"train_loss": 1e-3}
"""Relative, by column: a loss that is trained to nearly nothing shows every rounding before it."""
OTHERWISE = 1e-6
FILE = Path(__file__).parent / "assets" / "golden-rows.json"
SMALL = {"name": "detection", "positions": 4, "pattern_dim": 6, "patterns": 6}
SIGNAL = {"name": "signal", "patches": 4, "patch_dim": 3, "sigma": 0.4}
PROJECTED = {"name": "projected", "bias_rates": [0.1, 0.01], "steps": 60}
GD = {"name": "gradient", "optimiser": "sgd", "rate": 1.0, "batch": None, "loss": "hinge", "tolerance": 0}
SPECS = {
    "conv-pool": {
        "task": SMALL,
        "network": {"name": "conv-pool", "channels": 20},
        "learner": "gradient",
        "m": 30,
    },
    "noisy mlp": {
        "task": {**SMALL, "noise": 1.0},
        "network": {"name": "mlp", "width": 20},
        "learner": {"name": "gradient", "batch": None, "rate": 0.01},
        "m": 30,
    },
    "repeated pooling": {
        "task": {**SMALL, "conjunction": 2, "coherence": 0.2},
        "network": {"name": "repeated-pool", "stages": [20, 10]},
        "learner": {"name": "gradient", "epochs": 200},
        "m": 60,
    },
    "layerwise": {
        "task": SMALL,
        "network": {"name": "conv-pool", "channels": 20, "init_law": "sphere", "radius": 1e-6},
        "learner": {"name": "layerwise", "second_steps": 500},
        "m": 30,
    },
    "svm": {"task": {**SMALL, "noise": 1.0, "noise_law": "sphere"}, "learner": "svm", "m": 60},
    "scrambled": {
        "task": {**SMALL, "scrambled": True},
        "network": {"name": "conv-pool", "channels": 10, "stride": 3},
        "learner": {"name": "gradient", "epochs": 100},
        "m": 20,
    },
    "k-pattern, tables and multiplicities": {
        "task": {"name": "k-pattern", "n_bits": 12, "k_window": 4, "target": "random", "label_noise": 0.05},
        "network": {"name": "lcn", "filters": 1000},
        "learner": {**GD, "rate": 0.1, "epochs": 30},
        "m": 500,
        "exact": True,
    },
    "markov bits, fully connected, to a target": {
        "task": {"name": "k-pattern", "n_bits": 10, "k_window": 2, "law": "markov"},
        "network": {"name": "fcn", "filters": 50},
        "learner": {**GD, "target_error": 0.1, "held_out": 100},
        "m": 400,
    },
    "biased bits, natural start, strided groups": {
        "task": {"name": "k-pattern", "n_bits": 12, "k_window": 3, "law": "biased", "target": "majority"},
        "network": {
            "name": "partly-shared", "k_window": 3, "stride": 2, "group": 2, "filters": 20,
            "init_law": "uniform", "readout": "normal", "activation": "erf",
        },
        "learner": {"name": "gradient", "epochs": 5},
        "m": 300,
    },
    "order search": {
        "task": {"name": "k-junta", "n_bits": 8, "k_window": 3},
        "network": {"name": "cnn", "k_window": 3},
        "learner": {"name": "order-search", "strategy": "climb", "evaluations": 50},
        "m": 1200,
    },
    "signal, shared filters": {
        "task": SIGNAL, "network": "lsa-cnn", "learner": PROJECTED, "m": 30, "risk": True,
    },
    "signal, fully connected": {
        "task": SIGNAL, "network": "lsa-fcn", "learner": PROJECTED, "m": 30, "risk": True,
    },
    "signal, own filters, two steps": {
        "task": SIGNAL, "network": "lsa-lcn", "learner": {"name": "two-step", "bias_1": 0.3}, "m": 30,
        "risk": True,
    },
    "signal, a CNN embedded": {
        "task": SIGNAL, "network": "lsa-fcn", "learner": {**PROJECTED, "name": "cnn-in-fcn"}, "m": 30,
        "risk": True,
    },
    "a sequence of digits, made anew every epoch, own filters": {
        "task": {"name": "sequence", "images": "digits", "digits": 4, "counted": 1, "shifted_tests": [2]},
        "network": {"name": "deep-lcn", "channels": [4], "kernel": 24, "stride": [24, 8]},
        "learner": {
            "name": "gradient", "optimiser": "adadelta", "rate": 1.0, "loss": "hinge", "batch": 128,
            "tolerance": 0, "epochs": 4,
        },
        "m": 1500,
    },
    "classes of permuted images, labels shuffled": {
        "task": {"name": "image-classes", "images": "digits", "permuted": True, "shuffled_labels": True},
        "network": {"name": "deep-cnn", "channels": [4, 4], "stride": 2, "padding": "same", "outputs": 10},
        "learner": {"name": "gradient", "loss": "cross-entropy", "epochs": 3},
        "m": 200, "test_size": 400,
    },
    "one digit of four": {
        "task": {"name": "digit-grid", "images": "digits"},
        "network": {"name": "conv-pool", "channels": 8},
        "learner": {"name": "gradient", "epochs": 10},
        "m": 100,
    },
}  # fmt: skip


def agrees(column, now, then, here):
    """Whether a value is the kept one: to the bit, or, for a float from elsewhere, to the tolerance."""
    if here or not isinstance(then, float):
        return now == then and type(now) is type(then)
    return now == pytest.approx(then, rel=TOLERANCE.get(column, OTHERWISE), abs=0)


@pytest.mark.parametrize("name", SPECS)
def test_a_row_is_what_it_was(name, execute):
    golden = json.loads(FILE.read_text())
    spec, kept = {**SPECS[name], "seed": 0}, golden["rows"][name]
    assert Trial(**spec).key == kept["key"], "the identity changed: old rows would not be found again"
    result = json.loads(json.dumps(execute(**spec)))
    assert result.keys() == kept["result"].keys()
    here = identity(describe()) == golden["environment"]
    for column, value in kept["result"].items():
        assert agrees(column, result[column], value, here), (column, result[column], value)


def test_how_values_are_compared():
    assert agrees("risk", 0.5, 0.5, here=True) and not agrees("risk", 0.5 + 2e-16, 0.5, here=True)
    assert agrees("risk", 0.5 + 4e-7, 0.5, here=False) and not agrees("risk", 0.5 + 6e-7, 0.5, here=False)
    assert agrees("train_loss", 0.5004, 0.5, here=False) and not agrees("steps", 101, 100, here=False)
    assert not agrees("separable", 1, True, here=False)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent / "helpers"))
    from training import NoCheckpoint

    import conftest  # noqa: F401
    from whyconv.execution import execute

    rows = {}
    for name, spec in SPECS.items():
        trial = Trial(**spec, seed=0)
        result = dict(execute(trial, lambda fraction: None, NoCheckpoint())[0])
        rows[name] = {"key": trial.key, "result": result}
    FILE.write_text(json.dumps({"environment": identity(describe()), "rows": rows}, indent=1) + "\n")
