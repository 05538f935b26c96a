"""whyconv against PyTorch on a search for m*: Lahoti et al.'s CNN and LCN, more and more patches k.

How many examples until the mean risk of 5 seeds is within 0.03 of the oracle's: the same search rule, step
sizes, steps and closed-form risk on both sides, single precision; random numbers are each side's own.
whyconv is the command ``whyconv run`` with a worker a core, which trains the whole grid of step sizes at
once; PyTorch is a script that trains one after another, in the layout and with the threads that a probe, not
timed, finds fastest. Both are timed from start to end of their processes. ``cold`` starts with an empty
compilation cache, ``warm`` is the same command again, with new results. PyTorch compiled runs at the smallest
k, to be compared with PyTorch eager there. Exits with 1 if the sides did not do the same work or found other
m*. Run it on a quiet machine; the share of the processors that went to others is shown.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from shutil import which
from typing import Any

import pandas as pd

from machine import QUIET, Timed, cores, describe, require_torch, timed, wait_until_quiet
from outcome import at_least, write
from whyconv import api, registry
from whyconv.measure.complexity import SampleComplexity
from whyconv.settings import configure

BENCH = Path(__file__).parent
OUT = Path("build/bench/sample_complexity.json")
STUDY = BENCH / "whyconv_sample_complexity.py"
ARMS = ("CNN", "LCN")
LAYOUTS = ("examples-first", "patches-first", "examples-last")
GOAL = 5.0
FACTOR = 1.5
"""m* of the two sides may differ by this much: seeds are few, and each side has random numbers of its own."""
APART_ALLOWED = 1
"""Of two equal laws, 95 % intervals of five seeds are apart in about 1 % of all cases."""
THREADS_GAIN = 1.05
"""More threads than one must make a step of PyTorch faster by this factor."""
COUNT_MARGIN = 0.2
"""Numbers of trainings may differ by this share: a search takes a step more or less."""


@dataclass(frozen=True)
class Side:
    """A finished run: its process and a row for every arm, k, m and seed with risk, trainings and seconds."""

    process: Timed
    rows: pd.DataFrame

    @property
    def trainings(self) -> int:
        """How many networks were trained, one for every pair of step sizes."""
        return int(self.rows["trainings"].sum())


class Workshop:
    """The search at given k, and processes that do it, one after another, in a folder."""

    def __init__(self, k: list[int], seeds: int, patience: float, folder: Path) -> None:
        registry.load(STUDY)
        self.k, self.seeds = k, seeds
        self.study: Any = configure("bench.vary-k", "quick", {"values": k}, seeds)
        self._patience, self._folder, self._count = patience, folder, 0

    def job(self, k: list[int]) -> Path:
        """The study's settings as plain numbers, targets included, for the PyTorch script."""
        study = self.study
        (learner,) = {arm.learner for arm in study.arms.values()}
        network = study.arms["CNN"].network
        settings = {
            "k": k,
            "d": study.task.patch_dim,
            "sigma": study.task.sigma,
            "seeds": self.seeds,
            **study.sizes.model_dump(include={"low", "cap", "resolution"}),
            "rates": [learner.rates, learner.bias_rates],
            "steps": learner.steps,
            "bias": network.bias,
            "init_scale": network.init_scale,
            "targets": {int(cell.labels["k"]): study.goal(cell) for cell in study.cells()},
        }
        file = self._fresh("json")
        file.write_text(json.dumps(settings))
        return file

    def whyconv(self, cache: Path) -> Side:
        """The study by the command line, into a fresh folder."""
        out = self._fresh("run")
        command = [
            str(Path(sys.executable).with_name("whyconv")),
            "run",
            "bench.vary-k",
            "--load",
            str(STUDY),
        ]
        command += ["--set", f"values={json.dumps(self.k)}", "--seeds", str(self.seeds)]
        command += ["--workers", str(cores()), "--out", str(out)]
        process = self._timed("whyconv", command, {"WHYCONV_CACHE": str(cache)})
        (run,) = api.open_runs(out)
        pairs = {arm: len(each.learner.grid) for arm, each in self.study.arms.items()}
        rows = run.table[["arm", "k", "m", "seed", "risk", "seconds"]]
        return Side(process, rows.assign(trainings=rows["arm"].map(pairs)))

    def probe(self) -> tuple[dict[str, str], int, dict[str, float]]:
        """PyTorch's fastest layout for each network, its better number of threads, and seconds of all steps.

        A form's time is the geometric mean of a step over small, middle and large samples. More threads than
        one are taken if they gain enough and nobody else computes: neighbours make PyTorch's threads wait for
        each other, many times as long as a step.
        """
        process, rows = self._torch(
            "PyTorch, probe", self.k, dict.fromkeys(ARMS, LAYOUTS), cores(), "--probe"
        )
        forms = rows.groupby(["arm", "layout", "threads"])[["seconds", "cpu_seconds"]]
        means = forms.agg(lambda column: math.exp(column.map(math.log).mean()))
        cpu, wall = means["cpu_seconds"].to_dict(), means["seconds"].to_dict()
        best = {arm: min(LAYOUTS, key=lambda name, arm=arm: cpu[arm, name, 1]) for arm in ARMS}
        gain = math.prod(wall[*pair, 1] / wall[*pair, cores()] for pair in best.items()) ** (1 / len(ARMS))
        threads = cores() if gain > THREADS_GAIN and process.neighbours <= QUIET else 1
        return best, threads, {f"{arm} {name}, threads: {n}": took for (arm, name, n), took in wall.items()}

    def torch(self, layouts: dict[str, str], threads: int) -> Side:
        """The search by the PyTorch script."""
        chosen = {arm: (name,) for arm, name in layouts.items()}
        return Side(*self._torch("PyTorch eager", self.k, chosen, threads))

    def compiled(self, layouts: dict[str, str]) -> Side:
        """The same with a compiled step, at the smallest k only."""
        chosen = {arm: (name,) for arm, name in layouts.items()}
        return Side(*self._torch("PyTorch compiled", self.k[:1], chosen, 1, "--compiled"))

    def _torch(
        self, name: str, k: list[int], layouts: dict[str, tuple[str, ...]], threads: int, *flags: str
    ) -> tuple[Timed, pd.DataFrame]:
        out, cache = self._fresh("json"), self._fresh("inductor")
        cache.mkdir()
        command = [
            sys.executable,
            str(BENCH / "torch_sample_complexity.py"),
            "--threads",
            str(threads),
            *flags,
        ]
        for arm, names in layouts.items():
            command += [f"--{arm.lower()}", *names]
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
        process = self._timed(name, [*command, "--", str(self.job(k)), str(out)], caches)
        return process, pd.DataFrame(json.loads(out.read_text()))

    def _timed(self, name: str, command: list[str], environment: dict[str, str]) -> Timed:
        wait_until_quiet(self._patience)
        print(f"{name} ...", file=sys.stderr, flush=True)
        return timed(command, environment, self._fresh("log"))

    def _fresh(self, suffix: str) -> Path:
        self._count += 1
        return self._folder / f"{self._count}.{suffix}"


def main() -> int:
    """Measure, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about two minutes: k = 10 only, no waiting")
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20, 30])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=2, help="minutes to wait for a quiet machine")
    parser.add_argument("--no-compiled", action="store_true", help="leave out PyTorch compiled")
    parser.add_argument("--json", action="store_true", help=f"print what is written to {OUT}")
    chosen = parser.parse_args()
    require_torch()
    k, patience = ([10], 0.0) if chosen.quick else (sorted(set(chosen.k)), chosen.patience)
    with tempfile.TemporaryDirectory(prefix="bench_") as name:
        shop = Workshop(k, chosen.seeds, patience, Path(name))
        layouts, threads, probed = shop.probe()
        cache = Path(name) / "cache"
        cache.mkdir()
        sides = {"whyconv cold": shop.whyconv(cache), "whyconv warm": shop.whyconv(cache)}
        sides["PyTorch eager"] = shop.torch(layouts, threads)
        if which("g++") and not chosen.no_compiled:
            sides["PyTorch compiled"] = shop.compiled(layouts)
    told = {
        "command": shlex.join(["python", *sys.argv]),
        "machine": describe(),
        "versions": {name: version(name) for name in ("whyconv", "jax", "torch", "numpy")},
        "sizes": {"k": k, "d": shop.study.task.patch_dim, "seeds": chosen.seeds},
        "torch": {"layouts": layouts, "threads": threads, "probed_step_seconds": probed},
        **summarise(shop.study, sides),
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(told, indent=2) + "\n")
    busy = any(side["neighbours"] > QUIET for side in told["sides"].values())
    found = told["ratios"].items()
    write(
        "sample_complexity",
        [at_least(f"search for m*, {name}", GOAL, ratio["end_to_end"], busy) for name, ratio in found],
        told,
    )
    if chosen.json:
        print(json.dumps(told, indent=2))
    else:
        show(told)
    return 1 if told["complaints"] else 0


def summarise(study: Any, sides: dict[str, Side]) -> dict[str, Any]:
    """Everything as JSON-ready data; ratios are PyTorch eager's seconds over whyconv's."""
    eager, cold = sides["PyTorch eager"], sides["whyconv cold"]
    found = compare(study, cold, eager)
    apart = [f"{cell['arm']} k={cell['k']}" for cell in found if cell["intervals"] == "apart"]
    complaints = [
        f"m* of {cell['arm']} at k = {cell['k']} differs: {cell['whyconv']} and {cell['PyTorch eager']}"
        for cell in found
        if cell["m*"] == "differs"
    ]
    if not found:
        complaints.append("m* is compared at no k: a linear filter reaches the target; take a larger k")
    if len(apart) > APART_ALLOWED:
        complaints.append(f"intervals of m* are apart at {', '.join(apart)}")
    if abs(cold.trainings - eager.trainings) > COUNT_MARGIN * eager.trainings:
        complaints.append(f"whyconv trained {cold.trainings} networks, PyTorch {eager.trainings}")
    if not cold.rows["risk"].equals(sides["whyconv warm"].rows["risk"]):
        complaints.append("whyconv's two runs have different risks")
    return {
        "sides": {name: _side(side) for name, side in sides.items()},
        "ratios": {
            name: {
                "end_to_end": eager.process.seconds / sides[f"whyconv {name}"].process.seconds,
                "per_training": _each(eager) / _each(sides[f"whyconv {name}"]),
            }
            for name in ("cold", "warm")
        },
        "compiled": _compiled(sides),
        "m*": found,
        "complaints": complaints,
    }


def compare(study: Any, ours: Side, theirs: Side) -> list[dict[str, Any]]:
    """m* of both sides in every cell; whether they agree, and whether their intervals overlap."""
    lines = []
    for arm in ARMS:
        mine, other = (study.complexities(side.rows, arm) for side in (ours, theirs))
        for k, a in mine.items():
            b: SampleComplexity = other[k]
            ends = (a.crossing if a.reached else math.inf), (b.crossing if b.reached else math.inf)
            agree = ends[0] == ends[1] or max(ends) <= FACTOR * min(ends)
            overlap = a.low <= b.high and b.low <= a.high
            counts = {
                name: int(rows["trainings"].sum())
                for name, rows in (("ours", _cell(ours, arm, k)), ("theirs", _cell(theirs, arm, k)))
            }
            lines.append(
                {
                    "arm": arm,
                    "k": int(k),
                    "whyconv": a.cell,
                    "PyTorch eager": b.cell,
                    "m*": "agrees" if agree else "differs",
                    "intervals": "overlap" if overlap else "apart",
                    "trainings": counts,
                }
            )
    return lines


def _cell(side: Side, arm: str, k: float) -> pd.DataFrame:
    return side.rows[(side.rows["arm"] == arm) & (side.rows["k"] == k)]


def _each(side: Side) -> float:
    """Seconds of wall time for a training, everything included."""
    return side.process.seconds / side.trainings


def _side(side: Side) -> dict[str, Any]:
    return {
        **asdict(side.process),
        "trainings": side.trainings,
        "seconds_a_training": _each(side),
        "core_seconds_a_training_in_trials": float(side.rows["seconds"].sum()) / side.trainings,
    }


def _compiled(sides: dict[str, Side]) -> dict[str, float] | None:
    """Seconds of all trials at the smallest k, and of a training, leaving out first seeds, which compile."""
    if "PyTorch compiled" not in sides:
        return None
    compiled, eager = sides["PyTorch compiled"].rows, sides["PyTorch eager"].rows
    eager = eager[eager["k"] == eager["k"].min()]
    told = {}
    for name, rows in (("compiled", compiled), ("eager", eager)):
        told[f"{name}_seconds"] = float(rows["seconds"].sum())
        warm = rows[rows["seed"] > 0]  # what there is to compile is compiled for the first seed of a size
        told[f"{name}_seconds_a_training"] = float(warm["seconds"].sum() / warm["trainings"].sum())
    return told


def show(told: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"{told['machine']}; {', '.join(' '.join(item) for item in told['versions'].items())}")
    sizes = told["sizes"]
    print(
        f"{told['command']}; k = {', '.join(map(str, sizes['k']))}, d = {sizes['d']}, {sizes['seeds']} seeds"
    )
    print("\nA step of PyTorch eager, geometric mean over m and k:")
    steps = sorted(told["torch"]["probed_step_seconds"].items())
    _print([(name, f"{1e6 * seconds:.0f} µs") for name, seconds in steps])
    layouts = ", ".join(f"{arm} {name}" for arm, name in told["torch"]["layouts"].items())
    print(f"Taken: {layouts}, threads: {told['torch']['threads']}")
    print("\nFrom start to end of the process:")
    lines = [("", "seconds", "trainings", "µs each", "µs in trials", "cpu s", "memory GB", "others")]
    for name, side in told["sides"].items():
        each = side["seconds_a_training"], side["core_seconds_a_training_in_trials"]
        numbers = [f"{side['seconds']:.1f}", f"{side['trainings']:,}", *(f"{1e6 * s:,.0f}" for s in each)]
        numbers += [f"{side['cpu_seconds']:.1f}", f"{side['peak_bytes'] / 1e9:.2f}"]
        lines.append((name, *numbers, f"{side['neighbours']:.0%}"))
    _print(lines)
    print("In trials: seconds of one worker over the trainings it did, four in a trial of whyconv's.")
    if compiled := told["compiled"]:
        each = [1e6 * compiled[f"{name}_seconds_a_training"] for name in ("compiled", "eager")]
        print(
            f"PyTorch compiled at k = {sizes['k'][0]}: {compiled['compiled_seconds']:.1f} s in trials, eager "
            f"{compiled['eager_seconds']:.1f} s; a training, the first seed aside, {each[0]:,.0f} and "
            f"{each[1]:,.0f} µs"
        )
    print("\nm* [95 % interval], and trainings:")
    lines = [("arm", "k", "whyconv", "PyTorch eager", f"within {FACTOR:g}x", "intervals", "trainings")]
    for cell in told["m*"]:
        counts = f"{cell['trainings']['ours']} and {cell['trainings']['theirs']}"
        texts = [cell[name] for name in ("whyconv", "PyTorch eager", "m*", "intervals")]
        lines.append((cell["arm"], str(cell["k"]), *texts, counts))
    _print(lines)
    print()
    for name, ratio in told["ratios"].items():
        judged = "PASS" if ratio["end_to_end"] >= GOAL else "FAIL"
        print(
            f"{judged}: end to end, {name}: {ratio['end_to_end']:.2f}x, and {GOAL:g}x is required "
            f"({ratio['per_training']:.2f}x a training)."
        )
    if any(side["neighbours"] > QUIET for side in told["sides"].values()):
        print("Disturbed: others used the processors meanwhile; do not rely on these timings.")
    print("\n".join(told["complaints"]) or "Same work, m* agrees.")


def _print(lines: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
