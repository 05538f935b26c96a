"""A run as notebooks have it: it shows itself, and writes its report. Nothing is loaded from anywhere."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from secrets import token_hex
from typing import Any

from whyconv import runs
from whyconv.report.assemble import alone
from whyconv.report.embedding import bundle, files
from whyconv.report.notation import prose


class Run(runs.Run):
    """A study with its rows; the last expression of a cell shows answer, verdict and figure."""

    def _repr_html_(self) -> str:
        """The first figure as SVG under the answer; without rows only what there is to say."""
        name, verdict = escape(self.study.name), escape(self.verdict)
        said = f"<p><strong>{prose(self.answer)}</strong></p>"
        said += f"<p><em>{verdict}</em>: {prose(self.conclusion)} <code>{name}</code></p>"
        return f"<div>{said}{files(self.figure()).svg if len(self.table) else ''}</div>"

    def figures(self) -> dict[str, Any]:
        """The study's charts by title, each with what draws it: they work without a network."""
        return {title: offline(chart) for title, chart in super().figures().items()}

    def report(self, path: str | Path | None = None) -> Path:
        """Write a report of this run alone: one HTML file, ``report.html`` in its folder by default."""
        return alone(self, Path(path) if path is not None else self.out / "report.html")


def offline(chart: Any) -> Any:
    """The same Altair chart; as the result of a cell it brings Vega along, and loads it from nowhere."""
    object.__setattr__(chart, "__class__", _offline(type(chart)))  # Altair takes any other way for a setting
    return chart


@cache
def _offline(kind: type) -> type:
    return type(kind.__name__, (kind,), {"_repr_mimebundle_": _mimebundle})


def _mimebundle(chart: Any, *_: Any, **__: Any) -> dict[str, str]:
    """The chart as SVG, which becomes interactive where scripts run. About 900 kB."""
    drawn, place = files(chart), f"whyconv-{token_hex(8)}"
    spec = json.dumps(drawn.spec).replace("</", "<\\/")
    script = bundle().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    embed = f'vegaEmbed("#{place}", {spec}, {{"actions": false}});'
    return {
        "text/html": f'<div id="{place}">{drawn.svg}</div><script type="module">{script}\n{embed}</script>'
    }
