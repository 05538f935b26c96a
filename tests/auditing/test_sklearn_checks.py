"""Every check that scikit-learn has for estimators."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from whyconv import ConvClassifier, ConvRegressor

ELSEWHERE = """
from sklearn.utils.estimator_checks import check_array_api_input
from whyconv import ConvClassifier
check_array_api_input("ConvClassifier", ConvClassifier(), "numpy", expect_only_array_outputs=False)
print("passed")
"""


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ConvClassifier(), ConvRegressor()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.long
def test_the_check_that_needs_scipy_started_in_another_way():
    """It is skipped above, since SciPy reads the variable when it is imported."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "passed\n", done.stderr
