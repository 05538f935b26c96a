"""Tests of the runner count workers: none finds those of another test."""

import pytest

from whyconv.runner import places


@pytest.fixture(autouse=True)
def _no_warm_workers():
    places.close()
    yield
    places.close()
