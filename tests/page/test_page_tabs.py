"""The other tabs and the saved page in a real browser: worths, files that are dropped, no server."""

import io
import os
import re
import signal
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from page_server import Served, gone
from page_tab import BITS, WAIT, drawn, go, headline, ready, run, until


@pytest.mark.long
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
    compared = tab.inner_text("#worth .figures")
    assert "worth: locality" in compared and not re.search(r"[\d\]] x", compared)
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
    label = "document.querySelector('#worth .chart .role-axis-label text')?.getAttribute('fill')"
    light = tab.evaluate(label)
    tab.emulate_media(color_scheme="dark")
    until(tab, f"({label} ?? '{light}') !== '{light}'")
    assert tab.locator("#worth figure .chart svg").count() == 1
    tab.emulate_media(color_scheme="light")
    until(tab, f"{label} === '{light}'")
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


def drop(page, where, name, content=b"x"):
    """Let go of a file over an element; whether the page has taken it in place of the browser."""
    take = """([where, name, content]) => {
        const files = new DataTransfer();
        files.items.add(new File([new Uint8Array(content)], name));
        const event = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
        document.querySelector(where).dispatchEvent(event);
        return event.defaultPrevented;
    }"""
    return page.evaluate(take, [where, name, list(content)])


def test_five_bad_files_are_refused_and_a_good_one_is_audited(tab, server):
    tab.expected = ["400"]
    go(tab, server, "tab=audit")
    for name, content in BAD.items():
        assert drop(tab, ".drop", name, content)
        until(tab, "!document.querySelector('#problem').hidden")
        said = tab.inner_text("#problem")
        assert name in said and said.endswith("."), said
        tab.evaluate("document.querySelector('#problem').hidden = true")
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 16)) + 2 * y[:, None] * (np.arange(16) == rng.integers(16, size=(240, 1)))
    tab.select_option("#minutes", "1")
    assert drop(tab, ".drop", "mine.npz", arrays(X=X, y=y))
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
    assert drop(tab, "h1", "notes.txt") and tab.is_hidden("#problem"), "a browser would open the file"
    assert drop(tab, ".drop", "notes.txt")
    assert tab.inner_text("#problem") == "notes.txt was given; give a file that ends in .npz, .csv, .zip."


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


@pytest.mark.long
def test_a_tab_says_that_its_server_is_gone(tab, tmp_path):
    served = Served(tmp_path / "rows")
    tab.expected = ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", f":{served.port}/"]
    tab.goto(f"{served.address}&tab=break&task=bits&n=24&k=2&m=1600&seeds=27")
    ready(tab)
    tab.click("#run")
    until(tab, "document.querySelector('#break').dataset.done > 0")
    workers = served.children()
    served.end(signal.SIGKILL)
    assert workers and gone(workers)
    until(tab, "!document.querySelector('#problem').hidden")
    assert tab.inner_text("#problem").startswith("The server does not answer any more; start it again")
    assert tab.get_attribute("#break", "aria-busy") == "false" and tab.is_hidden("#stop")
    tab.evaluate("document.querySelector('#problem').hidden = true")
    tab.click("#more")
    until(tab, "!document.querySelector('#problem').hidden")
    assert tab.inner_text("#problem") == "The server does not answer; start it again with whyconv page."
