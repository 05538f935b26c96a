"""Figure 3a's ConvPool and MLP arms by whyconv: the call a user makes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import whyconv

STUDY = Path(__file__).with_name("two_arms.py")

if __name__ == "__main__":
    settings, seeds, out = json.loads(sys.argv[1])
    whyconv.run("bench.fig3a", preset="paper", set=settings, seeds=seeds, out=out, load=STUDY)
