"""Decides claims as other processors would, and expects the recorded verdicts and controls that flip.

    make check-kernels                     two settings, the quick claims
    python tests/kernels.py --all          every setting, every claim: minutes each
    python tests/kernels.py Haswell AVX2   these settings, the quick claims

OpenBLAS and XLA choose their code by the processor, and sum in another order with each. A setting makes them
take that of another one; they ignore what this machine cannot do.
"""

import json
import os
import subprocess
import sys

SETTINGS = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Prescott, SSE4_2": {"OPENBLAS_CORETYPE": "Prescott", "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
    "default": {},
    "Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "SSE4_2": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
    "AVX2": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
    "AVX512": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX512"},
}
QUICK = ("Haswell", "Prescott, SSE4_2")
"""The kernels on which a solver went wrong, and the plainest code of all."""
SLOW = ("lahoti.cnn-upper", "lahoti.lcn-upper", "lahoti.lcn-lower", "lahoti.fcn-lower", "lahoti.ordering",
        "lahoti.two-step")  # fmt: skip
"""They train hundreds of networks, a minute in all; what they compare are intervals, no last bits. The tests
decide them in any case, and leave other slow ones to this file."""
DECIDE = """
import json, sys
from whyconv import api, registry
slow = json.loads(sys.argv[1])
for name in [claim.name for claim in registry.pieces("claim") if claim.name not in slow]:
    for found in api.check(name):
        words = {key: found[key] for key in ("claim", "verdict", "control_verdict")}
        print(json.dumps(words | {"good": api.as_expected(found)}), flush=True)
"""


def start(setting: str, slow: tuple[str, ...]) -> subprocess.Popen[str]:
    """A process that decides the claims; one thread, since there may be as many processes as cores."""
    one = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, "-c", DECIDE, json.dumps(slow)]
    environment = {**os.environ, **one, **SETTINGS[setting]}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def main(arguments: list[str]) -> int:
    """Print a table of verdicts and controls; the exit code is the number of claims not as recorded."""
    every = arguments == ["--all"]
    settings = list(SETTINGS) if every else arguments or list(QUICK)
    if unknown := [name for name in settings if name not in SETTINGS]:
        print(f"no setting {unknown[0]!r}; choose --all or some of: {'; '.join(SETTINGS)}")
        return 2
    table: dict[str, dict[str, str]] = {}
    bad = 0
    for first in range(0, len(settings), 2):
        running = [(name, start(name, () if every else SLOW)) for name in settings[first : first + 2]]
        for name, process in running:
            told = process.communicate()[0]
            found = [json.loads(line) for line in told.splitlines()]
            for claim in found:
                said = f"{claim['verdict']} / {claim['control_verdict']}" + ("" if claim["good"] else "  (!)")
                table.setdefault(claim["claim"], {})[name] = said
            wrong = sum(not claim["good"] for claim in found) + (process.returncode != 0)
            bad += wrong
            print(f"{name}: {len(found) - wrong} of {len(found)} claims as recorded", flush=True)
    print("", "| claim | " + " | ".join(settings) + " |", "|---" * (len(settings) + 1) + "|", sep="\n")
    for claim, said in sorted(table.items()):
        print(f"| {claim} | " + " | ".join(said.get(name, "(!)") for name in settings) + " |")
    return min(bad, 125)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
