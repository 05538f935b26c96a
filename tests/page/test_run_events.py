"""What a tab is told of a run, and when: nothing that it shows already."""

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.page import app, catalogue, shown
from whyconv.page.desk import Asked


def told(asked, known, *changes):
    """The data of the events of a run whose rows change so, one change after each event."""

    async def events():
        found, left = [], list(changes)
        async for text in app._stream(asked, lambda run: {"chart": {}, "done": run.done}, known):
            kind, _, data = text.partition("event: ")[2].partition("\ndata: ")
            found.append((kind, json.loads(data)))
            if left:
                asked.change(**left.pop(0))
        return found

    return asyncio.run(asyncio.wait_for(events(), 20))


def views(events):
    return [data.get("done") for kind, data in events if kind == "view"]


def test_rows_that_a_tab_shows_are_not_told_again():
    asked = Asked(catalogue.asked({}), done=3)
    events = told(asked, 3, {"status": "running"}, {"done": 4}, {"done": 5, "status": "ended"})
    assert views(events) == [None, None, 4, 5]
    assert [data["status"] for _, data in events[:2]] == ["waiting", "running"]
    assert events[-1] == ("over", {})


def test_a_tab_that_says_nothing_of_its_rows_is_told_all():
    assert views(told(Asked(catalogue.asked({}), done=3), -1, {"status": "ended"})) == [3, 3]


def test_the_end_of_a_run_is_told_as_a_whole():
    assert views(told(Asked(catalogue.asked({}), done=3, status="stopped"), 3)) == [3]


def test_an_audit_has_no_rows_and_is_always_told():
    assert views(told(Asked(None), 3, {"status": "ended"})) == [0, 0]


@pytest.mark.parametrize(
    "text, known", [("36", 36), ("", -1), ("-1", -1), ("x", -1), ("²", -1), ("9" * 10, -1)]
)
def test_odd_numbers_of_rows_count_as_none(monkeypatch, text, known):
    given: list[Any] = []
    monkeypatch.setattr(app, "_stream", lambda asked, view, known: given.append(known))
    monkeypatch.setattr(app, "StreamingResponse", lambda stream, media_type: None)
    server: Any = app.Server.__new__(app.Server)
    asked = Asked(None)
    server.desk = type("Desk", (), {"asked": {asked.id: asked}})
    request: Any = type("Request", (), {"path_params": {"id": asked.id}, "query_params": {"done": text}})
    asyncio.run(server.events(request))
    assert given == [known]


def test_more_seeds_make_no_new_definition_of_the_chart():
    few, more = (
        shown.shown(catalogue.asked({"task": "bits", "seeds": seeds}), {}, None) for seeds in ("3", "30")
    )
    assert few["chart"]["spec"] is more["chart"]["spec"]
