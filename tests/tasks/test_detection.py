"""The laws of the detection task: what an input holds, how noise is bounded, nesting, exact sets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks.detection import Detection
from whyconv.views import RowSet, View

WORLD, DRAWS = stream("world", 1), stream("train", 1)


@st.composite
def tasks(draw, **fixed):
    dim = draw(st.integers(3, 9))
    positions = draw(st.integers(1, 7))
    patterns = draw(st.integers(3, dim))
    conjunction = draw(st.integers(1, 3))
    assume(conjunction <= min(patterns - 1, positions))
    values = {"positions": positions, "pattern_dim": dim, "patterns": patterns, "conjunction": conjunction}
    return Detection(**{**values, **fixed})


@given(tasks())
@settings(max_examples=6, deadline=None)
def test_every_input_holds_what_its_label_says(task):
    contents, labels = map(np.asarray, jax.jit(task.contents)(DRAWS, jnp.arange(200)))
    for content, label in zip(contents, labels, strict=True):
        if task.conjunction == 1:
            assert (content == (0 if label == 1 else 1)).sum() == 1
            assert (content < 2).sum() == 1
        else:
            held = [int((content == i).sum()) for i in range(task.conjunction)]
            assert held.count(1) == (task.conjunction if label == 1 else task.conjunction - 1)
            assert max(held) == 1
        assert content.max() < task.patterns


def test_labels_positions_and_spurious_patterns_are_uniform():
    task = Detection(positions=5, pattern_dim=6, patterns=6)
    contents, labels = map(np.asarray, jax.jit(task.contents)(DRAWS, jnp.arange(20_000)))
    assert stats.binomtest(int((labels == 1).sum()), len(labels)).pvalue > 1e-3
    place = (contents < 2).argmax(axis=1)
    assert stats.chisquare(np.bincount(place, minlength=5)).pvalue > 1e-3
    spurious = contents[contents >= 2]
    assert stats.chisquare(np.bincount(spurious)[2:]).pvalue > 1e-3
    first_two = contents[(contents[:, 0] >= 2) & (contents[:, 1] >= 2)][:, :2] - 2
    joint = np.bincount(first_two[:, 0] * 4 + first_two[:, 1], minlength=16)
    assert stats.chisquare(joint).pvalue > 1e-3


@given(tasks(), st.floats(0.0, 0.9))
@settings(max_examples=6, deadline=None)
def test_patterns_have_the_gram_matrix_asked_for(task, coherence):
    task = task.model_copy(update={"coherence": coherence})
    rows = np.asarray(jax.jit(task.pattern_matrix)(WORLD))
    gram = np.full((task.patterns, task.patterns), coherence)
    np.fill_diagonal(gram, 1.0)
    np.testing.assert_allclose(rows @ rows.T, gram, atol=3e-6)


def test_random_patterns_differ_between_worlds_and_given_ones_are_used():
    task = Detection(pattern_dim=4, patterns=3)
    assert not np.allclose(task.pattern_matrix(WORLD), task.pattern_matrix(stream("world", 2)))
    given_rows = tuple(tuple(float(i == j) for j in range(4)) for i in range(3))
    task = Detection(pattern_dim=4, patterns=3, given=given_rows)
    np.testing.assert_array_equal(task.pattern_matrix(WORLD), np.eye(3, 4))


@pytest.mark.parametrize("law", ["ball", "sphere"])
def test_noise_stays_in_the_ball_and_fills_it(law):
    task = Detection(positions=4, pattern_dim=5, patterns=3, noise=0.7, noise_law=law)
    clean = task.model_copy(update={"noise": 0.0})

    def made(task):
        return jax.jit(task.examples)(WORLD, DRAWS, jnp.arange(4000))

    noise = np.asarray(made(task).x - made(clean).x)
    norms = np.linalg.norm(noise, axis=-1).ravel()
    assert norms.max() <= 0.7 + 1e-5
    if law == "sphere":
        assert norms.min() >= 0.7 - 1e-5
    else:
        assert stats.kstest((norms / 0.7) ** 5, "uniform").pvalue > 1e-3
    direction = noise.reshape(-1, 5) / norms[:, None]
    np.testing.assert_allclose(np.cov(direction.T), np.eye(5) / 5, atol=0.01)


@given(tasks(noise=0.5), st.integers(1, 1500), st.integers(1500, 2100))
@settings(max_examples=3, deadline=None)
def test_a_larger_sample_contains_the_smaller_one_bit_for_bit(task, small, large):
    few, many = draw(task, WORLD, DRAWS, small), draw(task, WORLD, DRAWS, large)
    assert few.x.shape == (small, *task.shape)
    np.testing.assert_array_equal(few.x, many.x[:small])
    np.testing.assert_array_equal(few.y, many.y[:small])


def test_an_example_depends_on_its_number_alone():
    task = Detection(positions=3, pattern_dim=4, patterns=4, noise=0.3)
    some = jax.jit(task.examples)(WORLD, DRAWS, jnp.array([7, 3, 900]))
    many = jax.jit(task.examples)(WORLD, DRAWS, jnp.arange(1000))
    np.testing.assert_allclose(some.x, many.x[jnp.array([7, 3, 900])], rtol=1e-5, atol=1e-6)
    assert len(np.unique(np.asarray(many.x).round(5), axis=0)) == 1000


def test_scrambling_permutes_coordinates_and_keeps_labels():
    task = Detection(positions=3, pattern_dim=4, patterns=4, noise=0.3)
    plain = jax.jit(task.examples)(WORLD, DRAWS, jnp.arange(50))
    mixed = jax.jit(task.model_copy(update={"scrambled": True}).examples)(WORLD, DRAWS, jnp.arange(50))
    np.testing.assert_array_equal(plain.y, mixed.y)
    flat, other = np.asarray(plain.x).reshape(50, -1), np.asarray(mixed.x).reshape(50, -1)
    order = [int(np.flatnonzero((flat == column[:, None]).all(axis=0))[0]) for column in other.T]
    assert sorted(order) == list(range(12)) and order != list(range(12))


def test_a_scrambled_task_has_the_same_examples():
    plain, mixed = Detection(positions=3), Detection(positions=3, scrambled=True)
    assert plain.lineage() == mixed.lineage() != Detection(positions=4).lineage()
    assert plain.canonical() != mixed.canonical()


@given(tasks())
@settings(max_examples=6, deadline=None)
def test_the_set_law_is_the_law_of_the_sampled_sets(task):
    law = task.points(WORLD, RowSet(), False)
    assert law is not None
    assert abs(law.probability.sum() - 1) < 1e-12
    rows = np.asarray(task.pattern_matrix(jax.random.fold_in(WORLD, 0)))

    def members(x):
        return frozenset((x @ rows.T > 0.5).any(axis=0).nonzero()[0].tolist())

    exact = {(members(x), int(y)): p for x, y, p in zip(*law, strict=True)}
    assert len(exact) == len(law.y)
    contents, labels = map(np.asarray, jax.jit(task.contents)(DRAWS, jnp.arange(4000)))
    seen = {}
    for content, label in zip(contents, labels, strict=True):
        case = (frozenset(content.tolist()), int(label))
        seen[case] = seen.get(case, 0) + 1
    assert set(seen) <= set(exact)
    for case, probability in exact.items():
        expected = 4000 * probability
        assert abs(seen.get(case, 0) - expected) <= 5 * np.sqrt(expected) + 5


def test_the_set_law_is_silent_where_it_does_not_apply():
    def listed(view=RowSet(), **fields):
        return Detection(**{"pattern_dim": 5, "patterns": 5, **fields}).points(WORLD, view, False)

    assert listed() is not None
    assert listed(None) is None and listed(View()) is None  # networks that read more than sets
    assert listed(noise=0.1) is None
    assert listed(scrambled=True) is None
    assert Detection().points(WORLD, RowSet(), True) is None  # 2^18 sets are too many to list


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"patterns": 2}, "greater than or equal to 3"),
        ({"patterns": 30}, "patterns <= pattern_dim"),
        ({"positions": -1}, "greater than or equal to 1"),
        ({"noise": -0.5}, "greater than or equal to 0"),
        ({"conjunction": 11, "positions": 4}, "conjunction = 11"),
        ({"given": ((1.0, 0.0, 0.0),) * 3, "pattern_dim": 3, "patterns": 3}, "orthonormal"),
        ({"given": ((1.0,),), "pattern_dim": 3, "patterns": 3}, "3 rows"),
        ({"flavour": 1}, "no setting 'flavour'"),
    ],
)
def test_bad_values_get_one_sentence(fields, words):
    with pytest.raises(UserError) as refusal:
        build("task", {"name": "detection", **fields})
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
