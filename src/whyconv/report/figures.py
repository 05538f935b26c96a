"""A chart as a figure of the page: caption, legend, interactive panels, and files."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from whyconv.report.embedding import Files, Spec, arms, files, panels


@dataclass(frozen=True)
class Figure:
    """What ``figure.html`` shows of a chart.

    ``name`` is the element's identifier and the stem of file names. ``panels`` are the single charts, each
    with its title, which is HTML so that it can wrap.
    """

    name: str
    title: str
    subtitle: str
    description: str
    arms: list[dict[str, Any]]
    panels: list[tuple[str, Spec]]
    files: Files


def drawn(title: str, chart: Any, name: str, said: str) -> Figure:
    """The chart as a figure. Its own title is the subtitle, without what ``title`` or ``said`` say."""
    made = files(chart)
    own = _title(made.spec)
    for told in (title, said):
        own = own.removeprefix(f"{told} (").removesuffix(")") if own.startswith(f"{told} (") else own
    return Figure(
        name=name,
        title=title,
        subtitle="" if own in (title, said) else own,
        description=str(made.spec.get("description", title)),
        arms=arms(made.spec),
        panels=[(_title(part), _untitled(part)) for part in panels(made.spec)],
        files=made,
    )


def address(content: str | bytes, kind: str) -> str:
    """A file as a ``data:`` URL."""
    content = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _title(spec: Spec) -> str:
    title = spec.get("title", "")
    return str(title.get("text", "") if isinstance(title, dict) else title)


def _untitled(spec: Spec) -> Spec:
    return {key: value for key, value in spec.items() if key != "title"}
