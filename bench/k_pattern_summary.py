"""What was measured on the k-pattern CNN, as plain data and as tables to read."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from k_pattern_sides import Dense, Gradients, Ours, Parameters
from k_pattern_sizes import Sizes
from machine import QUIET, Timed
from sides import PRODUCTS

GOAL, GOAL_FILTERS = 1000.0, 1.2
EPS = float(np.finfo(np.float32).eps)
ULPS = 8
"""Units in the last place of float32 that two sides may differ by, a step."""
SMALL = 1e-2
"""And the share of the distance from the start that this may be (one unit may always be)."""


@dataclass(frozen=True)
class Measured:
    """All processes; ``filters`` in turns in one process, and each in its own."""

    cold: Ours
    warm: Ours
    forms: list[Dense]
    compiled: list[Dense]
    run: Dense
    tables: Ours
    dense: Dense
    filters: tuple[list[Ours], list[Ours]]
    gradients: Gradients
    starts: dict[str, Parameters]


def summarise(sizes: Sizes, measured: Measured, peak: float) -> dict[str, Any]:
    """Everything as JSON-ready data; ratios are PyTorch's seconds over whyconv's."""
    warm, fastest = measured.warm, min(measured.forms, key=lambda each: each.step_seconds)
    start, normal = measured.starts["theorem"], measured.starts["normal"]
    pairs = [(warm, each, "single", start) for each in [*measured.forms, *measured.compiled]]
    pairs += [(warm, measured.run, "run", start), (measured.tables, measured.dense, "single", normal)]
    found = [agreement(*pair) for pair in pairs]
    flops = PRODUCTS * 2 * sizes.q * (sizes.k + 1) * sizes.windows * sizes.m
    return {
        "sizes": asdict(sizes),
        "sgemm_peak_gflops": peak / 1e9,
        "dense_step_at_peak_seconds": flops / peak,
        "threads": {"whyconv": 1, "torch": measured.run.told["threads"]},
        "step": {
            **_ours(warm),
            **{each.form.name: _dense(each, warm) for each in [*measured.forms, *measured.compiled]},
        },
        "run": _run(measured, fastest),
        "normal": {
            **_ours(measured.tables),
            measured.dense.form.name: _dense(measured.dense, measured.tables),
        },
        "filters": _filters(sizes, *measured.filters),
        "gradient": _gradient(measured.gradients),
        "agreement": found,
        "goals": _goals(measured, fastest),
        "complaints": [complaint for each in found for complaint in each["complaints"]],
    }


def agreement(ours: Ours, theirs: Dense, name: str, start: Parameters) -> dict[str, Any]:
    """How far the ends of two sides are apart: in losses, and in parameters relative to their norm."""
    steps = theirs.told[name]["steps"]
    allowed = ULPS * EPS * steps
    mine, other = expanded(ours.ends[name]), theirs.ends[name]
    losses = ours.told[name]["loss"], theirs.told[name]["loss"]
    apart = {part: _distance(mine[part], other[part]) for part in ("w", "u")}
    moved = {part: _distance(mine[part], start[part]) for part in ("w", "u")}
    complaints = []
    if not abs(losses[0] - losses[1]) <= allowed:
        complaints.append(f"{theirs.form.name}: losses {losses} after {steps} steps")
    for part, distance in apart.items():
        if not distance <= min(allowed, max(EPS, SMALL * moved[part])):
            complaints.append(f"{theirs.form.name}: {part} {distance:.1e} apart after {steps} steps")
    told = {"form": theirs.form.name, "steps": steps, "losses": losses, "apart": apart, "moved": moved}
    return {**told, "allowed": allowed, "complaints": complaints}


def expanded(params: Parameters) -> Parameters:
    """W (k, q) and u (windows, q) of the network itself: every type of filter as often as it counts."""
    w, u = params["w"][0], params["u"]
    if "counts" not in params:
        return {"w": w, "u": u}
    counts = params["counts"][0].astype(int)
    return {"w": np.repeat(w, counts, axis=1), "u": np.repeat(u, counts, axis=1)}


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Relative to the norm of the first, in double precision."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


def _side(told: dict[str, Any], process: Timed) -> dict[str, Any]:
    return {
        "seconds": statistics.median(told["seconds"]),
        "all_seconds": told["seconds"],
        "peak_memory_bytes": process.peak_bytes,
        "neighbours": process.neighbours,
    }


def _ours(ours: Ours) -> dict[str, Any]:
    """A step as a segment of its own, for which the examples are prepared anew; and one of many in a run."""
    steps = ours.told["run"]["steps"]
    in_run = {"seconds": [each / steps for each in ours.told["run"]["seconds"]]}
    return {
        "whyconv, a step alone": _side(ours.told["single"], ours.process),
        f"whyconv, a step of {steps}": _side(in_run, ours.process),
    }


def _dense(dense: Dense, ours: Ours) -> dict[str, Any]:
    """With its ratios to a step of whyconv's alone and to one of many."""
    told, steps = _side(dense.told["single"], dense.process), ours.told["run"]["steps"]
    ratios = {"ratio": ours.step_seconds, "ratio_in_run": ours.run_seconds / steps}
    return {**told, **{name: told["seconds"] / seconds for name, seconds in ratios.items()}}


def _run(measured: Measured, fastest: Dense) -> dict[str, Any]:
    """The run of the fastest form against whyconv's, compiled before, in the run, and as whole processes."""
    cold, warm, run = measured.cold, measured.warm, measured.run
    theirs = run.told["run"]["seconds"][0]
    seconds = {"warm": warm.run_seconds, "cold": cold.told["first_run_seconds"]}
    return {
        "form": fastest.form.name,
        "torch": _side(run.told["run"], run.process),
        "whyconv": {name: {"seconds": each, "ratio": theirs / each} for name, each in seconds.items()},
        "process": {
            "torch_seconds": run.process.seconds,
            "whyconv_seconds": cold.process.seconds,
            "ratio": run.process.seconds / cold.process.seconds,
        },
        "whyconv_peak_memory_bytes": cold.process.peak_bytes,
    }


def _filters(sizes: Sizes, together: Sequence[Ours], alone: Sequence[Ours]) -> list[dict[str, Any]]:
    return [
        {
            "q": q,
            "run_seconds": each.run_seconds,
            "ratio": each.run_seconds / together[0].run_seconds,
            "step_ratio": each.step_seconds / together[0].step_seconds,
            "step_seconds": each.step_seconds,
            "loss": each.told["run"]["loss"],
            "peak_memory_bytes": single.process.peak_bytes,
            "neighbours": each.process.neighbours,
        }
        for q, each, single in zip(sizes.many_filters, together, alone, strict=True)
    ]


def _gradient(found: Gradients) -> dict[str, Any]:
    """Seconds, memory and relative errors: of the exact one against many digits, of the other against it."""
    exact, sampled = found.exact.values, found.sampled.values
    errors = {
        "exact": np.abs(exact[found.chosen] / found.reference.values - 1),
        "sampled": np.abs(sampled / exact - 1),
    }
    told: dict[str, Any] = {
        name: {
            "seconds": side.seconds,
            "largest_relative_error": float(errors[name].max()),
            "median_relative_error": float(np.median(errors[name])),
            "relative_error_of_norm": float(np.linalg.norm(side.values - exact) / np.linalg.norm(exact)),
            "peak_memory_bytes": side.peak_bytes,
            "neighbours": side.process.neighbours,
        }
        for name, side in (("exact", found.exact), ("sampled", found.sampled))
    }
    sizes = np.abs(exact)
    return {
        **told,
        "reference_seconds": found.reference.seconds,
        "compared_coordinates": found.chosen.tolist(),
        "sizes": {"smallest": float(sizes.min()), "largest": float(sizes.max())},
    }


def _goals(measured: Measured, fastest: Dense) -> list[dict[str, Any]]:
    """What is asked for, what was found, and whether the processes that say so were left in peace."""
    warm, (few, many, *_) = measured.warm, measured.filters[0]
    step = fastest.step_seconds
    run, steps = measured.run.told["run"]["seconds"][0], warm.told["run"]["steps"]
    one = [warm, *measured.forms]
    return [
        _goal(f"One step, of {steps}", step * steps / warm.run_seconds, one),
        _goal("One step, alone", step / warm.step_seconds, one),
        _goal(f"A run of {steps} steps, compiled before", run / warm.run_seconds, [*one, measured.run]),
        _goal("A run with more filters", many.run_seconds / few.run_seconds, [few, many], GOAL_FILTERS),
    ]


def _goal(
    what: str, ratio: float, sides: Sequence[Ours | Dense], at_most: float | None = None
) -> dict[str, Any]:
    met = ratio >= GOAL if at_most is None else ratio <= at_most
    goal = f"at least {GOAL:g}x" if at_most is None else f"at most {at_most:g}x"
    neighbours = max(side.process.neighbours for side in sides)
    return {"what": what, "ratio": ratio, "goal": goal, "met": met, "neighbours": neighbours}


def show(told: dict[str, Any]) -> None:
    """Print the tables."""
    sizes = told["sizes"]
    print(f"{told['machine']}; {', '.join(' '.join(item) for item in told['versions'].items())}")
    print(f"sgemm peak {told['sgemm_peak_gflops']:.0f} GFLOP/s; {told['command']}")
    print(f"whyconv 1 thread, PyTorch {told['threads']['torch']}.")
    print(f"\nOne step, n = {sizes['n']}, k = {sizes['k']}, q = {sizes['q']}, m = {sizes['m']}:")
    _show_steps(told["step"])
    print(f"A dense step at the sgemm peak would take {told['dense_step_at_peak_seconds']:.3f} s.")
    print("\nThe same from a normal start, where no two filters are equal (tables without multiplicities):")
    _show_steps(told["normal"])
    _show_run(told["run"], sizes["steps"])
    _show_filters(told["filters"], sizes["steps"])
    _show_gradient(told["gradient"], sizes)
    _show_verdict(told)


def _show_steps(sides: dict[str, Any]) -> None:
    print(f"{'':40}{'seconds':>10}{'x alone':>10}{'x of many':>10}{'memory GB':>11}{'others':>8}")
    for name, side in sides.items():
        ratios = "".join(f"{side[key]:10,.0f}" for key in ("ratio", "ratio_in_run") if key in side)
        memory = side["peak_memory_bytes"] / 1e9
        print(f"{name:40}{side['seconds']:10.5f}{ratios:20}{memory:11.2f}{side['neighbours']:8.0%}")


def _show_run(run: dict[str, Any], steps: int) -> None:
    print(f"\nA run of {steps} steps and its loss:")
    print(f"{'':40}{'seconds':>10}{'ratio':>10}{'memory GB':>11}{'others':>8}")
    torch, memory = run["torch"], run["torch"]["peak_memory_bytes"] / 1e9
    print(f"{run['form']:40}{torch['seconds']:10.3f}{'':10}{memory:11.2f}{torch['neighbours']:8.0%}")
    memory = run["whyconv_peak_memory_bytes"] / 1e9
    for name, side in run["whyconv"].items():
        print(f"{f'whyconv, {name}':40}{side['seconds']:10.3f}{side['ratio']:10,.0f}{memory:11.2f}")
    whole = run["process"]
    print(
        f"From start to end of the process, imports and compilation included: {whole['torch_seconds']:.1f} s "
        f"and {whole['whyconv_seconds']:.1f} s, {whole['ratio']:,.0f}x."
    )


def _show_filters(rows: Sequence[dict[str, Any]], steps: int) -> None:
    print(f"\nwhyconv with more filters, in turns, {steps} steps:")
    print(f"{'q':>14}{'seconds':>10}{'ratio':>8}{'loss':>8}{'memory GB':>12}")
    for row in rows:
        memory = row["peak_memory_bytes"] / 1e9
        print(f"{row['q']:14,}{row['run_seconds']:10.4f}{row['ratio']:8.3f}{row['loss']:8.4f}{memory:12.2f}")


def _show_gradient(gradient: dict[str, Any], sizes: dict[str, Any]) -> None:
    print(
        f"\nPopulation gradient of a tanh neuron, n = {sizes['neuron_bits']}, parity of "
        f"{sizes['neuron_parity']}, all coordinates ({gradient['sizes']['smallest']:.0e} to "
        f"{gradient['sizes']['largest']:.0e} in size):"
    )
    print(f"{'':40}{'seconds':>10}{'relative error, largest':>25}{'median':>10}{'memory GB':>12}")
    names = {"exact": "whyconv (against mpmath)", "sampled": f"Monte Carlo, {sizes['samples']:,} samples"}
    for key, name in names.items():
        side = gradient[key]
        errors = f"{side['largest_relative_error']:25.0e}{side['median_relative_error']:10.0e}"
        print(f"{name:40}{side['seconds']:10.3f}{errors}{side['peak_memory_bytes'] / 1e9:12.2f}")


def _show_verdict(told: dict[str, Any]) -> None:
    print()
    for goal in told["goals"]:
        verdict = "met" if goal["met"] else "missed"
        if goal["neighbours"] > QUIET:
            verdict = "not judged: others used the processors meanwhile"
        elif not told["sizes"]["full"]:
            verdict = "not judged: it is that of the full size"
        print(f"{goal['what']}: {goal['ratio']:,.4g}x; the goal of {goal['goal']} is {verdict}.")
    worst = max(distance for each in told["agreement"] for distance in each["apart"].values())
    print("\n".join(told["complaints"]) or f"Same work: equal losses, parameters {worst:.0e} apart at most.")
