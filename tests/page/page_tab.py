"""A tab in a real browser: waiting for it, and reading what it shows."""

import time

BITS = "tab=break&task=bits&n=10&m=400&seeds=3"
WAIT = 120_000


def ready(page):
    page.wait_for_selector("body[data-ready=yes]", timeout=WAIT)


def go(page, server, address):
    page.goto(f"{server.base}?{address}")
    ready(page)


def until(page, expression):
    """Wait for an expression to be true; the page's own policy forbids to evaluate texts in it."""
    ends = time.monotonic() + WAIT / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < ends, f"never: {expression}"
        page.wait_for_timeout(50)


def ended(page):
    """Wait until nothing is running; as long as rows come, a slow machine has time."""
    done, ends = "", 0.0
    while page.evaluate("document.querySelector('#break').ariaBusy !== 'false'"):
        if (now := page.evaluate("document.querySelector('#break').dataset.done")) != done:
            done, ends = now, time.monotonic() + WAIT / 1000
        assert time.monotonic() < ends, f"never ended, with {done} rows"
        page.wait_for_timeout(50)


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


def waiting(page, come):
    ends = time.monotonic() + WAIT / 1000
    while not come():
        assert time.monotonic() < ends
        page.wait_for_timeout(20)
