"""The page in a real browser: live points, broken priors, keyboard, phones, saved pages, files."""

import io
import os
import re
import shutil
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")
playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

from page_server import Served  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine"),
    pytest.mark.skipif(sys.platform != "linux", reason="drives the system's Chromium on Linux"),
]
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
BITS = "tab=break&task=bits&n=10&m=400&seeds=3"
WAIT = 120_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("page") / "rows")
    yield served
    served.end()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield found
        found.close()


@pytest.fixture
def tab(browser, server) -> Iterator[Any]:
    """A tab on the page that must not complain and must not ask anybody else."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    page, bad = context.new_page(), []
    page.on("console", lambda said: bad.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: bad.append(str(error)))
    own = (f"http://127.0.0.1:{server.port}/", "data:", "blob:", "file:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else bad.append(asked.url))
    page.expected = []
    page.goto(server.address)
    ready(page)
    yield page
    left = [said for said in bad if not any(part in said for part in page.expected)]
    context.close()
    assert left == []


def ready(page):
    page.wait_for_selector("body[data-ready=yes]", timeout=WAIT)


def go(page, server, address):
    page.goto(f"http://127.0.0.1:{server.port}/?{address}")
    ready(page)


def until(page, expression):
    """Wait for an expression to be true; the page's own policy forbids to evaluate texts in it."""
    ends = time.monotonic() + WAIT / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < ends, f"never: {expression}"
        page.wait_for_timeout(50)


def ended(page):
    until(page, "document.querySelector('#break').ariaBusy === 'false'")


def headline(page):
    """State and words by prior."""
    return {
        each.get_attribute("data-prior"): (each.get_attribute("class").split()[1], each.inner_text())
        for each in page.query_selector_all("#break .prior")
    }


def drawn(page):
    """How many points of single runs the chart shows."""
    return page.evaluate("document.querySelectorAll('#break .chart .mark-symbol path[transform]').length")


def run(page, server, address):
    go(page, server, address)
    if page.is_visible("#run"):
        page.click("#run")
    ended(page)


def test_points_arrive_live_and_stay(tab, server):
    assert server.token not in tab.url
    go(tab, server, BITS)
    assert drawn(tab) == 0 and {state for state, _ in headline(tab).values()} == {"open"}
    assert "not measured yet" in headline(tab)["locality"][1]
    tab.click("#run")
    until(tab, "document.querySelector('#break').dataset.done > 0")
    status, told = tab.evaluate(
        "['.status', '.headline'].map((each) => document.querySelector(each).innerText)"
    )
    assert status.startswith("running")
    assert "needs more seeds" not in told, "nobody can say while it is being measured"
    ended(tab)
    assert tab.inner_text(".status").startswith("all 36 trials") and drawn(tab) >= 36
    assert "whyconv run page.bits --set n=10 --set m=400 --seeds 3" in tab.inner_text(".command code")
    assert headline(tab)["locality"][0] == "helps"
    tab.reload()
    ready(tab)
    assert tab.inner_text(".status").startswith("all 36 trials") and headline(tab)["locality"][0] == "helps"


@pytest.mark.long
def test_adding_seeds_goes_on_from_there(tab, server):
    run(tab, server, BITS)
    tab.click("#more")
    tab.wait_for_url("**seeds=6**")
    ended(tab)
    assert tab.inner_text(".status") == "all 72 trials, 6 seeds each"
    assert "--seeds 6" in tab.inner_text(".command code")


def test_breaking_locality_takes_its_worth_away(tab, server):
    run(tab, server, BITS)
    assert headline(tab)["locality"][0] == "helps"
    tab.check("#knob-permuted")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    assert headline(tab)["locality"][0] == "costs", "windows never see the bits that count together"
    assert tab.is_checked("#knob-permuted")
    tab.go_back()
    until(tab, "!document.querySelector('#knob-permuted').checked")
    assert headline(tab)["locality"][0] == "helps"


def test_an_answer_that_comes_after_the_settings_changed_is_dropped(tab, server):
    tab.expected = ["400"]
    held, ended_runs = [], []
    go(tab, server, BITS + "&k=4")

    def hold(route):
        held.append(route)

    tab.route("**/api/runs", hold)
    tab.on("request", lambda asked: ended_runs.append(asked.url) if asked.method == "DELETE" else None)
    tab.evaluate("document.querySelector('#run').click(); document.querySelector('#run').click()")
    waiting(tab, lambda: held)
    tab.check("#knob-permuted")
    waiting(tab, lambda: len(held) > 1)
    assert len(held) == 2, "a double click asks once"
    held[0].continue_()
    waiting(tab, lambda: ended_runs)
    assert not tab.inner_text(".status").startswith("running")
    assert "permuted=true" in tab.inner_text(".command code")
    held[1].fulfill(status=400, json={"error": "Not now."})
    ended(tab)
    assert len(ended_runs) == 1 and tab.inner_text("#problem") == "Not now."


def waiting(page, come):
    ends = time.monotonic() + WAIT / 1000
    while not come():
        assert time.monotonic() < ends
        page.wait_for_timeout(20)


@pytest.mark.long
def test_breaking_sharing_takes_its_worth_away(tab, server):
    address = "tab=break&task=signal&m=80"
    run(tab, server, address)
    assert headline(tab)["weight sharing"][0] == "helps"
    tab.check("#knob-turned")
    tab.wait_for_url("**turned=true**")
    ended(tab)
    assert headline(tab)["weight sharing"][0] == "costs", "one filter cannot fit patches that are turned"


@pytest.mark.long
def test_breaking_pooling_takes_its_worth_away(tab, server):
    run(tab, server, "tab=break&task=digit-grid&m=200&seeds=3")
    assert headline(tab)["max-pooling"][0] == "helps"
    tab.select_option("#knob-pooling", "average")
    tab.wait_for_url("**pooling=average**")
    ended(tab)
    state, words = headline(tab)["max-pooling"]
    assert state == "same" and "no difference" in words
    names = tab.eval_on_selector_all("#break .legend button", "all => all.map(each => each.textContent)")
    assert names == ["FCN", "LCN", "CNN", "ConvPool average", "ConvPool"]


STORIES = {
    "Sharing is worth a factor of k": {"weight sharing": "helps", "max-pooling": "helps"},
    "A signal that stays needs no sharing": {"weight sharing": "same"},
    "Find it anywhere": {"weight sharing": "helps", "locality": "same"},
    "Looking at neighbours is worth a factor": {"locality": "helps"},
    "Max-pooling ignores what does not matter": {"max-pooling": "helps"},
    "Permute the pixels and the CNN is no better than an FCN": {
        "locality": "same", "weight sharing": "costs", "max-pooling": "same",
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("title", STORIES)
def test_a_story_ends_in_the_headline_that_it_tells(tab, server, title):
    tab.click(f".story:has-text('{title}')")
    until(tab, "document.querySelector('.story[aria-pressed=true]')")
    ended(tab)
    told = headline(tab)
    assert {prior: told[prior][0] for prior in STORIES[title]} == STORIES[title], told
    if "factor of k" in title:
        low, high = re.findall(r"[0-9.]+", told["weight sharing"][1])[1:3]
        assert 5 < float(low) < 20 < float(high) < 80, "k is 20"


@pytest.mark.long
def test_breaking_locality_where_sharing_needs_it(tab, server):
    run(tab, server, "tab=break&task=detection")
    assert headline(tab)["weight sharing"][0] == "helps"
    tab.check("#knob-permuted")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    assert headline(tab)["weight sharing"][0] == "costs"


def test_stories_and_the_keyboard_alone(tab, server):
    go(tab, server, "tab=break")
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.classList.contains('story')"):
            break
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    story = tab.evaluate("document.activeElement.dataset.address")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('.story[aria-pressed=true]')")
    assert tab.url.endswith(story)
    tab.click("#stop") if tab.is_visible("#stop") else None
    tab.focus("#tab-break")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_url("**tab=worth**")
    assert tab.get_attribute("#tab-worth", "aria-selected") == "true" and tab.is_hidden("#break")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_url("**tab=audit**")
    assert tab.is_visible("#file")


def test_everything_has_a_name_for_screen_readers(tab, server):
    go(tab, server, BITS)
    nameless = tab.evaluate(
        """() => [...document.querySelectorAll('button, input, select, img, progress, [role=group]')]
        .filter((each) => each.offsetParent !== null && !(each.getAttribute('aria-label') || each.alt
          || each.labels?.length || each.textContent.trim()))
        .map((each) => each.outerHTML)"""
    )
    assert nameless == []
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.evaluate("document.querySelector('#break .headline').ariaLive") == "polite"
    sliders = tab.eval_on_selector_all(
        "input[type=range]", "all => all.map(e => e.getAttribute('aria-valuetext'))"
    )
    assert sliders == ["10", "3", "400"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["break", "worth", "audit"])
def test_nothing_overflows_on_a_phone(tab, server, name, scheme):
    tab.set_viewport_size({"width": 360, "height": 740})
    tab.emulate_media(color_scheme=scheme)
    go(tab, server, f"tab={name}")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    style = "getComputedStyle(document.body)"
    ink, paper = tab.evaluate(f"[{style}.color, {style}.backgroundColor]")
    assert abs(brightness(ink) - brightness(paper)) > 150
    assert (brightness(paper) < 80) == (scheme == "dark")


def brightness(colour):
    red, green, blue = (int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3])
    return 0.3 * red + 0.6 * green + 0.1 * blue


def test_a_bad_address_is_said_in_a_sentence(tab, server):
    tab.expected = ["400"]
    go(tab, server, "tab=break&task=bits&m=7")
    assert tab.inner_text("#problem") == "m = 7 was given; take one of 400, 800, 1600."


def test_the_figure_as_svg(tab, server):
    run(tab, server, BITS)
    with tab.expect_download() as taken:
        tab.click("#svg")
    text = Path(taken.value.path()).read_text("utf-8")
    assert taken.value.suggested_filename == "page.bits.svg"
    assert text.startswith("<svg") and "FCN" in text and "training examples m" in text
    worth = tab.inner_text(".prior[data-prior=locality] strong")
    assert f"locality: {worth}" in text and "3 seeds" in text


def test_the_table_of_worths_its_figures_and_two_runs(tab, server):
    run(tab, server, BITS)
    run(tab, server, BITS + "&permuted=true")
    go(tab, server, "tab=worth")
    lines = tab.locator("#worth tbody tr")
    before = lines.count()
    assert before >= 4
    tab.select_option("#prior", "locality")
    assert 0 < lines.count() < before
    tab.fill("#words", "permuted=true")
    narrowed = lines.count()
    assert 0 < narrowed < before
    tab.fill("#words", "")
    boxes = tab.locator("#worth tbody input")
    first = boxes.first.get_attribute("aria-label")
    boxes.first.check()
    other = tab.locator(f"#worth tbody input:not([aria-label='{first}'])").first
    other.check()
    tab.click("text=Compare two")
    tab.wait_for_selector("text=Side by side")
    tab.reload()
    tab.wait_for_selector("text=Side by side")
    assert tab.locator("#worth tbody input:checked").count() > 0
    tab.select_option("#prior", "locality")
    tab.fill("#words", "page.bits")
    tab.locator("#worth .link").first.click()
    tab.wait_for_selector("#worth figure .legend button")
    names = tab.eval_on_selector_all("#worth .legend button", "all => all.map(each => each.textContent)")
    assert names == ["FCN", "LCN", "CNN"]
    assert tab.inner_text("#worth figure .command code").startswith("whyconv run page.bits")
    with tab.expect_download() as taken:
        tab.click("#worth figure >> text=SVG for slides")
    assert "<svg" in Path(taken.value.path()).read_text("utf-8")
    assert "run=" in tab.url and "prior=locality" in tab.url and "words=page.bits" in tab.url
    tab.reload()
    tab.wait_for_selector("#worth figure .chart svg")
    assert tab.input_value("#prior") == "locality" and lines.count() < before
    tab.go_back()
    tab.wait_for_selector("text=Side by side")


def test_a_saved_page_answers_without_a_server(tab, server, browser, tmp_path):
    run(tab, server, BITS)
    run(tab, server, BITS + "&permuted=true")
    go(tab, server, BITS)
    with tab.expect_download() as taken:
        tab.click("#save")
    file = tmp_path / "whyconv.html"
    taken.value.save_as(file)
    context = browser.new_context(offline=True)
    page, bad = context.new_page(), []
    page.on("console", lambda said: bad.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: bad.append(str(error)))
    page.goto(file.as_uri())
    ready(page)
    assert headline(page)["locality"][0] == "helps" and drawn(page) >= 36
    assert page.query_selector("#run") is None
    page.check("#knob-permuted")
    until(page, "location.hash.includes('permuted=true')")
    until(page, "document.querySelector('.prior').classList.contains('helps') === false")
    page.reload()
    ready(page)
    assert page.is_checked("#knob-permuted") and bad == []
    assert server.token not in file.read_text("utf-8")
    context.close()


def arrays(**named):
    content = io.BytesIO()
    np.savez(content, **named)
    return content.getvalue()


def archive(**members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for name, data in members.items():
            made.writestr(name, data)
    return content.getvalue()


BAD = {
    "objects.npz": arrays(X=np.array([{}] * 40, dtype=object), y=np.arange(40) % 2),
    "lacking.npz": arrays(X=np.zeros((40, 3))),
    "ragged.csv": b"a,b\n1\n2,3,4\n",
    "texts.zip": archive(**{"cats/a.txt": b"x"}),
    "model.pkl": b"\x80\x04N.",
}


def test_five_bad_files_are_refused_and_a_good_one_is_audited(tab, server, tmp_path):
    tab.expected = ["400"]
    go(tab, server, "tab=audit")
    for name, content in BAD.items():
        tab.set_input_files(
            "#file", {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )
        until(tab, "!document.querySelector('#problem').hidden")
        assert tab.inner_text("#problem").endswith(".")
        tab.evaluate("document.querySelector('#problem').hidden = true")
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 16)) + 2 * y[:, None] * (np.arange(16) == rng.integers(16, size=(240, 1)))
    good = {"name": "mine.npz", "mimeType": "application/octet-stream", "buffer": arrays(X=X, y=y)}
    tab.select_option("#minutes", "1")
    tab.set_input_files("#file", good)
    tab.wait_for_selector("#audit progress", timeout=WAIT)
    assert "run=" in tab.url
    tab.reload()
    tab.wait_for_selector("#audit progress", timeout=WAIT)
    assert tab.inner_text("#audit .told h2") == "mine.npz", "a reload goes on following"
    tab.click("#audit .told button")
    tab.wait_for_selector("text=Stopped.", timeout=WAIT)
    ends = time.monotonic() + WAIT / 1000
    while any(files for _, _, files in os.walk(server.out / "page-data")):
        assert time.monotonic() < ends, "the copy of the data is deleted once the audit has ended"
        time.sleep(0.1)


def test_a_file_that_is_dropped_is_taken_and_one_that_misses_changes_nothing(tab, server):
    go(tab, server, "tab=audit")
    drop = """(where) => {
        const files = new DataTransfer();
        files.items.add(new File(["x"], "notes.txt"));
        const event = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
        document.querySelector(where).dispatchEvent(event);
        return event.defaultPrevented;
    }"""
    assert tab.evaluate(drop, "h1") and tab.is_hidden("#problem"), "a browser would open the file"
    assert tab.evaluate(drop, ".drop")
    assert tab.inner_text("#problem") == "notes.txt was given; give a file that ends in .npz, .csv, .zip."


def test_a_screen_reader_hears_what_changes_alone(tab, server):
    run(tab, server, BITS)
    tab.evaluate("window.first = document.querySelector('#break .prior')")
    tab.click("#more")
    until(tab, "document.querySelector('#break').dataset.done > 40")
    assert tab.evaluate("document.querySelector('#break .says').ariaLive") == "off"
    kept = tab.evaluate(
        "[first.isConnected, first.dataset.told === document.querySelector('#break .prior').dataset.told]"
    )
    assert kept[0] == kept[1], "a line that stays is not announced again"
    ended(tab)
    assert tab.evaluate("document.querySelector('#break .status').ariaLive") == "polite"


@pytest.mark.long
def test_an_audit_ends_in_its_report(tab, server):
    go(tab, server, "tab=audit")
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 16)) + 2 * y[:, None] * (np.arange(16) == rng.integers(16, size=(400, 1)))
    tab.select_option("#minutes", "1")
    tab.set_input_files("#file", {"name": "mine.npz", "mimeType": "a/b", "buffer": arrays(X=X, y=y)})
    tab.wait_for_selector("text=Open the report", timeout=WAIT)
    with tab.context.expect_page() as opened:
        tab.click("text=Open the report")
    opened.value.wait_for_selector("h1")
    assert "order" in opened.value.inner_text("body")
