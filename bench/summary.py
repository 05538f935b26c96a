"""What was measured, as plain data and as a table to read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from compare import Agreement
from machine import describe
from sides import Figure3a, Side

QUIET = 0.05
"""Above this share of the processors' time spent by others, the timings are called disturbed."""
GOAL = 3.0


def summarise(work: Figure3a, sides: Sequence[Side], peak: float, found: Agreement) -> dict[str, Any]:
    """Everything as JSON-ready data; ratios are PyTorch eager's seconds over those of each side."""
    eager = sides[1].seconds(sides[1].cold)
    largest = max(work.study.m)
    told = {}
    for side in sides:
        flops = work.flops(side.rows)
        cold, warm = side.seconds(side.cold), side.seconds(side.warm)
        pace = (flops / side.rows["seconds"])[side.rows["m"] == largest]
        by_arm = pace.groupby(side.rows["arm"]).median() * side.at_a_time
        told[side.name] = {
            "cold_seconds": cold,
            "warm_seconds": warm,
            "cold_ratio": eager / cold,
            "warm_ratio": eager / warm,
            "gflops_cold": float(flops.sum()) / cold / 1e9,
            "peak_fraction_cold": float(flops.sum()) / cold / peak,
            "peak_fraction_in_trials": {arm: float(rate) / peak for arm, rate in by_arm.items()},
            "trial_seconds": side.rows.groupby("arm")["seconds"].sum().to_dict(),
            "peak_memory_bytes": max(each.peak_bytes for each in [*side.cold, *side.warm]),
            "neighbours": max(each.neighbours for each in [*side.cold, *side.warm]),
            "runs": {"cold": [asdict(t) for t in side.cold], "warm": [asdict(t) for t in side.warm]},
        }
    return {
        "command": shlex.join(["python", *sys.argv]),
        "machine": describe(),
        "versions": {name: version(name) for name in ("whyconv", "jax", "torch", "numpy")},
        "sizes": {"m": list(work.study.m), "seeds": work.study.seeds, "test_size": work.study.test_size},
        "sgemm_peak_gflops": peak / 1e9,
        "largest_m": largest,
        "sides": told,
        "steps": {arm: {"whyconv": a, "PyTorch eager": b} for arm, (a, b) in found.steps.items()},
        "errors": [asdict(cell) for cell in found.cells],
        "complaints": found.complaints,
    }


def show(told: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{told['machine']}; {', '.join(' '.join(item) for item in told['versions'].items())}")
    print(f"sgemm peak {told['sgemm_peak_gflops']:.0f} GFLOP/s; {told['command']}\n")
    in_trials = f"share of peak, m={told['largest_m']}"
    head = ("", "cold s", "warm s", "cold x", "warm x", "share of peak", in_trials, "memory GB", "others")
    lines = [head]
    for name, side in told["sides"].items():
        shares = ", ".join(f"{arm} {share:.1%}" for arm, share in side["peak_fraction_in_trials"].items())
        lines.append(
            (
                name,
                f"{side['cold_seconds']:.1f}",
                f"{side['warm_seconds']:.1f}",
                f"{side['cold_ratio']:.2f}",
                f"{side['warm_ratio']:.2f}",
                f"{side['peak_fraction_cold']:.1%}",
                shares,
                f"{side['peak_memory_bytes'] / 1e9:.2f}",
                f"{side['neighbours']:.0%}",
            )
        )
    _print(lines)
    print("\nTest error, mean [95 % interval over seeds]:")
    cells = [
        (
            cell["arm"],
            str(cell["m"]),
            _interval(cell["ours"]),
            _interval(cell["theirs"]),
            _told(cell["apart"]),
        )
        for cell in told["errors"]
    ]
    _print([("arm", "m", "whyconv", "PyTorch eager", ""), *cells])
    for arm, steps in told["steps"].items():
        print(f"{arm}: " + ", ".join(f"{side} {count:,.0f} steps" for side, count in steps.items()))
    ratio = told["sides"]["whyconv"]["cold_ratio"]
    print(f"\nEnd to end, compilation included: {ratio:.2f}x (goal {GOAL:g}x)")
    if any(side["neighbours"] > QUIET for side in told["sides"].values()):
        print("Disturbed: others used the processors meanwhile; do not rely on these timings.")
    print("\n".join(told["complaints"]) or "Same work, equal test errors.")


def _interval(interval: dict[str, Any]) -> str:
    return f"{interval['mean']:.4f} [{max(0, interval['low']):.4f}, {min(1, interval['high']):.4f}]"


def _told(apart: bool) -> str:
    return "apart" if apart else "overlap"


def _print(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
