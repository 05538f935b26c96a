"""What was measured, as plain data and as a table to read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from compare import Agreement
from machine import QUIET, describe
from sides import Figure3a, Side

GOAL = 3.0


def summarise(
    work: Figure3a, sides: Sequence[Side], peak: float, found: Sequence[Agreement]
) -> dict[str, Any]:
    """Everything as JSON-ready data; ratios are PyTorch eager's seconds over those of each side."""
    eager = sides[1].seconds(sides[1].cold)
    told = {}
    for side in sides:
        flops = float(work.flops(side.rows).sum())
        cold, warm = side.seconds(side.cold), side.seconds(side.warm)
        told[side.name] = {
            "cold_seconds": cold,
            "warm_seconds": warm,
            "cold_ratio": eager / cold,
            "warm_ratio": eager / warm,
            "share_of_peak_cold": flops / cold / peak,
            "share_of_peak_warm": flops / warm / peak,
            "arms": {arm: _arm(work, side, arm, peak) for arm in work.networks},
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
        "sides": told,
        "errors": {each.name: [asdict(cell) for cell in each.cells] for each in found},
        "steps": {each.name: each.steps for each in found},
        "complaints": [complaint for each in found for complaint in each.complaints],
    }


def _arm(work: Figure3a, side: Side, arm: str, peak: float) -> dict[str, float]:
    """Seconds of an arm's trials with filled caches, and the share of the peak at the largest m."""
    rows = side.rows[side.rows["arm"] == arm]
    largest = rows[rows["m"] == rows["m"].max()]
    pace = (work.flops(largest) / largest["seconds"]).median() * side.at_a_time
    return {
        "trial_seconds": float(rows["seconds"].sum()) / side.at_a_time,
        "share_of_peak_largest_m": float(pace) / peak,
    }


def show(told: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{told['machine']}; {', '.join(' '.join(item) for item in told['versions'].items())}")
    print(f"sgemm peak {told['sgemm_peak_gflops']:.0f} GFLOP/s; {told['command']}")
    _show_seconds(told["sides"], max(told["sizes"]["m"]))
    for name, cells in told["errors"].items():
        _show_errors(name, cells, told["steps"][name])
    ratio = told["sides"]["whyconv"]["cold_ratio"]
    if any(side["neighbours"] > QUIET for side in told["sides"].values()):
        print("\nDisturbed: others used the processors meanwhile; do not rely on these timings.")
    else:
        met = "met" if ratio >= GOAL else "missed"
        print(f"\nEnd to end, compilation included: {ratio:.2f}x; the goal of {GOAL:g}x is {met}.")
    print("\n".join(told["complaints"]) or "Same work, equal test errors.")


def _show_seconds(sides: dict[str, Any], largest: int) -> None:
    print("\nFrom start to end of the process; ratios to PyTorch eager:")
    lines = [("", "cold s", "warm s", "cold x", "warm x", "share of peak", "memory GB", "others")]
    for name, side in sides.items():
        numbers = [f"{side[key]:.1f}" for key in ("cold_seconds", "warm_seconds")]
        numbers += [f"{side[key]:.2f}" for key in ("cold_ratio", "warm_ratio")]
        numbers += [f"{side['share_of_peak_cold']:.1%}", f"{side['peak_memory_bytes'] / 1e9:.2f}"]
        lines.append((name, *numbers, f"{side['neighbours']:.0%}"))
    _print(lines)
    print(f"\nTrials alone, caches filled; share of the sgemm peak at m = {largest}:")
    lines = [("", *(title for arm in ("ConvPool", "MLP") for title in (f"{arm} s", "share")))]
    for name, side in sides.items():
        pairs = [(arm["trial_seconds"], arm["share_of_peak_largest_m"]) for arm in side["arms"].values()]
        lines.append((name, *(text for s, share in pairs for text in (f"{s:.1f}", f"{share:.1%}"))))
    _print(lines)


def _show_errors(name: str, cells: list[dict[str, Any]], steps: dict[str, tuple[float, float]]) -> None:
    print("\nTest error, mean [95 % interval over seeds]:")
    lines = [("arm", "m", "whyconv", name, "intervals")]
    for cell in cells:
        intervals = _interval(cell["ours"]), _interval(cell["theirs"])
        lines.append((cell["arm"], str(cell["m"]), *intervals, "apart" if cell["apart"] else "overlap"))
    _print(lines)
    told = (f"{arm} {mine:,.0f} and {theirs:,.0f}" for arm, (mine, theirs) in steps.items())
    print(f"Steps in all: {'; '.join(told)}")


def _interval(interval: dict[str, Any]) -> str:
    return f"{interval['mean']:.4f} [{max(0, interval['low']):.4f}, {min(1, interval['high']):.4f}]"


def _print(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
