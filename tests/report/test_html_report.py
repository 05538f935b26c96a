"""The page: self-contained, well formed, complete, safe, and with files that are what they say."""

import base64
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from report_samples import claim, learning_curves, page, rows, section

from whyconv.measure.intervals import summarise
from whyconv.papers.brutzkus.pictures import figure1
from whyconv.report.html import Page, render, write
from whyconv.studies import Judgement
from whyconv.verdict import Evidence

VOID = {"meta", "img", "input", "br", "link"}


class Outline(HTMLParser):
    """Collects elements and complains where they do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.found, self.scripts, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.words).append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


@pytest.fixture(scope="module")
def text():
    return render(page())


def decoded(address: str) -> bytes:
    return base64.b64decode(address.partition("base64,")[2], validate=True)


def test_parses_and_nests(text):
    found = Outline(text)
    assert found.all("html") == [{"lang": "en"}]
    identifiers = [attrs["id"] for _, attrs in found.found if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))


def test_loads_nothing(text):
    """No address but data and anchors, nothing that fetches, and a policy that would refuse it."""
    found = Outline(text)
    addresses = [attrs[key] for _, attrs in found.found for key in ("src", "href") if key in attrs]
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert not found.all("link")
    assert "url(" not in "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
    assert "@import" not in text
    (policy,) = [meta["content"] for meta in found.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_vega_is_inlined_once(text):
    assert text.count("window.vegaEmbed") == 1
    assert len(text) < 1_500_000


def test_every_claim_is_told_with_verdict_numbers_and_control(text):
    words = " ".join(Outline(text).words)
    for piece in ("brutzkus.lemma5.2", "brutzkus.thm4.2", "vacuous", "something broken", "our derivation"):
        assert piece in words
    assert "2.5 × 10<sup>−24</sup>" in text
    assert "|w|<sup>2</sup> ≥ n" in text
    assert "recorded: holds" in words  # the second claim came out otherwise
    assert "2 claims: 1 holds, 1 vacuous." in words


def test_a_control_that_does_not_change_the_verdict_is_an_alarm():
    stuck = Page("t", [claim("a", control_verdict="holds")])
    assert "1 control did not change the verdict" in render(stuck)
    broken = render(Page("t", [claim("a", control_verdict="error")]))
    assert "1 control did not change the verdict" in broken and "gave another verdict" not in broken
    assert '<span class="badge error">error</span>' in broken and ".badge.error" in broken
    same = Evidence("consistent")
    judged = render(Page("t", sections=[section(figures={}, judgement=Judgement(same, same))]))
    assert "did not change the verdict" in judged


FLIPPED = "Every control, broken on purpose, gave another verdict."
STUCK, NOTHING = "1 control did not change the verdict.", "1 control proved nothing."
OPEN = ("undecided", "undecided")
CONTROLS = [
    ("holds", "fails", FLIPPED),
    ("undecided", "fails", FLIPPED),
    ("holds", "holds", STUCK),
    ("holds", "error", STUCK),
    ("error", "error", STUCK),
    (*OPEN, STUCK),
    ("holds", "undecided", NOTHING),
    ("error", "fails", NOTHING),
]


def lead(**parts):
    """What the report says first."""
    (found,) = re.findall(r'<p class="lead">(.*?)</p>', render(Page("t", **parts)))
    assert [words in found for words in (FLIPPED, STUCK, NOTHING)].count(True) == 1
    return found


@pytest.mark.parametrize(("verdict", "control", "words"), CONTROLS)
def test_what_is_said_first_of_a_claim_s_control_is_true(verdict, control, words):
    entry = claim("a", verdict=verdict, expected=verdict, control_verdict=control)
    assert words in lead(claims=[claim("good"), entry])
    assert (words == FLIPPED) == ('class="alarm"' not in render(Page("t", claims=[entry])))


def test_a_control_that_gives_what_the_claim_should_give_did_not_flip():
    assert STUCK in lead(claims=[claim("a", verdict="fails", expected="holds", control_verdict="holds")])


@pytest.mark.parametrize(("verdict", "control", "words"), [each for each in CONTROLS if each[:2] != OPEN])
def test_what_is_said_first_of_a_study_s_control_is_true(verdict, control, words):
    judged = section(figures={}, judgement=Judgement(Evidence(verdict), Evidence(control)))
    assert words in lead(claims=[claim("good")], sections=[section(figures={}), judged])
    assert (words == FLIPPED) == ('class="alarm"' not in render(Page("t", sections=[judged])))


def test_controls_that_failed_in_different_ways_are_all_counted():
    claims = [claim(str(n), control_verdict=word) for n, word in enumerate(("holds", "error", "undecided"))]
    neither = Judgement(Evidence("undecided"), Evidence("undecided"))
    text = render(Page("t", claims, [section(figures={}, judgement=neither)]))
    for words in (
        "2 controls did not change the verdict.",
        NOTHING,
        "1 study is undecided",
    ):
        assert words in text
    assert FLIPPED not in text


def test_tracebacks_wait_behind_a_click():
    text = "Traceback:\n  <module>\nValueError: a < b"
    failing = section(figures={}, tracebacks={"MLP, m 320, seed 1: no descent": text})
    for shown in (
        render(Page("t", claims=[claim("a", verdict="error", traceback=text)])),
        render(Page("t", sections=[failing])),
    ):
        (found,) = re.findall(r"<details><summary>Traceback</summary><pre>(.*?)</pre></details>", shown, re.S)
        assert found == text.replace("<", "&lt;").replace(">", "&gt;")
    assert "Traceback" not in render(page())


def test_whose_wording_a_claim_is_is_said_where_it_is_not_the_paper_s():
    def origin(**more):
        return re.findall(r'<p class="quiet">(.*?)</p>', render(Page("t", claims=[claim("a", **more)])))[0]

    assert origin() == "Brutzkus &amp; Globerson, Lemma 5.2 · our derivation"
    assert origin(provenance="paper") == "Brutzkus &amp; Globerson, Lemma 5.2"
    assert origin(reference="", provenance="") == "brutzkus"


def test_what_one_repetition_cannot_decide_is_no_alarm():
    neither = Judgement(Evidence("undecided"), Evidence("undecided"))
    means = summarise(pd.DataFrame({"arm": ["a", "b"], "test_error": [0.2, 0.3]}), ["arm"], "test_error")
    told = render(Page("t", sections=[section(figures={}, judgement=neither, summary=means)]))
    assert "did not change" not in told and "gave another verdict" not in told
    assert "1 study is undecided, as is the control." in told
    assert "Control: undecided, as the verdict is" in told
    assert "Test error of one repetition: no intervals (2 lines)" in told
    assert "∞" not in told[told.index("Test error of one") : told.index("Settings")]


def test_figures_stand_with_command_seeds_rows_failures_and_settings(text):
    words = " ".join(" ".join(Outline(text).words).split())
    pieces = ("whyconv run brutzkus.fig3a --preset quick", "seeds 0, 1", "36 rows", "1 failed trial")
    for piece in (*pieces, "MLP, m 320, seed 1: no descent", "Stop at loss ≤ 1e-3.", "Scrambled input."):
        assert piece in words
    assert '{"name": "detection", "positions": 10}' in words


def test_files_are_what_they_say(text):
    found = Outline(text)
    links = {
        attrs["download"].rpartition(".")[2]: attrs.get("href")
        for attrs in found.all("a")
        if "download" in attrs
    }
    assert links.keys() == {"svg", "pdf", "csv", "json"}
    assert decoded(links["pdf"]).startswith(b"%PDF")
    assert decoded(links["csv"]).decode().startswith("arm,m,test_error,seed\n")
    assert json.loads(decoded(links["json"]))["$schema"].startswith(
        "https://vega.github.io/schema/vega-lite/"
    )
    (drawing,) = [attrs for attrs in found.all("img") if attrs.get("class") == "still"]
    assert links["svg"] is None  # the link takes the address of the drawing beside it
    assert decoded(drawing["src"]).startswith(b"<svg")
    assert "training examples m" in drawing["alt"]


def test_chart_definitions_can_be_read_back(text):
    (specs,) = re.findall(r'<script type="application/json" class="specs">(.*?)</script>', text, re.S)
    assert [spec["width"] for spec in json.loads(specs)] == ["container"]


def test_everything_given_is_escaped():
    evil = '<script>alert("1")</script>'
    table = rows(1, arms=("MLP",)).replace("MLP", evil)
    hostile = page(
        title=evil,
        claims=[claim(evil, **dict.fromkeys(("statement", "reference", "verdict", "expected"), evil)),
                claim("b", control=evil, control_verdict=evil, numbers={evil: evil}),
                claim("c", reference="", paper=evil, provenance=evil, traceback=evil)],
        sections=[
            section(
                **dict.fromkeys(("study", "title", "reference", "criterion", "control_note", "rule"), evil),
                figures={evil: learning_curves(table)}, pictures={evil: f"<svg>{evil}</svg>"}, command=evil,
                settings={evil: evil}, failed=[evil], tracebacks={evil: evil},
                summary=summarise(table, ["arm", "m"], "test_error"), outcome=evil,
                tables={evil: pd.DataFrame({evil: [evil]})},
            )
        ],
        environments=[{evil: evil}],
        command=evil,
    )  # fmt: skip
    got = render(hostile)
    found = Outline(got)
    assert len(found.all("script")) == 5  # the mark, the specs, the dark theme, Vega, the page's own
    assert not [script for script in found.scripts if "alert(" in script and "\\u003c" not in script]
    assert got.count("<script>alert") == 0


MARK = "onerror=alert(1)"
EVIL = f"\"'></script></style></pre></textarea><img src=x {MARK}><script>alert(1)</script>"
"""Ends whatever it stands in, then starts elements of its own."""


def of_claim(**changes):
    return {"claims": [claim("a", **changes)], "sections": []}


def of_section(**changes):
    return {"claims": [], "sections": [section(**{"figures": {}, **changes})]}


def judged(**changes):
    return of_section(judgement=Judgement(Evidence("holds"), Evidence(**changes)))


def of_chart(**changes):
    return of_section(figures={"Figure": learning_curves(rows(1)).properties(**changes)})


VARIABLES = {
    **{f"page {name}": {name: EVIL} for name in ("title", "command")},
    "note": {"notes": [EVIL]},
    "environment": {"environments": [{EVIL: EVIL}]},
    "one of two environments": {"environments": [{"packages": {EVIL: EVIL}}, {}]},
    **{
        f"claim's {name}": of_claim(**{name: EVIL})
        for name in (
            "statement",
            "reference",
            "verdict",
            "expected",
            "traceback",
        )
    },
    "claim's control": of_claim(controls=[{"control": EVIL, "verdict": "fails"}]),
    "claim's control's verdict": of_claim(controls=[{"control": "", "verdict": EVIL}]),
    "claim's paper": of_claim(reference="", paper=EVIL),
    "claim's name": {"claims": [claim(EVIL)], "sections": []},
    "claim's number": of_claim(numbers={"n": EVIL}),
    "claim's number's name": of_claim(numbers={EVIL: 1}),
    "claim's number behind a click": of_claim(numbers={f"{place}{EVIL}": place for place in range(9)}),
    **{
        f"study's {name}": of_section(**{name: EVIL})
        for name in ("study", "title", "reference", "criterion", "control_note", "command", "rule")
    },
    "study's reason": of_section(judgement=None, unjudged=EVIL),
    "study's setting": of_section(settings={EVIL: {EVIL: EVIL}}),
    "failed trial": of_section(failed=[EVIL]),
    "traceback": of_section(failed=["a trial"], tracebacks={"a trial": EVIL}),
    "verdict": of_section(judgement=Judgement(Evidence(EVIL), Evidence("fails"))),
    "control": judged(verdict=EVIL),
    "evidence": judged(verdict="fails", numbers={EVIL: EVIL}),
    "table's title": of_section(tables={EVIL: pd.DataFrame({"a": [1]})}),
    "table's head": of_section(tables={"T": pd.DataFrame({EVIL: [1]})}),
    "table's cell": of_section(tables={"T": pd.DataFrame({"a": [EVIL]})}),
    "outcome": of_section(outcome=EVIL, summary=summarise(rows(2), ["arm"], "test_error")),
    "arm in the summary": of_section(summary=summarise(rows(2).assign(arm=EVIL), ["arm"], "test_error")),
    "picture's title": of_section(pictures={EVIL: "<svg/>"}),
    "picture": of_section(pictures={"P": f"<svg>{EVIL}</svg>"}),
    "what was learned": of_section(learned={EVIL: EVIL}),
    "figure's title": of_section(figures={EVIL: learning_curves(rows(1))}),
    "chart's title": of_chart(title=EVIL),
    "chart's description": of_chart(description=EVIL),
    "arm in a chart": of_section(figures={"F": learning_curves(rows(1, arms=("MLP",)).replace("MLP", EVIL))}),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_of_the_templates_is_escaped(name):
    """It is on the page: as text, in an attribute, in JSON, or in a file that an address holds."""
    got = render(page(**VARIABLES[name]))
    found = Outline(got)
    values = [value for _, attrs in found.found for value in attrs.values() if value]
    held = [decoded(value).decode("utf-8", "replace") for value in values if value.startswith("data:")]
    anchor = "onerror-alert-1-"  # of identifiers only letters and digits are left
    assert any(MARK in each or anchor in each for each in [*found.words, *values, *held])
    assert not [attrs for attrs in found.all("img") if not attrs["src"].startswith("data:")]
    assert not [attrs for _, attrs in found.found if "onerror" in attrs]
    charts = sum("specs" in attrs.values() for attrs in found.all("script"))
    assert len(found.all("script")) == 4 + charts  # the mark, the dark theme, Vega, the page's own
    for script in found.scripts:
        assert MARK not in script or json.loads(script)


def test_an_empty_report_says_so():
    got = render(Page("Nothing"))
    assert "There is nothing to report yet." in got
    assert len(got) < 50_000  # no charts, no Vega
    Outline(got)


def test_a_study_without_rows_shows_notes():
    empty = section(
        figures={"Figure": learning_curves(pd.DataFrame())},
        judgement=None,
        rows=0,
        failed=[],
        summary=pd.DataFrame(),
    )
    words = " ".join(Outline(render(page(sections=[empty]))).words)
    assert "Not judged yet" in words
    assert "There are no means yet" in words
    assert "no rows" in words


def test_pictures_alone_need_no_judgement():
    alone = section(
        figures={}, judgement=None, criterion="", control_note="", rule="", pictures=figure1(), seeds=()
    )
    found = Outline(render(page(sections=[alone])))
    assert not found.all("aside")
    assert len(found.all("img")) == 2


def test_a_half_finished_run_is_amber_and_says_how_far_it_is():
    found = render(Page("t", sections=[section(figures={}, progress="35 of 51 trials")]))
    assert '<strong class="amber">Not finished: 35 of 51 trials of' in found
    assert '<p class="waiting">Not finished: 35 of 51 trials.</p>' in found


def test_a_picture_has_a_short_heading_and_the_rest_below():
    found = render(
        Page("t", sections=[section(figures={}, pictures={"Two inputs: noise in both": "<svg/>"})])
    )
    assert "<h3>Two inputs</h3><p>Noise in both.</p>" in found


def test_two_sections_of_one_study_have_different_anchors():
    found = Outline(render(page(sections=[section(figures={}), section(figures={})])))
    assert [s["id"] for s in found.all("section")] == [
        "study-brutzkus-fig3a",
        "study-brutzkus-fig3a-2",
        "claims",
        "verdicts",
    ]


def test_the_summary_lists_means_intervals_and_counts():
    table = rows(3)
    got = render(page(sections=[section(figures={}, summary=summarise(table, ["arm", "m"], "test_error"))]))
    for head in ("arm", "mean", "low", "high", "count"):
        assert f'<th scope="col">{head}</th>' in got
    assert "Mean test error with 95 % intervals (18 lines)" in got


def test_the_same_page_gives_the_same_text_but_for_the_order_inside_pdfs(tmp_path):
    """vl-convert lists a PDF's resources in an order of its own each time."""
    pages = [write(page(), tmp_path / name).read_text("utf-8") for name in ("a.html", "b.html")]
    first, second = (re.sub(r"application/pdf;base64,[^\"]*", "", text) for text in pages)
    assert first == second
