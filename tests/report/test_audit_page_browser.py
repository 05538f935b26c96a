"""The page of an audit in a browser: two sheets of paper, and nothing wider than a phone."""

import re
import shutil
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from audit_results import digits, results

from whyconv.report.audit_page import write

playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine"),
    pytest.mark.skipif(sys.platform != "linux", reason="drives the system's Chromium on Linux"),
]
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A tab with the page of an audit that has everything: all arms, curves, filters, checks, warnings."""
    chance = np.random.default_rng(0)
    filters = {arm: (chance.standard_normal((8, 1, 9, 1)), "locality 0.93") for arm in ("CNN + max", "FCN")}
    undecided = replace(digits(), savings=results()["undecided"].savings, filters=filters)
    path = write(undecided, tmp_path_factory.mktemp("audit") / "report.html", "whyconv audit digits1d.npz")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        tab = browser.new_page(viewport={"width": 360, "height": 800})
        tab.goto(path.as_uri())
        tab.wait_for_selector("figure svg, figure canvas")
        yield tab
        browser.close()


def test_nothing_is_wider_than_a_phone(opened):
    assert opened.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_it_is_printed_on_two_sheets(opened, paper):
    edge = "0.4in"  # as browsers leave by default
    file = opened.pdf(format=paper, margin=dict.fromkeys(("top", "bottom", "left", "right"), edge))
    assert max(int(number) for number in re.findall(rb"/Count (\d+)", file)) == 2
