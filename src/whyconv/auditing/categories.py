"""Frames with columns of categories in front of an estimator: a channel per category, as an audit reads them.

What a column may hold is settled when the estimator is fitted, so that later frames become the same channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyconv.auditing.bad_data import BadData, listed
from whyconv.auditing.features import frame_of, frame_values
from whyconv.lazy import NDArray, pd

Columns = Mapping[str, list[Any] | None]
"""Columns in order; the categories of each, None for numbers."""


def columns_of(X: Any) -> Columns | None:
    """The columns of a frame of which some hold categories; None for everything else."""
    if (X := frame_of(X)) is None:
        return None
    kinds = [X.iloc[:, place].dtype for place in range(X.shape[1])]
    if not any(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
        return None
    return {
        str(name): kind.categories.tolist() if isinstance(kind, pd.CategoricalDtype) else None
        for name, kind in zip(X.columns, kinds, strict=True)
    }


def placed(X: Any, columns: Columns) -> NDArray:
    """(examples, features, channels) of a frame that has these columns."""
    if (X := frame_of(X)) is None or [str(name) for name in X.columns] != list(columns):
        raise BadData(
            "the estimator was fitted on a frame with categories; give a frame with the same columns in the "
            f"same order: {listed(list(columns))}."
        )
    parts = {}
    for place, (name, known) in enumerate(columns.items()):
        column = X.iloc[:, place]
        if known is not None:
            unknown = column[column.notna() & ~column.isin(known)]
            if len(unknown):
                raise BadData(
                    f"the column {name!r} holds {str(unknown.iloc[0])!r:.40}, which it did not when the "
                    f"estimator was fitted; known are {listed([str(each) for each in known])}."
                )
            column = column.astype(pd.CategoricalDtype(known))
        parts[name] = column
    return frame_values(pd.DataFrame(parts))[0]
