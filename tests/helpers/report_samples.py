"""A page's worth of invented rows and claims, shaped like the real ones."""

import numpy as np
import pandas as pd

from whyconv.report.charts import curves, paired
from whyconv.report.html import Page, Section
from whyconv.studies import Judgement
from whyconv.verdict import Evidence

SIZES = (10, 20, 40, 80, 160, 320)
ERRORS = {
    "ConvPool": (0.3, 0.1, 0.02, 0, 0, 0),
    "MLP": (0.45, 0.42, 0.35, 0.2, 0.08, 0.01),
    "SVM": (0.44, 0.4, 0.32, 0.2, 0.09, 0.02),
    "ConvPool layerwise": (0.31, 0.1, 0.02, 0, 0, 0),
}


def rows(seeds: int = 5, arms: tuple[str, ...] = ("ConvPool", "MLP", "SVM"), draw: int = 0) -> pd.DataFrame:
    """One line per arm, size and seed."""
    rng = np.random.default_rng(draw)
    return pd.DataFrame(
        [
            {"arm": arm, "m": m, "seed": seed, "test_error": max(0.0, error + 0.1 * error * rng.normal())}
            for arm in arms
            for m, error in zip(SIZES, ERRORS[arm], strict=True)
            for seed in range(seeds)
        ]
    )


TITLES = {"title": "Test error", "x_title": "training examples m", "y_title": "test error"}


def learning_curves(table: pd.DataFrame, **more):
    """The chart of most studies."""
    return curves(table, "m", "test_error", log_x=True, **TITLES, **more)


def differences(table: pd.DataFrame):
    """The chart of the layerwise study."""
    return paired(table, "m", "test_error", ("ConvPool layerwise", "ConvPool"), log_x=True, **TITLES)


def claim(name: str, **more) -> dict:
    """One entry of the table of claims."""
    return {
        "claim": name,
        "paper": "brutzkus",
        "statement": f"The statement of {name}: |w|^2 >= n.",
        "source": "Brutzkus & Globerson, Lemma 5.2 (derived)",
        "verdict": "holds",
        "expected": "holds",
        "control": "something broken",
        "control_verdict": "fails",
        "controls": [{"control": "something broken", "verdict": more.get("control_verdict", "fails")}],
        "numbers": {"least": 2.5e-24, "runs": 5},
        "seconds": 0.25,
        "reference": "Brutzkus & Globerson, Lemma 5.2",
        "provenance": "derived",
        "traceback": "",
        **more,
    }


def section(**more) -> Section:
    """A judged study with one figure."""
    judged = Judgement(Evidence("consistent", {"gap": 0.1}), Evidence("fails", {"gap": -0.2}))
    given = {
        "study": "brutzkus.fig3a",
        "title": "Orthogonal patterns",
        "reference": "Figure 3a",
        "criterion": "The gap is positive.",
        "control_note": "Scrambled input.",
        "judgement": judged,
        "command": "whyconv run brutzkus.fig3a --preset quick",
        "seeds": [0, 1],
        "settings": {"seeds": 2, "task": {"name": "detection", "positions": 10}},
        "rows": 36,
        "failed": ["MLP, m 320, seed 1: no descent"],
        "rule": "Stop at loss <= 1e-3.",
    }
    if "figures" not in more:  # drawn only where they are looked at
        given["figures"] = {"Figure 3a": learning_curves(rows(2))}
    return Section(**{**given, **more})


def page(**more) -> Page:
    """A small report."""
    given = {
        "title": "A report",
        "claims": [claim("brutzkus.lemma5.2"), claim("brutzkus.thm4.2", verdict="vacuous")],
        "environments": [{"whyconv": "0.1.0"}],
        "command": "whyconv report runs",
    }
    if "sections" not in more:
        given["sections"] = [section()]
    return Page(**{**given, **more})
