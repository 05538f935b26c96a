"""Weka's format (``.arff``), read with SciPy: an attribute per step, or series of several channels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from whyconv.auditing.bad_data import BadData, require_room
from whyconv.auditing.readers import Asked, Read, opened, reader, refuse
from whyconv.auditing.readers.tables import LABELS, of_frame
from whyconv.errors import said
from whyconv.lazy import np, pd

SPREAD = 16


@reader(".arff")
def arff(path: Path, asked: Asked) -> Read:
    """The label is the attribute that ``--label`` names, else class, label or target, else the last one."""
    from scipy.io.arff import loadarff

    with opened(path) as file:
        require_room(SPREAD * path.stat().st_size, path.name, asked.memory)
        try:
            records, about = loadarff(io.StringIO(file.read().decode("utf-8-sig")))
        except NotImplementedError as error:
            raise BadData(f"{path.name} has attributes of text or dates; leave them out.") from error
        except Exception as error:  # SciPy raises whatever a damaged file makes it raise
            raise BadData(
                f"{path.name} is not ARFF that can be read ({said(error):.100}); mend it."
            ) from error
    names = about.names()
    if len(records) == 0 or len(names) < 2:
        raise BadData(f"{path.name} has {len(records)} examples of {len(names)} attributes; give more.")
    label = asked.label or next((name for name in names if name.lower() in LABELS), names[-1])
    if "relational" in about.types():
        refuse(path, asked, "x", "groups")
        return _nested(path, records, names, about.types(), label)
    frame = pd.DataFrame(
        {name: _column(records[name], kind) for name, kind in zip(names, about.types(), strict=True)}
    )
    return of_frame(path, frame, Asked(label, asked.x, asked.groups, asked.memory))


def _column(values: Any, kind: str) -> Any:
    if kind != "nominal":
        return values
    words = [value.decode("utf-8", "replace") for value in values]
    return pd.Categorical([None if word == "?" else word for word in words])


def _nested(path: Path, records: Any, names: list[str], kinds: list[str], label: str) -> Read:
    """Series of several channels: each record holds one row per channel."""
    inside = names[kinds.index("relational")]
    if label not in names or label == inside:
        raise BadData(
            f"--label {label} was given, and {path.name} has no such label; give one of {', '.join(names)}."
        )
    series = [np.array([list(row) for row in each], np.float64).T for each in records[inside]]
    if len({each.shape for each in series}) > 1:
        raise BadData(f"{path.name} has series of different shapes; save them in one shape.")
    return Read(np.stack(series), records[label], grid="series", channels="last")
