"""The identity of a trial is a function of its specification and of nothing else."""

import json

from hypothesis import given
from hypothesis import strategies as st
from runner_fakes import FakeLearner, FakeNetwork, FakeTask

from whyconv.trial import Trial

specs = st.fixed_dictionaries(
    {
        "task": st.fixed_dictionaries(
            {"name": st.just("fake-task")},
            optional={"size": st.integers(0, 9), "hardness": st.floats(0, 1)},
        ),
        "network": st.fixed_dictionaries(
            {"name": st.just("fake-network")}, optional={"width": st.integers(1, 9)}
        ),
        "learner": st.fixed_dictionaries(
            {"name": st.just("fake-learner")}, optional={"sleep": st.sampled_from([0.0, 0.5])}
        ),
        "m": st.integers(1, 10_000),
        "seed": st.integers(0, 2**31 - 1),
    },
    optional={"test_size": st.integers(1, 5000), "dtype": st.sampled_from(["float32", "float64"])},
)
DEFAULTS = {
    "task": FakeTask(),
    "network": FakeNetwork(),
    "learner": FakeLearner(),
}


def with_defaults(spec):
    """The same specification with every default written out."""
    full = {name: {**piece.model_dump(), **spec[name]} for name, piece in DEFAULTS.items()}
    return {"test_size": 1000, "dtype": "float32", **spec, **full}


def reordered(value):
    """The same specification with its fields the other way round."""
    return {name: reordered(value[name]) for name in reversed(value)} if isinstance(value, dict) else value


@given(specs)
def test_a_default_may_be_left_out(spec):
    assert Trial(**with_defaults(spec)).key == Trial(**spec).key
    assert Trial(**with_defaults(spec)).stem == Trial(**spec).stem


@given(specs)
def test_the_order_of_fields_does_not_matter(spec):
    assert Trial(**reordered(spec)).key == Trial(**spec).key


@given(specs)
def test_a_trial_that_went_through_json_is_the_same(spec):
    trial = Trial(**spec)
    again = Trial(**json.loads(json.dumps(trial.canonical())))
    assert (again.key, again.stem, again.versions) == (trial.key, trial.stem, trial.versions)


@given(specs, specs)
def test_two_trials_share_a_key_only_if_they_are_equal(one, other):
    assert (Trial(**one).key == Trial(**other).key) == (with_defaults(one) == with_defaults(other))


@given(specs, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_another_seed_is_another_trial(spec, seed, other):
    keys = {Trial(**{**spec, "seed": seed}).key, Trial(**{**spec, "seed": other}).key}
    assert len(keys) == len({seed, other})


def test_a_raised_version_changes_the_key_and_keeps_the_stem(monkeypatch):
    before = Trial(task=FakeTask(), network=FakeNetwork(), learner=FakeLearner(), m=1, seed=0)
    old = (before.key, before.stem)
    monkeypatch.setattr(FakeNetwork, "version", 2)
    after = Trial(task=FakeTask(), network=FakeNetwork(), learner=FakeLearner(), m=1, seed=0)
    assert after.key != old[0]
    assert after.stem == old[1]
