"""The list of mutants is up to date: what it breaks stands in the code, once, and its tests are there."""

import pytest

from mutants import MUTANTS, PACKAGE, ROOT


@pytest.mark.parametrize(("name", "old", "new", "tests"), MUTANTS, ids=range(len(MUTANTS)))
def test_a_mutant_can_be_made(name, old, new, tests):
    assert (PACKAGE / name).read_text("utf-8").count(old) == 1, f"{name}: {old!r}"
    assert new != old and (ROOT / tests).is_file(), tests
