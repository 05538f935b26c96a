"""Several rows per person: a leak that is planted is noticed, and groups mend it."""

import numpy as np
import pytest

from whyconv.auditing.dataset import from_arrays
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.execution import execute
from whyconv.paths import run_folder, use_run_folder

PERSONS, ROWS = 50, 8


@pytest.fixture(scope="module")
def persons():
    """Rows of a person are alike, and so are their labels, by chance: nothing holds for other persons."""
    chance = np.random.default_rng(3)
    who = np.repeat(np.arange(PERSONS), ROWS)
    x = chance.standard_normal((PERSONS, 20))[who] + 0.3 * chance.standard_normal((len(who), 20))
    return x, chance.permutation(np.arange(PERSONS) % 2)[who], who


class _Nothing:
    def load(self):
        return None

    def save(self, arrays):
        pass


def error_of_the_forest(dataset, folder):
    """In the first round."""
    study = designed(dataset)
    keep(dataset, folder, study.task.data)
    before = run_folder()
    use_run_folder(folder)
    try:
        forest = study.references(0)[-1].trial
        return execute(forest, lambda fraction: None, _Nothing())[0]["test_error"]
    finally:
        use_run_folder(before)


def test_a_leak_through_persons_is_noticed_and_mended_by_groups(persons, tmp_path):
    x, y, who = persons
    blind = from_arrays(x, y)
    assert any("say so with --groups" in text for text in blind.warnings)
    assert error_of_the_forest(blind, tmp_path / "blind") < 0.1, "all too good"
    told = from_arrays(x, y, groups=who)
    assert not any("--groups" in text for text in told.warnings)
    assert error_of_the_forest(told, tmp_path / "told") > 0.3, "nothing holds for other persons"


def test_persons_in_random_order_are_noticed_too(persons):
    x, y, _ = persons
    order = np.random.default_rng(0).permutation(len(x))
    assert any("say so with --groups" in text for text in from_arrays(x[order], y[order]).warnings)
    chance = np.random.default_rng(1)
    plain = chance.standard_normal((400, 20))
    assert not any("--groups" in text for text in from_arrays(plain, y).warnings)
    two = plain + 4 * np.eye(20)[0] * y[:, None]
    assert not any("--groups" in text for text in from_arrays(two, y).warnings), "classes are no persons"
