"""The rows in memory while the folder is written, and while a run adds its own."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.page import known
from whyconv.page.known import Known
from whyconv.runner.database import FILE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose store holds ``rows``; ``meanwhile`` is called once, after they have been read."""
    made = SimpleNamespace(rows={"a": row("a")}, meanwhile=lambda: None, reads=0)

    def contents():
        found, made.reads = dict(made.rows), made.reads + 1
        meanwhile, made.meanwhile = made.meanwhile, lambda: None
        meanwhile()
        return SimpleNamespace(rows=lambda: found, runs=lambda: [])

    def write(key):
        made.rows[key] = row(key)
        (tmp_path / FILE).write_bytes(b"x" * len(made.rows))

    made.write, made.known = write, Known(tmp_path)
    (tmp_path / FILE).write_bytes(b"x")
    store = SimpleNamespace(read=lambda _: nullcontext(SimpleNamespace(contents=contents)))
    monkeypatch.setattr(known, "Store", store)
    return made


def row(key):
    return SimpleNamespace(key=key)


def test_what_is_written_while_it_is_read_is_read_the_next_time(folder):
    folder.meanwhile = lambda: folder.write("b")
    folder.known.refresh()
    assert sorted(folder.known.rows) == ["a"]
    folder.known.refresh()
    assert sorted(folder.known.rows) == ["a", "b"]
    folder.known.refresh()
    assert folder.reads == 2, "a folder at rest is not read again"


def test_rows_of_a_run_that_begins_meanwhile_stay(folder):
    folder.meanwhile = lambda: folder.known.add(row("b"))
    folder.known.refresh()
    assert sorted(folder.known.rows) == ["a", "b"]


def test_rows_that_somebody_deleted_go(folder):
    folder.known.refresh()
    folder.known.add(row("b"))
    (folder.known.folder / FILE).unlink()
    folder.known.refresh()
    assert folder.known.rows == {}
