"""A chart as the page needs it: panels as wide as their column, and the files one can take away.

Vega-Lite lets a single chart follow its container's width, a concatenation not. The page therefore takes a
concatenated chart apart and lays the panels out itself; the files keep the chart whole, at its fixed width.
"""

from __future__ import annotations

import copy
import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

Spec = dict[str, Any]


@dataclass(frozen=True)
class Files:
    """One chart as files: drawn as SVG and PDF, the runs behind it as CSV, and its Vega-Lite definition."""

    svg: str
    pdf: bytes
    csv: str
    spec: Spec


def files(chart: Any) -> Files:
    """Draw ``chart`` (an Altair chart or a Vega-Lite definition) at its fixed width. Takes about 0.1 s."""
    import vl_convert

    spec = chart if isinstance(chart, dict) else chart.to_dict()
    version = _version()
    return Files(
        svg=vl_convert.vegalite_to_svg(spec, vl_version=version),
        pdf=vl_convert.vegalite_to_pdf(spec, vl_version=version),
        csv=_csv(spec),
        spec=spec,
    )


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that loads nothing."""
    import vl_convert

    names = "window.vegaEmbed = vegaEmbed; window.vega = vega; window.vegaLite = vegaLite;"
    return vl_convert.javascript_bundle(names, vl_version=_version())


def panels(spec: Spec) -> list[Spec]:
    """The single charts of ``spec``, as wide as their container, without what the page says around it."""
    spec = copy.deepcopy(spec)
    parts = next((spec.pop(key) for key in ("concat", "hconcat", "vconcat") if key in spec), None)
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
    """The legend that :mod:`whyconv.report.charts` noted in the chart; empty for other people's charts."""
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
    """Every dictionary inside a definition, the data left aside."""
    if isinstance(value, dict):
        yield value
        for key, item in value.items():
            if key not in ("datasets", "values"):
                yield from _parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)


def _csv(spec: Spec) -> str:
    """The single runs behind a chart (what has a seed), or what counts them, or else its longest table."""
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
    """Vega-Lite's version as vl-convert names it: the one Altair writes, or else the newest there is."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    return wanted if wanted in known else known[-1]
