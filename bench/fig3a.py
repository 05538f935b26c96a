"""whyconv against PyTorch on Figure 3a's ConvPool and MLP arms: same examples, same rule, same errors.

Every side runs in processes of its own and is timed from their start to their end: imports, compilation,
training, testing and results included, all cores allowed. ``cold`` starts with empty compilation caches;
``warm`` is the same command again, with new results. Exits with 1 if the sides did not do the same work
with the same success (``compare.py`` says when). Run it on a quiet machine; the share of the processors
that went to others is shown.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from shutil import which

from compare import agreement
from machine import QUIET, cores, require_torch, sgemm_peak
from outcome import at_least, write
from sides import Figure3a, Side
from summary import GOAL, show, summarise

OUT = Path("build/bench/fig3a.json")


def main() -> int:
    """Measure, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about a minute: two sample sizes, two seeds")
    parser.add_argument("--repeats", type=int, default=1, help="interleaved repetitions; medians are shown")
    parser.add_argument("--patience", type=float, default=2, help="minutes to wait for a quiet machine")
    parser.add_argument("--m", type=int, nargs="+", default=[10, 20, 40, 80, 160, 320, 640, 1280])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--channels", type=int, default=500)
    parser.add_argument("--no-compiled", action="store_true", help="leave out PyTorch compiled")
    parser.add_argument("--json", action="store_true", help=f"print what is written to {OUT}")
    chosen = parser.parse_args()
    require_torch()
    if chosen.quick:
        chosen.m, chosen.seeds = [40, 160], 2
    with tempfile.TemporaryDirectory() as name:
        work = Figure3a(chosen.m, chosen.seeds, chosen.channels, Path(name))
        work.export()
        sides = [
            Side("whyconv", work.whyconv, compiles=True, at_a_time=cores()),
            Side("PyTorch eager", partial(work.torch, "eager"), compiles=False, at_a_time=1),
        ]
        if which("g++") and not chosen.no_compiled:
            sides.append(
                Side("PyTorch compiled", partial(work.torch, "compiled"), compiles=True, at_a_time=1)
            )
        elif not chosen.no_compiled:
            print("PyTorch compiled: not available, torch.compile needs g++.", file=sys.stderr)
        peak = sgemm_peak()
        for repeat in range(chosen.repeats):
            for side in sides:
                print(f"{side.name}, {repeat + 1} of {chosen.repeats} ...", file=sys.stderr, flush=True)
                cache = Path(name) / f"cache-{sides.index(side)}-{repeat}"
                cache.mkdir()
                side.measure(cache, chosen.patience)
        peak = max(peak, sgemm_peak())
    ours, *others = sides
    found = [agreement(ours.rows, other.rows, other.name, work.study.test_size) for other in others]
    told = summarise(work, sides, peak, found)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(told, indent=2) + "\n")
    mine = told["sides"]["whyconv"]
    busy = any(side["neighbours"] > QUIET for side in told["sides"].values())
    full = len(chosen.m) > 2
    name = f"Figure 3a, cold, {'paper' if full else 'small'} sizes"
    write("fig3a", [at_least(name, GOAL, mine["cold_ratio"], busy or not full)], told)
    if chosen.json:
        print(json.dumps(told, indent=2))
    else:
        show(told)
    return 1 if told["complaints"] else 0


if __name__ == "__main__":
    sys.exit(main())
