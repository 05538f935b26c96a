"""A fake study in a process that kills itself at a given line of runner/, or notes the lines it passes.

Arguments: the folder, the number of seeds, then ``kill FILE LINE HIT`` or ``note PATH`` or nothing. Keys of
acknowledged rows go to standard output, one a line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "runner"))

from runner_fakes import FakeGrid, options

import whyconv.runner
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Finished

ROOM = str(Path(whyconv.runner.__file__).parent)


def acknowledge(event):
    if isinstance(event, Finished):
        os.write(1, f"{event.key}\n".encode())


def tracing(at_line):
    """A trace function that calls ``at_line`` with file and line, for the lines of functions in runner/."""

    def local(frame, event, _):
        if event == "line":
            at_line(Path(frame.f_code.co_filename).name, frame.f_lineno)
        return local

    def enter(frame, event, _):
        code = frame.f_code
        return local if code.co_filename.startswith(ROOM) and code.co_name != "<module>" else None

    return enter


def main(folder, seeds, what="", *more):
    study = FakeGrid(seeds=int(seeds), sleep=0.001)
    passed = Counter()

    def note(file, line):
        passed[f"{file}:{line}"] += 1

    def kill(file, line):
        note(file, line)
        if passed[f"{more[0]}:{more[1]}"] >= int(more[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    if what:
        sys.settrace(tracing(kill if what == "kill" else note))
    complete(study, folder, options(workers=1))
    sys.settrace(None)
    if what == "note":
        Path(more[0]).write_text(json.dumps(passed))
    os.write(1, b"complete\n")


main(*sys.argv[1:])
