"""The first tab in a real browser: live points, broken priors, stories, keyboard, phones."""

import http.server
import re
import shutil
import threading
from pathlib import Path
from typing import ClassVar

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from page_tab import BITS, drawn, ended, go, headline, ready, run, until, waiting

from whyconv.runner.database import FILE

WATCH = """() => {
    window.seen = [];
    const [status, headline] = [".status", ".headline"].map((each) => document.querySelector(each));
    const points = () => document.querySelectorAll("#break .chart .mark-symbol path[transform]").length;
    const note = () => seen.push([status.textContent, points(), headline.textContent]);
    new MutationObserver(note).observe(document.querySelector("#break"), { attributeFilter: ["data-done"] });
}"""
"""Notes what a reader sees each time that a view has been drawn."""


def earlier(tab):
    """What stands in the boxes about the time before the last change, by prior."""
    return tab.eval_on_selector_all(
        "#break .before:not([hidden])",
        "all => Object.fromEntries(all.map((each) => [each.parentElement.dataset.prior, each.textContent]))",
    )


def test_points_arrive_live_and_stay(tab, server):
    tab.context.clear_cookies()
    tab.goto(f"{server.address}&{BITS}")
    ready(tab)
    assert tab.url == f"{server.base}?{BITS}", "the token has left the address"
    assert drawn(tab) == 0 and {state for state, _ in headline(tab).values()} == {"open"}
    assert "not measured yet" in headline(tab)["locality"][1]
    tab.evaluate(WATCH)
    tab.click("#run")
    ended(tab)
    live = [(drawn, told) for status, drawn, told in tab.evaluate("seen") if status.startswith("running: ")]
    assert any(0 < drawn < 36 for drawn, _ in live), live
    assert not any("needs more seeds" in told for _, told in live), (
        "nobody can say while it is being measured"
    )
    assert tab.inner_text(".status").startswith("all 36 trials") and drawn(tab) >= 36
    assert "whyconv run page.bits --set n=10 --set m=400 --seeds 3" in tab.inner_text(".command code")
    assert headline(tab)["locality"][0] == "helps"
    tab.reload()
    ready(tab)
    assert tab.inner_text(".status").startswith("all 36 trials") and headline(tab)["locality"][0] == "helps"


class Thief(http.server.BaseHTTPRequestHandler):
    """A page of somebody else on another port, which keeps the headers that it is sent."""

    seen: ClassVar[list[str]] = []

    def do_GET(self):
        self.seen.append(str(self.headers))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b'<link rel="icon" href="data:,"><img src="/api/x.svg"><p>Good day.')

    def log_message(self, *_):
        pass


def test_a_server_on_another_port_never_sees_the_cookie(tab, server):
    tab.context.clear_cookies()
    tab.goto(f"{server.address}&{BITS}")
    ready(tab)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Thief) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        tab.expected = [f"http://127.0.0.1:{other.server_port}/"]
        for path in ("", "api/questions", "assets/"):
            tab.goto(f"http://127.0.0.1:{other.server_port}/{path}", wait_until="load")
        other.shutdown()
    assert len(Thief.seen) >= 6
    told = "".join(Thief.seen)
    assert server.token not in told and server.room.strip("/") not in told
    tab.goto(f"{server.base}?{BITS}")
    tab.reload()
    ready(tab)
    again = tab.context.new_page()
    again.goto(tab.url)
    ready(again)


def test_deleted_rows_are_computed_again(tab, server):
    run(tab, server, BITS)
    numbers = tab.text_content(".numbers tbody")
    shutil.rmtree(server.out)
    tab.reload()
    ready(tab)
    assert tab.inner_text(".status") == "0 of 36 trials" and drawn(tab) == 0
    tab.click("#run")
    ended(tab)
    assert tab.inner_text(".status").startswith("all 36 trials") and drawn(tab) >= 36
    assert tab.text_content(".numbers tbody") == numbers
    assert (server.out / FILE).exists()


def test_a_reload_goes_on_following_a_run(tab, server):
    go(tab, server, "tab=break&task=bits&n=24&m=1600&seeds=30")
    tab.click("#run")
    until(tab, "document.querySelector('#break').dataset.done > 0")
    tab.reload()
    ready(tab)
    assert tab.is_visible("#stop") and tab.is_hidden("#run")
    before = tab.evaluate("+document.querySelector('#break').dataset.done")
    until(tab, f"document.querySelector('#break').dataset.done > {before}")
    stopped = []
    tab.on("request", lambda asked: stopped.append(asked.url) if asked.method == "DELETE" else None)
    go(tab, server, BITS + "&k=2")
    waiting(tab, lambda: stopped)
    ended(tab)
    assert tab.is_visible("#run"), "who leads the tab elsewhere stops the run"


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
    assert earlier(tab) == {}
    heading, about = tab.inner_text("figcaption"), tab.inner_text(".about")
    worths = {each: tab.inner_text(f".prior[data-prior='{each}'] strong") for each in headline(tab)}
    known = {prior: worths[prior] for prior, (state, _) in headline(tab).items() if state != "open"}
    tab.check("#knob-permuted")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    assert headline(tab)["locality"][0] == "costs", "windows never see the bits that count together"
    assert tab.is_checked("#knob-permuted")
    assert earlier(tab) == {prior: f"before: {worth}" for prior, worth in known.items()}
    assert tab.inner_text("figcaption") != heading and tab.inner_text(".about") != about
    tab.go_back()
    until(tab, "!document.querySelector('#knob-permuted').checked")
    ended(tab)
    assert headline(tab)["locality"][0] == "helps"
    assert earlier(tab) == {}
    assert (tab.inner_text("figcaption"), tab.inner_text(".about")) == (heading, about)


@pytest.mark.long
def test_what_was_worth_before_is_forgotten_with_another_task(tab, server):
    run(tab, server, BITS)
    tab.check("#knob-permuted")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    assert earlier(tab)
    tab.click("#more")
    tab.wait_for_url("**seeds=6**")
    ended(tab)
    assert earlier(tab), "more seeds are the same question"
    tab.select_option("#task", "signal")
    tab.wait_for_url("**task=signal**")
    until(tab, "document.querySelector('figcaption').textContent.includes('signal')")
    assert earlier(tab) == {}
    if tab.is_visible("#stop"):
        tab.click("#stop")
    ended(tab)


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


@pytest.mark.long
def test_breaking_sharing_or_pooling_takes_its_worth_away(tab, server):
    run(tab, server, "tab=break&task=signal&sigma=0.2&m=40&seeds=3")
    told = headline(tab)
    assert told["weight sharing"][0] == told["max-pooling"][0] == "helps", told
    tab.select_option("#knob-pooling", "average")
    tab.wait_for_url("**pooling=average**")
    ended(tab)
    state, words = headline(tab)["max-pooling"]
    assert state == "same" and "nothing to compare" in words
    names = tab.eval_on_selector_all("#break .legend button", "all => all.map(each => each.textContent)")
    assert names == ["FCN", "LCN", "CNN", "ConvPool average", "ConvPool"]
    tab.check("#knob-turned")
    tab.wait_for_url("**turned=true**")
    ended(tab)
    assert headline(tab)["weight sharing"][0] != "helps", "one filter cannot fit patches that are turned"


@pytest.mark.long
def test_sharing_costs_examples_where_every_patch_is_turned(tab, server):
    address = "tab=break&task=signal&m=80"
    run(tab, server, address)
    assert headline(tab)["weight sharing"][0] == "helps"
    tab.check("#knob-turned")
    tab.wait_for_url("**turned=true**")
    ended(tab)
    assert headline(tab)["weight sharing"][0] == "costs"


STORIES = {
    "Sharing is worth a factor of k": {"weight sharing": "helps", "max-pooling": "helps"},
    "A signal that stays needs no sharing": {"weight sharing": "same"},
    "Find it anywhere": {"weight sharing": "helps", "locality": "same"},
    "Looking at neighbours is worth a factor": {"locality": "helps"},
    "Max-pooling ignores what does not matter": {"max-pooling": "helps"},
    "Permute the pixels and the CNN is no better than an FCN": {
        "locality": "same", "weight sharing": "costs", "max-pooling": "same", "CNN against FCN": "costs",
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("title", STORIES)
def test_a_story_ends_in_the_headline_that_it_tells(tab, server, title):
    go(tab, server, "tab=break")
    tab.click(f".story:has-text('{title}')")
    until(tab, "document.querySelector('.story[aria-pressed=true]')")
    ended(tab)
    told = headline(tab)
    assert {prior: told[prior][0] for prior in STORIES[title]} == STORIES[title], told
    (point,) = marked(tab)
    assert point in STORIES[title]
    if "factor of k" in title:
        low, high = re.findall(r"[0-9.]+", told["weight sharing"][1])[1:3]
        assert 5 < float(low) < 20 < float(high) < 80, "k is 20"


def marked(page):
    """The boxes that say that the story is about them."""
    return page.eval_on_selector_all(
        "#break .point:not([hidden])",
        "all => all.filter((each) => each.textContent === 'The point of this story')"
        ".map((each) => each.parentElement.dataset.prior)",
    )


@pytest.mark.long
def test_permuted_pixels_leave_locality_as_it_is_on_small_digits(tab, server):
    """What the box says of it: there is nothing to take away, and the LCN hardly notices."""
    run(tab, server, "tab=break&task=digits&m=200")
    assert headline(tab)["locality"][0] == "same"
    errors = lcn(tab)
    tab.check("#knob-permuted")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    state, words = headline(tab)["locality"]
    assert state == "same" and words.endswith("permuting has nothing to take away.")
    assert all(abs(after - before) < 5 for before, after in zip(errors[1:], lcn(tab)[1:], strict=True))


def lcn(page):
    """Mean errors of the LCN in percent, by size."""
    cells = page.locator(".numbers tbody tr", has_text="LCN").locator("td").all_text_contents()
    return [float(cell.partition(" %")[0]) for cell in cells]


@pytest.mark.long
def test_breaking_locality_where_sharing_needs_it(tab, server):
    run(tab, server, "tab=break&task=detection")
    assert headline(tab)["weight sharing"][0] == "helps"
    tab.check("#knob-permuted")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    assert headline(tab)["weight sharing"][0] == "costs"


def to(page, selector):
    """Press Tab until this has the focus, which must be seen."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("(where) => document.activeElement.matches(where)", selector):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return
    raise AssertionError(f"{selector} cannot be reached")


def test_the_keyboard_alone(tab, server):
    go(tab, server, BITS)
    to(tab, "#knob-permuted")
    tab.keyboard.press("Space")
    tab.wait_for_url("**permuted=true**")
    ended(tab)
    assert tab.inner_text(".status").startswith("all 36 trials")
    assert tab.evaluate("document.activeElement.id") == "knob-permuted", "the focus stays"
    go(tab, server, "tab=break&task=bits&n=24&k=2&m=1600&seeds=30")  # lasts until it is stopped
    to(tab, "#knob-k")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_url("**seeds=30")
    until(tab, "document.querySelector('#stop').offsetParent !== null")
    to(tab, "#stop")
    tab.keyboard.press("Enter")
    ended(tab)
    assert tab.is_visible("#run")
    tab.focus("body")
    to(tab, ".story")
    story = tab.evaluate("document.activeElement.dataset.address")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('.story[aria-pressed=true]')")
    assert tab.url.endswith(story) and marked(tab) == ["weight sharing"]
    tab.focus("body")
    to(tab, "#tab-break")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_url("**tab=worth**")
    assert tab.get_attribute("#tab-worth", "aria-selected") == "true" and tab.is_hidden("#break")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_url("**tab=audit**")
    to(tab, "#file")
    tab.keyboard.press("Shift+Tab")
    assert tab.evaluate("document.activeElement.id") == "minutes"
    tab.focus("#tab-audit")
    tab.keyboard.press("ArrowRight")
    until(tab, "document.querySelector('#stop').offsetParent !== null")
    assert tab.url.endswith(story), "a tab is found as it was left, and its run goes on"
    tab.focus("#stop")
    tab.keyboard.press("Enter")
    ended(tab)


def test_everything_has_a_name_for_screen_readers(tab, server):
    for address in ("tab=worth", "tab=audit", BITS):
        go(tab, server, address)
        nameless = tab.evaluate(
            """() => [...document.querySelectorAll('button, input, select, img, progress, [role=group]')]
            .filter((each) => each.offsetParent !== null && !(each.getAttribute('aria-label') || each.alt
              || each.labels?.length || each.textContent.trim()))
            .map((each) => each.outerHTML)"""
        )
        assert nameless == [], address
    assert tab.get_attribute(".picture", "alt") == "Four rows of 10 bits; the 3 that count are framed"
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.evaluate("document.querySelector('#break .headline').ariaLive") == "polite"
    sliders = tab.eval_on_selector_all(
        "input[type=range]", "all => all.map(e => e.getAttribute('aria-valuetext'))"
    )
    assert sliders == ["10", "3", "400"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_on_a_phone(tab, server, scheme):
    run(tab, server, BITS)
    tab.set_viewport_size({"width": 360, "height": 740})
    tab.emulate_media(color_scheme=scheme)
    for address in (BITS, "tab=audit", "tab=worth"):
        go(tab, server, address)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, address
    tab.locator("#worth .link").first.click()
    tab.wait_for_selector("#worth figure .chart svg")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    right = "(each) => each.getBoundingClientRect().right"
    assert tab.locator("#worth tbody input").first.evaluate(right) <= 360, "no part of a line is out of sight"
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


def test_the_link_that_is_copied_leads_here(tab, server):
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    go(tab, server, BITS + "&k=4")
    tab.click("#share")
    until(tab, "document.querySelector('#share').textContent === 'Copied'")
    assert tab.evaluate("navigator.clipboard.readText()") == f"{server.base}?{BITS}&k=4"


def test_the_figure_as_svg(tab, server):
    run(tab, server, BITS)
    with tab.expect_download() as taken:
        tab.click("#svg")
    text = Path(taken.value.path()).read_text("utf-8")
    assert taken.value.suggested_filename == "page.bits.svg"
    assert text.startswith("<svg") and "FCN" in text and "training examples m" in text
    worth = tab.inner_text(".prior[data-prior=locality] strong")
    assert f"locality: {worth}" in text and "3 seeds" in text


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
