"""A few experiments of each kind; ``make chaos`` does them by the hundred."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import chaos


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return str(tmp_path_factory.mktemp("chaos"))


@pytest.mark.parametrize(
    ("kind", "number"),
    [pytest.param("kills", 3, marks=pytest.mark.long), ("flips", 8), ("cuts", 6), ("logs", 6)],
)
def test_nothing_is_lost_silent_wrong_or_left_behind(kind, number, place):
    counts = Counter()
    for each in range(number):
        counts += chaos.experiment(kind, each, place)[2]
    assert not {name: counts[name] for name in chaos.BAD if counts[name]}
    assert counts["identical exports"] == number
    assert counts[kind] >= number


def test_what_must_not_happen_is_reported(tmp_path):
    state = chaos.State(tmp_path / "state.json")
    state.add("flips", 0, Counter({"flips": 1, "identical exports": 1}))
    assert chaos.State(tmp_path / "state.json").bad() == []
    state.add("flips", 1, Counter({"flips": 1, "silent": 2}))
    again = chaos.State(tmp_path / "state.json")
    assert again.bad() == ["flips: 2 silent", "flips: 1 identical exports of 2"]
    assert again.done["flips"] == {0, 1}
