"""A chart for the page: panels as wide as their column, and files to download.

In Vega-Lite a single chart can follow its container's width, but a concatenation cannot. The page therefore
splits a concatenated chart and lays out the panels itself; the files keep it whole, at its fixed width.
"""

from __future__ import annotations

import copy
import csv
import io
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from whyconv.report import theme

Spec = dict[str, Any]
PANELS = ("concat", "hconcat", "vconcat")
"""Where a definition has its panels."""
LETTER = 8.0
"""Pixels of a letter of a title, about."""


@dataclass(frozen=True)
class Files:
    """One chart as files: SVG, PDF, the runs behind it as CSV, and its Vega-Lite definition."""

    svg: str
    pdf: bytes
    csv: str
    spec: Spec


def files(chart: Any) -> Files:
    """Draw ``chart`` (an Altair chart or a Vega-Lite definition) at its fixed width. Takes about 0.1 s."""
    import vl_convert

    spec = chart if isinstance(chart, dict) else chart.to_dict()
    return Files(
        svg=svg(spec),
        pdf=vl_convert.vegalite_to_pdf(_wrapped(spec), vl_version=_version()),
        csv=_csv(spec),
        spec=spec,
    )


def svg(spec: Spec) -> str:
    """A definition as SVG, at its fixed width."""
    import vl_convert

    return vl_convert.vegalite_to_svg(_wrapped(spec), vl_version=_version())


def _wrapped(spec: Spec) -> Spec:
    """The same with long titles in lines as wide as what is below them; the page wraps its own."""
    made = {**spec, **{key: [_wrapped(part) for part in spec[key]] for key in PANELS if key in spec}}
    width = spec.get("width", theme.WIDTH)
    if isinstance(title := spec.get("title"), str) and isinstance(width, int | float):
        lines = textwrap.wrap(title, max(20, int(width / LETTER)))
        made["title"] = lines if len(lines) > 1 else title
    return made


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one self-contained script."""
    import vl_convert

    names = "window.vegaEmbed = vegaEmbed; window.vega = vega; window.vegaLite = vegaLite;"
    return vl_convert.javascript_bundle(names, vl_version=_version())


def panels(spec: Spec) -> list[Spec]:
    """The single charts of ``spec``, as wide as their container, without what the page adds itself."""
    spec = copy.deepcopy(spec)
    parts = next((spec.pop(key) for key in PANELS if key in spec), None)
    if parts is None:
        spec.pop("title", None)
        return [_responsive(spec)]
    shared = {key: spec[key] for key in ("$schema", "config", "usermeta", "description") if key in spec}
    params, datasets = spec.get("params", []), spec.get("datasets", {})
    return [
        _responsive({**shared, **part, "params": _params(params, part), "datasets": _used(datasets, part)})
        for part in parts
    ]


def arms(spec: Spec) -> list[dict[str, Any]]:
    """The legend that :mod:`whyconv.report.charts` put into the chart; empty for any other chart."""
    return spec.get("usermeta", {}).get("whyconv", {}).get("arms", [])


def _responsive(spec: Spec) -> Spec:
    spec["width"] = "container"
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    if arms(spec):
        for part in _parts(spec):
            for channel in ("color", "shape", "strokeDash"):
                if channel in part.get("encoding", {}):
                    part["encoding"][channel]["legend"] = None
    return spec


def _params(params: list[Spec], part: Spec) -> list[Spec]:
    """The parameters of a concatenation that concern ``part``: its own selections, and all plain values."""
    names = {piece.get("name") for piece in _parts(part)}
    kept = []
    for param in params:
        views = [view for view in param.get("views", []) if view in names]
        if views or "views" not in param:
            kept.append({**param, "views": views} if views else param)
    return kept + part.get("params", [])


def _used(datasets: Mapping[str, Any], part: Spec) -> dict[str, Any]:
    names = {piece.get("data", {}).get("name") for piece in _parts(part)}
    return {name: rows for name, rows in datasets.items() if name in names}


def _parts(value: Any) -> Iterator[Spec]:
    """Every dictionary inside a definition, except in its data."""
    if isinstance(value, dict):
        yield value
        for key, item in value.items():
            if key not in ("datasets", "values"):
                yield from _parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)


def _csv(spec: Spec) -> str:
    """The table of single runs (with seeds) behind a chart, else of means (with counts), else the longest."""
    tables: dict[tuple[str, ...], list[Spec]] = {}
    inline = [part["data"]["values"] for part in _parts(spec) if "values" in (part.get("data") or {})]
    for rows in [*spec.get("datasets", {}).values(), *inline]:
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            tables.setdefault(tuple(rows[0]), []).extend(rows)
    if not tables:
        return ""
    columns = max(tables, key=lambda names: ("seed" in names, "count" in names, len(tables[names])))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(tables[columns])
    return text.getvalue()


def _version() -> str:
    """The version of Vega-Lite for vl-convert: the one Altair writes, else the newest available."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    return wanted if wanted in known else known[-1]
