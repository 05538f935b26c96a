"""Figure 3a's ConvPool and MLP arms by whyconv: the call a user makes, with two of the study's arms."""

from __future__ import annotations

import json
import sys

import whyconv

if __name__ == "__main__":
    settings, seeds, out = json.loads(sys.argv[1])
    whyconv.run("brutzkus.fig3a", preset="paper", set=settings, seeds=seeds, out=out)
