"""Rows of this version, kept: a change of any number without a new version of the piece turns red.

Made by ``python tests/test_golden_rows.py``. Other processors round differently, so floats are
compared to a few per cent, counts of steps to a few per cent, and words exactly.
"""

import json
from pathlib import Path

import pytest

from whyconv.trial import Trial

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
    "signal, shared filters, exact choice of the step size": {
        "task": SIGNAL, "network": "lsa-cnn", "learner": PROJECTED, "m": 30, "risk": True,
    },
    "signal, fully connected, choice on examples of its own": {
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


@pytest.mark.parametrize("name", SPECS)
def test_a_row_is_what_it_was(name, execute):
    golden = json.loads(FILE.read_text())[name]
    spec = {**SPECS[name], "seed": 0}
    trial = Trial(**spec)
    assert trial.key == golden["key"], "the identity changed: old rows would not be found again"
    result = execute(**spec)
    assert result.keys() == golden["result"].keys()
    for column, value in golden["result"].items():
        if isinstance(value, bool | str):
            assert result[column] == value, column
        else:
            assert result[column] == pytest.approx(value, rel=0.05, abs=0.01), column


if __name__ == "__main__":
    from conftest import NoCheckpoint
    from whyconv.execution import execute

    rows = {}
    for name, spec in SPECS.items():
        trial = Trial(**spec, seed=0)
        rows[name] = {
            "key": trial.key,
            "result": dict(execute(trial, lambda fraction: None, NoCheckpoint())[0]),
        }
    FILE.write_text(json.dumps(rows, indent=1) + "\n")
