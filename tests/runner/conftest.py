"""Tests of the runner share warm workers, since starting them takes longer than what most of them run."""

import pytest

from whyconv.runner import places


@pytest.fixture
def no_warm_workers():
    """For tests that count workers: they find none of another test, and leave none."""
    places.close()
    yield
    places.close()
