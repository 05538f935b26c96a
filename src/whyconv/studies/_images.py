"""What the studies on real images share: which images they are, and panels for shifted tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from whyconv.spec import build
from whyconv.tasks import images
from whyconv.tasks._image_task import CONTROLS, ImageTask
from whyconv.tasks.image_classes import ImageClasses
from whyconv.tasks.images.catalogue import DIGITS

if TYPE_CHECKING:
    import pandas as pd

AS_IT_IS = "test images as they are"


def needs(kind: type[ImageTask]) -> BeforeValidator:
    """Takes a task of this kind, or what builds one, and no other."""

    def taken(value: Any) -> Any:
        task = build("task", value)
        if not isinstance(task, kind):
            raise ValueError(f"the task {task.name} was given; this study needs the task {kind.name}")
        return task

    return BeforeValidator(taken)


ClassesField = Annotated[ImageClasses, needs(ImageClasses)]


def not_cifar(task: ImageTask) -> str:
    """Why results on these images are shown and not judged, where the criterion is one for CIFAR-10."""
    if task.images == "cifar-10":
        return ""
    if task.images == DIGITS:
        return (
            "these are the embedded 8 x 8 digits, since CIFAR-10 is not on this machine; whyconv data fetch "
            "cifar-10 brings it"
        )
    return f"the criterion is one for CIFAR-10, and these images are {task.images}"


def described(task: ImageTask) -> str:
    """The images in a sentence."""
    return f"Images: {images.describe(task.images, task.batches)}."


def plain(task: ImageTask, *more: str) -> None:
    """Refuse a task whose controls, or ``more`` fields, were changed: the study sets them itself."""
    fields = type(task).model_fields
    for name in (*CONTROLS, *more):
        if getattr(task, name) != fields[name].default:
            raise ValueError(
                f"task.{name} was given, and this study sets it itself; leave it out (see whyconv list)"
            )


def permuted(arm: str) -> str:
    """The name of an arm's twin on permuted pixels."""
    return f"{arm}, permuted pixels"


def shuffled(arm: str) -> str:
    """The name of an arm's twin that is trained on shuffled labels."""
    return f"{arm}, shuffled labels"


def shift_panels(table: pd.DataFrame, shifts: Sequence[int]) -> pd.DataFrame:
    """The table once for the test as it is and once for every shift, told apart by the column ``test``.

    ``test_error`` and ``accuracy`` are those of the shifted tests then.
    """
    import pandas as pd

    if table.empty:
        return table
    panels = {AS_IT_IS: "test_error"}
    panels |= {f"moved by {by} pixel{'s' if by > 1 else ''}": f"test_error_shift_{by}" for by in shifts}
    parts = [
        table.assign(test=name, test_error=table[column], accuracy=1 - table[column])
        for name, column in panels.items()
    ]
    long = pd.concat(parts, ignore_index=True)
    return long.assign(test=pd.Categorical(long["test"], categories=list(panels), ordered=True))
