"""whyconv against dense PyTorch on the k-pattern CNN, and exact gradients against Monte Carlo.

Gradient descent on all m examples, hinge loss, the theorem's initialisation: same examples, same first
parameters, same steps. Every side runs in processes of its own, whyconv in one thread, as in its workers,
PyTorch and NumPy with all cores. Timed inside the processes, from examples and first parameters in memory to
trained parameters and their loss: one step, and a run of 50. ``cold`` has to compile first. Exits with 1 if
the sides did not end at the same parameters and losses. The full size takes about a quarter of an hour, most
of it PyTorch's; run it on a quiet machine: the share of the processors that went to others is shown.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from k_pattern_sides import Workshop
from k_pattern_sizes import FULL, QUICK
from k_pattern_summary import Measured, show, summarise
from machine import QUIET, describe, require_torch, sgemm_peak
from outcome import Outcome, write

OUT = Path("build/bench/k_pattern.json")


def main() -> int:
    """Measure, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under a minute: small sizes, no waiting")
    parser.add_argument("--no-slow", action="store_true", help="no unchunked or compiled PyTorch")
    parser.add_argument("--repeats", type=int, default=3, help="timed steps of a form; medians are shown")
    parser.add_argument("--patience", type=float, default=2, help="minutes to wait for a quiet machine")
    parser.add_argument("--tries", type=int, default=2, help="how often to start what others disturb")
    parser.add_argument("--json", action="store_true", help=f"print what is written to {OUT}")
    chosen = parser.parse_args()
    require_torch()
    sizes, patience, tries = (QUICK, 0.0, 1) if chosen.quick else (FULL, chosen.patience, chosen.tries)
    if chosen.no_slow:
        sizes = replace(sizes, slow=False)
    with tempfile.TemporaryDirectory() as name:
        shop = Workshop(sizes, chosen.repeats, patience, tries, Path(name))
        peak = sgemm_peak()
        measured = measure(shop)
        peak = max(peak, sgemm_peak())
    told = {
        "command": shlex.join(["python", *sys.argv]),
        "machine": describe(),
        "versions": {name: version(name) for name in ("whyconv", "jax", "torch", "numpy", "mpmath")},
        **summarise(sizes, measured, peak),
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(told, indent=2) + "\n")
    rows = []
    for goal in told["goals"]:
        busy = goal["neighbours"] > QUIET or not sizes.full
        why = "" if not busy else "others used the processors" if sizes.full else "small sizes"
        met = None if busy else bool(goal["met"])
        rows.append(
            Outcome(f"k-pattern: {goal['what']}"[:40], goal["goal"][3:], f"{goal['ratio']:,.4g}x", met, why)
        )
    write("k_pattern", rows, told)
    if chosen.json:
        print(json.dumps(told, indent=2))
    else:
        show(told)
    return 1 if told["complaints"] else 0


def measure(shop: Workshop) -> Measured:
    """Every process, one after another."""
    cold = shop.whyconv("theorem", rounds=0)
    warm = shop.whyconv("theorem")
    forms = [shop.torch("theorem", form) for form in shop.sizes.forms()]
    fastest = min(forms, key=lambda each: each.step_seconds).form
    return Measured(
        cold=cold,
        warm=warm,
        forms=forms,
        compiled=[shop.torch("theorem", form) for form in shop.sizes.compiled_forms()],
        run=shop.torch("theorem", fastest, run=True),
        tables=shop.whyconv("normal"),
        dense=shop.torch("normal", fastest),
        filters=shop.filters(),
        gradients=shop.gradient(),
        starts={start: shop.start(start) for start in ("theorem", "normal")},
    )


if __name__ == "__main__":
    sys.exit(main())
