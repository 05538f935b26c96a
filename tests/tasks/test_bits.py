"""k-patterns and k-juntas: labels by definition, laws by exact probabilities, refusals in a sentence."""

import itertools
import os
from math import prod

import jax.numpy as jnp
import numpy as np
import pytest

from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks.bits import KJunta, KPattern


def sample(task, count=2048):
    return draw(task, stream("world", 1), stream("draws", 1), count)


DEFINITIONS = {
    "parity": prod,
    "majority": lambda z: 1 if sum(z) > 0 else -1,
    "and": lambda z: 1 if all(v == 1 for v in z) else -1,
    "dictator": lambda z: z[0],
}


@pytest.mark.parametrize("target", DEFINITIONS)
@pytest.mark.parametrize("k, position", [(1, 1), (3, 3), (4, 7)])
def test_labels_follow_the_definition(target, position, k):
    x, y = (
        np.asarray(part)
        for part in sample(KPattern(n_bits=10, k_window=k, target=target, position=position), 256)
    )
    assert x.shape == (256, 10) and set(np.unique(x)) == {-1, 1}
    told = [DEFINITIONS[target](tuple(int(v) for v in row[position - 1 : position - 1 + k])) for row in x]
    assert np.array_equal(y, told)


def test_the_last_window_is_a_position_and_the_next_one_is_not():
    KPattern(n_bits=9, k_window=4, position=6)
    with pytest.raises(UserError, match="windows start at 1 to n_bits - k_window \\+ 1 = 6"):
        build("task", {"name": "k-pattern", "n_bits": 9, "k_window": 4, "position": 7})


def test_the_middle_is_the_default():
    assert KPattern(n_bits=10, k_window=4).first_bit == 3
    assert KPattern(n_bits=10, k_window=4, position=1).first_bit == 0


def test_a_table_is_read_with_the_first_bit_in_front():
    table = (-1, -1, -1, 1, -1, -1, -1, -1)
    x, y = sample(KPattern(n_bits=5, k_window=3, target="table", table=table, position=1), 512)
    told = [1 if tuple(row[:3]) == (-1, 1, 1) else -1 for row in np.asarray(x)]
    assert np.array_equal(y, told)


def test_a_random_target_is_one_function_a_seed():
    task = KPattern(n_bits=6, k_window=3, target="random")
    x, y = (np.asarray(part) for part in sample(task))
    seen = {}
    for row, label in zip(x[:, task.first_bit : task.first_bit + 3], y, strict=True):
        assert seen.setdefault(tuple(row), label) == label
    tables = [tuple(np.asarray(task.truth_table(stream("world", seed)))) for seed in range(8)]
    assert len(set(tables)) > 4


@pytest.mark.parametrize(
    "law",
    [
        {},
        {"law": "biased", "mean": 0.6},
        {"law": "biased", "mean": -0.3},
        {"law": "markov", "persistence": 0.8},
    ],
)
@pytest.mark.parametrize("kind", [KPattern, KJunta])
def test_frequencies_agree_with_the_exact_law(law, kind):
    task = kind(n_bits=4, k_window=2, **law)
    points = task.points(stream("world", 1), None, True)
    assert points.probability.sum() == pytest.approx(1, abs=1e-12)
    count = 40_000
    x, y = (np.asarray(part) for part in sample(task, count))
    number = (x > 0) @ (1 << np.arange(4)[::-1])
    place = (points.x > 0) @ (1 << np.arange(4)[::-1])
    for at, probability, label in zip(place, points.probability, points.y, strict=True):
        error = 5 * (probability * (1 - probability) / count) ** 0.5
        assert np.mean(number == at) == pytest.approx(probability, abs=error)
        assert set(y[number == at]) == {label}


def test_biased_bits_have_their_mean_and_markov_bits_their_memory():
    x = np.asarray(sample(KPattern(n_bits=8, k_window=2, law="biased", mean=0.6), 20_000).x)
    assert x.mean(axis=0) == pytest.approx(np.full(8, 0.6), abs=0.03)
    x = np.asarray(sample(KPattern(n_bits=8, k_window=2, law="markov", persistence=0.9), 20_000).x)
    assert (x[:, 1:] == x[:, :-1]).mean() == pytest.approx(0.9, abs=0.01)
    assert x.mean(axis=0) == pytest.approx(np.zeros(8), abs=0.05)


def test_uniform_bits_beyond_a_word_are_fair_and_independent():
    x = np.asarray(sample(KPattern(n_bits=70, k_window=2), 20_000).x)
    second = x.T @ x / len(x)
    assert np.abs(x.mean(axis=0)).max() < 0.05
    assert np.abs(second - np.eye(70)).max() < 0.05


def test_all_inputs_come_once():
    task = KPattern(n_bits=6, k_window=3, law="all")
    x = np.asarray(sample(task, 64).x)
    assert np.array_equal(x, list(itertools.product((-1, 1), repeat=6)))
    assert not task.refusal(64, 0, 64)
    assert task.refusal(63, 0, 64) and task.refusal(64, 0, 63) and task.refusal(64, 1, 64)


def test_label_noise_flips_its_share_and_raises_the_least_error():
    clean, noisy = KPattern(n_bits=6, k_window=3), KPattern(n_bits=6, k_window=3, label_noise=0.2)
    first, second = sample(clean, 20_000), sample(noisy, 20_000)
    assert np.array_equal(first.x, second.x)
    assert np.mean(np.asarray(first.y) != np.asarray(second.y)) == pytest.approx(0.2, abs=0.015)
    law = noisy.points(stream("world", 1), None, True)
    assert law.probability[: len(law.y) // 2].sum() == pytest.approx(0.8)


def test_a_junta_is_the_pattern_under_a_hidden_order():
    fields = {"n_bits": 12, "k_window": 3, "target": "random"}
    pattern, junta = sample(KPattern(**fields)), sample(KJunta(**fields))
    order = np.asarray(KJunta(**fields).order(stream("world", 1)))
    assert sorted(order) == list(range(12)) and list(order) != list(range(12))
    assert np.array_equal(np.asarray(pattern.x)[:, order], junta.x)
    assert np.array_equal(pattern.y, junta.y)
    assert KPattern(**fields).lineage() == KJunta(**fields).lineage()


def test_a_larger_sample_contains_the_smaller_one():
    task = KPattern(n_bits=40, k_window=3, law="markov")
    assert np.array_equal(sample(task, 100).x, sample(task, 3000).x[:100])


@pytest.mark.parametrize("form", ["text", "commas", "array"])
def test_inputs_from_a_file(tmp_path, form):
    rows = np.random.default_rng(0).choice([-1, 1], (7, 5))
    file = tmp_path / "inputs"
    if form == "array":
        with file.open("wb") as out:
            np.save(out, rows)
    else:
        np.savetxt(file, rows, fmt="%d", delimiter="," if form == "commas" else " ")
    task = KPattern(n_bits=5, k_window=2, law="file", file=str(file), position=1)
    x, y = (np.asarray(part) for part in sample(task, 500))
    assert {tuple(row) for row in x} == {tuple(row) for row in rows}
    assert np.array_equal(y, x[:, 0] * x[:, 1])
    before = task.data_digest()
    np.savetxt(file, -rows, fmt="%d")
    assert KPattern(n_bits=5, k_window=2, law="file", file=str(file)).data_digest() != before


REFUSED = {
    "k > n": ({"n_bits": 4, "k_window": 5}, "k_window = 5 bits do not fit into n_bits = 4"),
    "k = 0": ({"k_window": 0}, "greater than or equal to 1"),
    "short table": ({"k_window": 2, "target": "table", "table": [1, -1, 1]}, "needs 2\\^k = 4"),
    "table of other numbers": (
        {"k_window": 1, "target": "table", "table": [0, 2]},
        "input should be -1 or 1",
    ),
    "no table": ({"target": "table"}, "target = table needs a table"),
    "n too large for all": ({"n_bits": 21, "law": "all"}, "too large; take n_bits <= 20"),
    "noisy labels of all": ({"n_bits": 4, "law": "all", "label_noise": 0.1}, "labels cannot be noisy"),
    "mean of one": ({"law": "biased", "mean": 1}, "less than 1"),
    "no file": ({"law": "file"}, "law = file needs a file"),
    "missing file": ({"law": "file", "file": "/nowhere/bits"}, "No such file"),
    "half of the labels": ({"label_noise": 0.6}, "less than or equal to 0.5"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_settings_get_a_sentence(name):
    fields, sentence = REFUSED[name]
    with pytest.raises(UserError, match=sentence):
        build("task", {"name": "k-pattern", **fields})


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"1 -1 1\n1 0 1\n", "holds 0.0 in input 2, entry 2; use only -1 and 1"),
        (b"1 -1 1\n1 -1\n", "not a table of numbers"),
        (b"1 -1 1\na b c\n", "not a table of numbers"),
        (b"", "give one input"),
        (b"\x93NUMPY broken", "not a table of numbers"),
        (b"1 -1\n-1 -1\n", "has inputs of 2 bits, but n_bits = 3"),
        (b"1 nan 1\n", "holds nan"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path, content, sentence):
    file = tmp_path / "inputs"
    file.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        build("task", {"name": "k-pattern", "n_bits": 3, "k_window": 2, "law": "file", "file": str(file)})


def test_a_pickle_is_never_loaded(tmp_path):
    file = tmp_path / "inputs.npy"
    np.save(file, np.array([[{"a": 1}]], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match="not a table of numbers"):
        build("task", {"name": "k-pattern", "n_bits": 1, "k_window": 1, "law": "file", "file": str(file)})


def test_the_population_is_the_sample(execute):
    spec = {
        "task": {"name": "k-pattern", "n_bits": 6, "k_window": 2, "law": "all"},
        "network": {"name": "cnn", "k_window": 2, "filters": 64},
        "learner": {"name": "gradient", "optimiser": "sgd", "rate": 0.1, "batch": None, "loss": "hinge"},
        "seed": 0,
    }
    result = execute(**spec, m=64, test_size=64, exact=True)
    assert result["test_error"] == result["train_error"] == result["exact_error"] == 0
    with pytest.raises(ValueError, match="the task takes every input once; set both to 64"):
        execute(**spec, m=32, test_size=64)
    spec["learner"] = {**spec["learner"], "target_error": 0.1, "held_out": 8}
    with pytest.raises(ValueError, match="none can be held out"):
        execute(**spec, m=64, test_size=64)


def test_the_rarer_label_is_the_error_of_a_constant():
    assert KPattern(k_window=3, target="and").rarer_label() == 1 / 8
    assert KPattern(k_window=3).rarer_label() == 1 / 2
    assert KPattern(k_window=3, target="random").rarer_label() is None
    assert KPattern(k_window=3, target="and", law="biased").rarer_label() is None


def test_labels_are_whole_numbers():
    assert sample(KPattern(), 8).y.dtype == jnp.int32


def test_a_pipe_of_inputs_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is not a plain file"):
        build("task", {"name": "k-pattern", "law": "file", "file": str(tmp_path / "pipe")})
