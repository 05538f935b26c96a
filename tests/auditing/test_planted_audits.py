"""Audits of planted data from examples to verdicts: right at one size, never wrong at a small one."""

import pytest
from in_process import Here

from whyconv.auditing import planted_run
from whyconv.auditing.arms import FCN, LCN
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.auditing.phases import PERMUTED_FCN
from whyconv.auditing.planted import planted
from whyconv.auditing.results import result
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options

ENOUGH = {"local": (600, 160, 8), "dense": (600, 24, 3)}
"""Examples, length and window at which five rounds decide."""
FEW = {"local": (200, 160, 8), "dense": (200, 24, 3)}
VERDICT = {"local": "saves", "dense": "costs"}
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def audited():
    """Audits of FCN and LCN alone: five rounds, one window, one rate."""
    here, before = Here(), run_folder()

    def audit(kind, shape, seed, folder):
        dataset = planted(kind, *shape, seed)
        study = designed(dataset, arms=[FCN, LCN])
        changed = {
            "orders": 0, "reference_rounds": 0, "growths": 0, "extensions": 0, "rates": (0.004,),
            "steps": 600, "seeds": 5, "channels": 8, "windows": (shape[2],), "sizes": study.sizes[-4:],
        }  # fmt: skip
        study = study.model_copy(update=changed)
        keep(dataset, folder, study.task.data)
        use_run_folder(folder)
        done = complete(study, folder, Options(preset="quick", workers=1), place=here)
        return result(study, done.points, done.rows)

    yield audit
    use_run_folder(before)


@pytest.mark.parametrize("kind", VERDICT)
@pytest.mark.parametrize("seed", [11, 12])
def test_locality_is_decided_and_right_where_there_is_enough(kind, seed, audited, tmp_path):
    found = audited(kind, ENOUGH[kind], seed, tmp_path)
    locality = found.savings[0]
    assert (found.rounds, locality.prior, locality.verdict) == (5, "locality", VERDICT[kind])
    errors = {arm.name: arm.error for arm in found.arms}
    assert (locality.factor > 1) == (errors[LCN] < errors[FCN]) == (kind == "local")
    assert planted_run.grades(kind, found)["locality"] == "right"
    assert next(each for each in found.controls if each.name == PERMUTED_FCN).fine is not False


@pytest.mark.parametrize("kind", VERDICT)
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_no_verdict_is_wrong_where_there_is_little(kind, seed, audited, tmp_path):
    found = audited(kind, FEW[kind], seed, tmp_path)
    assert "wrong" not in planted_run.grades(kind, found).values()
