"""An audit that is killed and called again has the rows of one that was not."""

import signal
import subprocess
import sys
import time

import pytest
from test_audit import small

from whyconv.auditing.keeping import keep
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.database import FILE
from whyconv.runner.events import Options
from whyconv.runner.store import Store

pytestmark = pytest.mark.long

AGAIN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_audit import small
from whyconv.auditing.keeping import keep
from whyconv.paths import use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options
dataset, study = small()
keep(dataset, Path(sys.argv[2]), study.task.data)
use_run_folder(sys.argv[2])
complete(study, sys.argv[2], Options(workers=1, preset="quick"))
"""


def rows(folder):
    if not (folder / FILE).exists():
        return {}
    with Store.read(folder) as store:
        return dict(store.contents().rows())


def test_a_killed_audit_has_the_same_rows(tmp_path):
    killed, whole, here = tmp_path / "killed", tmp_path / "whole", __file__.rpartition("/")[0]
    process = subprocess.Popen([sys.executable, "-c", AGAIN, here, str(killed)])
    deadline = time.monotonic() + 120
    while len(rows(killed)) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = rows(killed)
    dataset, study = small()
    before = run_folder()
    try:
        for folder in (killed, whole):
            keep(dataset, folder, study.task.data)
            use_run_folder(folder)
            complete(study, folder, Options(workers=1, preset="quick"))
    finally:
        use_run_folder(before)
    assert 5 <= len(kept) < len(rows(whole)), "it was killed on its way"
    assert rows(killed) == rows(whole) and kept.items() <= rows(killed).items()
