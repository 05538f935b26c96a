"""Two commits on one machine: what a user waits for, before and after, as one table.

    python bench/before_after.py --before BDCFA00 [--after HEAD] [--quick] [--only NAME ...]

Each commit is cloned and installed into its own virtual environment (about two minutes each, not timed).
Then, in turn: three studies of the first demo with an empty and a filled compilation cache; fig3b
again, and with another noise, which changes no shape; fig3a, quick and at the paper's sizes, cold and warm;
``check all``; the first answer of ``whyconv run brutzkus.fig3a`` with an empty cache; 10,000 trivial trials.
At last ``bench/fig3a.py`` of the second commit beside PyTorch eager, which is installed there. About 25
minutes on two quiet cores; ``--quick`` leaves out the paper's sizes (15 minutes). Wall and processor seconds;
nothing else should run: a ``*`` marks what shared the processors. Everything is appended to
bench/results/DATE-PROCESSOR.json, whatever fails later.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from machine import QUIET, Timed, describe, timed
from outcome import keep

ROOT = Path(__file__).resolve().parent.parent
DEMO = [f"brutzkus.{name}" for name in ("fig3a", "fig3b", "fig4")]
"""Of the four studies of the first demo those that plan the same trials since; the fourth, `layerwise`, has
fourteen times as many."""
TRIALS = 10_000
TRIVIAL = """
import sys, time
from pathlib import Path
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options
from whyconv.settings import configure

def nothing(trial, beat, checkpoint):
    return {"test_error": 0.0}, {}

if __name__ == "__main__":
    study = configure("brutzkus.fig3a", "quick", {}, 1)
    seeds = -(-int(sys.argv[2]) // len(study.plan({})))
    study = configure("brutzkus.fig3a", "quick", {}, seeds)
    sys.path.insert(0, str(Path(__file__).parent))
    complete(study, sys.argv[1], Options(execute="trivial:nothing"))
"""


class Side:
    """A commit in a clone with an environment of its own."""

    def __init__(self, commit: str, folder: Path) -> None:
        self.clone, self.room = folder / "clone", folder
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.clone)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=self.clone, check=True)
        subprocess.run(["make", "setup"], cwd=self.clone, check=True, stdout=subprocess.DEVNULL)
        self.bin = self.clone / ".venv" / "bin"
        self.runs = 0

    def time(self, command: list[str], cache: str) -> Timed:
        """A command with a compilation cache of this name, in a new folder of results (``OUT``).

        ``whyconv check`` ends with 1 where a verdict is not the recorded one; its time counts all the same.
        """
        self.runs += 1
        out, log = self.room / f"out-{self.runs}", self.room / f"log-{self.runs}"
        filled = [str(out) if word == "OUT" else word for word in command]
        environment = {"WHYCONV_CACHE": str(self.room / cache)}
        codes = (0, 1) if "check" in command else (0,)
        return timed([str(self.bin / filled[0]), *filled[1:]], environment, log, codes)


def waits(side: Side, chosen: argparse.Namespace) -> dict[str, Callable[[], Timed]]:
    """What is measured, by name; a name that ends in *warm* finds the cache of the one before."""
    trivial = side.room / "trivial.py"
    trivial.write_text(TRIVIAL)
    run = ["whyconv", "run"]
    small = [*run, "brutzkus.fig3a", "--out", "OUT"]
    noisy = [*run, "brutzkus.fig3b", "--out", "OUT"]
    full = [*run, "brutzkus.fig3a", "--preset", "paper", "--out", "OUT"]
    found: dict[str, tuple[list[str], str]] = {
        "demo cold": ([*run, *DEMO, "--out", "OUT"], "demo"),
        "demo warm": ([*run, *DEMO, "--out", "OUT"], "demo"),
        "fig3b quick warm": (noisy, "demo"),
        "fig3b, another noise": ([*noisy, "--set", "task.noise=0.7"], "demo"),
        "fig3a quick cold": (small, "small"),
        "fig3a quick warm": (small, "small"),
        "check all": (["whyconv", "check", "all"], "check"),
        "first answer": ([*small, "--seeds", "1"], "first"),
        f"{TRIALS:,} trivial trials": (["python", str(trivial), "OUT", str(TRIALS)], "trivial"),
    }
    if not chosen.quick:
        found |= {"fig3a paper cold": (full, "full"), "fig3a paper warm": (full, "full")}
    return {name: lambda args=args: side.time(*args) for name, args in found.items()}


def beside_torch(side: Side, full: bool) -> dict[str, Any]:
    """``bench/fig3a.py`` of the second commit, with PyTorch in its environment."""
    install = [str(side.bin / "python"), "-m", "pip", "install", "--quiet", "torch==2.13.0"]
    subprocess.run(install, check=True)
    told = {}
    for name, more in {"small": ["--quick"], **({"paper": []} if full else {})}.items():
        command = [str(side.bin / "python"), "bench/fig3a.py", "--no-compiled", "--patience", "0", *more]
        subprocess.run(command, cwd=side.clone, check=False, stdout=subprocess.DEVNULL)
        told[name] = json.loads((side.clone / "build/bench/fig3a.json").read_text())["sides"]
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", required=True, help="a commit")
    parser.add_argument("--after", default="HEAD", help="another one")
    parser.add_argument("--quick", action="store_true", help="not the paper's sizes")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--only", nargs="+", help="measure these lines alone")
    chosen = parser.parse_args()
    room = Path(tempfile.mkdtemp(prefix="before-after-"))
    commits = {"before": chosen.before, "after": chosen.after}
    found: dict[str, dict[str, Timed | str]] = {}
    torch: dict[str, Any] = {}
    load = os.getloadavg()
    try:
        sides = {when: Side(commit, room / when) for when, commit in commits.items()}
        for when, side in sides.items():
            for name, measure in waits(side, chosen).items():
                if chosen.only and name not in chosen.only:
                    continue
                print(f"{when}: {name} ...", file=sys.stderr, flush=True)
                try:
                    found.setdefault(name, {})[when] = measure()
                except SystemExit as error:
                    found.setdefault(name, {})[when] = str(error).splitlines()[-1]
        if not (chosen.no_torch or chosen.only):
            torch = beside_torch(sides["after"], not chosen.quick)
    finally:
        shutil.rmtree(room, ignore_errors=True)
        plain = {
            name: {when: took if isinstance(took, str) else asdict(took) for when, took in both.items()}
            for name, both in found.items()
        }
        file = keep({"command": sys.argv, "load": load, "commits": commits, "waits": plain, "torch": torch})
        print(f"{table(found, torch)}\nWritten to {file}")
    return 0


def table(found: dict[str, dict[str, Timed | str]], torch: dict[str, Any]) -> str:
    """Wall seconds (processor seconds) of both, and a line for each size of the bench beside PyTorch."""

    def shown(took: Timed | str) -> str:
        if isinstance(took, str):
            return took[:18]
        return f"{took.seconds:.1f} ({took.cpu_seconds:.1f})" + ("*" if took.neighbours > QUIET else "")

    lines = [describe(), f"{'seconds (of processors)':24} {'before':>18} {'after':>18}"]
    for name, both in found.items():
        lines.append(f"{name:24} {shown(both.get('before', '')):>18} {shown(both.get('after', '')):>18}")
    for name, each in torch.items():
        ours, eager = each["whyconv"], each["PyTorch eager"]
        seconds = [ours["cold_seconds"], ours["warm_seconds"], eager["cold_seconds"]]
        words = "whyconv {:.1f} s cold, {:.1f} warm; PyTorch eager {:.1f} s:".format(*seconds)
        ratios = f"{ours['cold_ratio']:.2f}x, {ours['warm_ratio']:.2f}x"
        lines.append(f"fig3a {name}, two arms: {words} {ratios}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
