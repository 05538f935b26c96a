"""Two commits on one machine: what a user waits for, before and after, as one table.

    python bench/before_after.py --before BDCFA00 [--after HEAD] [--quick] [--only NAME ...]

Each commit is cloned and installed into its own virtual environment (about two minutes each, not timed).
Then, in turn: `make demo`'s four studies with an empty and a filled compilation cache; fig3a as
``bench/fig3a.py`` runs it, small and at the paper's sizes, beside PyTorch eager (installed into the second
environment); ``check all``; the first answer of ``whyconv run brutzkus.fig3a`` in a new home folder; the same
study with another noise; 10,000 trivial trials. About 25 minutes on two quiet cores; ``--quick`` leaves out
the paper's sizes (10 minutes). Wall and processor seconds; nothing else should run.
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

from machine import Timed, describe, timed
from outcome import BUILD

ROOT = Path(__file__).resolve().parent.parent
DEMO = [f"brutzkus.{name}" for name in ("fig3a", "fig3b", "fig4", "layerwise")]
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
        """A command with a compilation cache of this name, in a new folder of results (``OUT``)."""
        self.runs += 1
        out, log = self.room / f"out-{self.runs}", self.room / f"log-{self.runs}"
        filled = [str(out) if word == "OUT" else word for word in command]
        return timed([str(self.bin / filled[0]), *filled[1:]], {"WHYCONV_CACHE": str(self.room / cache)}, log)


def waits(side: Side, chosen: argparse.Namespace) -> dict[str, Callable[[], Timed]]:
    """What is measured, by name; a name that ends in *warm* finds the cache of the one before."""
    trivial = side.room / "trivial.py"
    trivial.write_text(TRIVIAL)
    run = ["whyconv", "run"]
    small = [*run, "brutzkus.fig3a", "--out", "OUT"]
    full = [*run, "brutzkus.fig3a", "--preset", "paper", "--out", "OUT"]
    found: dict[str, tuple[list[str], str]] = {
        "demo cold": ([*run, *DEMO, "--out", "OUT"], "demo"),
        "demo warm": ([*run, *DEMO, "--out", "OUT"], "demo"),
        "fig3a quick cold": (small, "small"),
        "fig3a quick warm": (small, "small"),
        "another noise": ([*small, "--set", "task.noise=0.07"], "small"),
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
    try:
        sides = {name: Side(getattr(chosen, name), room / name) for name in ("before", "after")}
        found: dict[str, dict[str, Timed | str]] = {}
        for when, side in sides.items():
            for name, measure in waits(side, chosen).items():
                if chosen.only and name not in chosen.only:
                    continue
                print(f"{when}: {name} ...", file=sys.stderr, flush=True)
                try:
                    found.setdefault(name, {})[when] = measure()
                except SystemExit as error:
                    found.setdefault(name, {})[when] = str(error).splitlines()[-1]
        torch = {} if chosen.no_torch or chosen.only else beside_torch(sides["after"], not chosen.quick)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    print(table(found, torch))
    BUILD.mkdir(parents=True, exist_ok=True)
    plain = {
        name: {when: took if isinstance(took, str) else asdict(took) for when, took in both.items()}
        for name, both in found.items()
    }
    told = {"machine": describe(), "load": os.getloadavg(), "waits": plain, "torch": torch}
    (BUILD / "before_after.json").write_text(json.dumps(told, indent=1) + "\n")
    return 0


def table(found: dict[str, dict[str, Timed | str]], torch: dict[str, Any]) -> str:
    """Wall seconds (processor seconds) of both, and a line for each size of the bench beside PyTorch."""
    lines = [describe(), f"{'seconds (of processors)':24} {'before':>18} {'after':>18}"]
    for name, both in found.items():
        shown = (
            took if isinstance(took, str) else f"{took.seconds:.1f} ({took.cpu_seconds:.1f})"
            for took in (both.get("before", ""), both.get("after", ""))
        )
        lines.append(f"{name:24} " + " ".join(f"{each[:18]:>18}" for each in shown))
    for name, each in torch.items():
        ours, eager = each["whyconv"], each["PyTorch eager"]
        seconds = [ours["cold_seconds"], ours["warm_seconds"], eager["cold_seconds"]]
        words = "whyconv {:.1f} s cold, {:.1f} warm; PyTorch eager {:.1f} s:".format(*seconds)
        ratios = f"{ours['cold_ratio']:.2f}x, {ours['warm_ratio']:.2f}x"
        lines.append(f"fig3a {name}, two arms: {words} {ratios}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
