"""A run as notebooks have it: it shows itself, and writes its report. Nothing is loaded from anywhere."""

from __future__ import annotations

from html import escape
from pathlib import Path

from whyconv import runs
from whyconv.report.assemble import alone
from whyconv.report.embedding import files
from whyconv.report.notation import prose


class Run(runs.Run):
    """A study with its rows; the last expression of a cell shows answer, verdict and figure."""

    def _repr_html_(self) -> str:
        """The first figure as SVG under the answer; without rows only what there is to say."""
        name, verdict = escape(self.study.name), escape(self.verdict)
        said = f"<p><strong>{prose(self.answer)}</strong></p>"
        said += f"<p><em>{verdict}</em>: {prose(self.conclusion)} <code>{name}</code></p>"
        return f"<div>{said}{files(self.figure()).svg if len(self.table) else ''}</div>"

    def report(self, path: str | Path | None = None) -> Path:
        """Write a report of this run alone: one HTML file, ``report.html`` in its folder by default."""
        return alone(self, Path(path) if path is not None else self.out / "report.html")
