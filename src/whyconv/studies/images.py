"""What the studies on real images share: which images they are, twins that must be equal, shifted tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.measure.intervals import paired_difference
from whyconv.spec import to_json
from whyconv.studies import Point, Study, only_task
from whyconv.studies.grid import by_seed
from whyconv.tasks import Part, images
from whyconv.tasks._image_task import CONTROLS, ImageTask
from whyconv.tasks.image_classes import ImageClasses
from whyconv.tasks.images.catalogue import known
from whyconv.trial import Row
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    from whyconv.learners import Learner

AS_IT_IS = "test images as they are"
ROUNDING = 1e-4
"""The largest difference of first-epoch losses between networks that must be equal up to rounding."""


class ImageStudy(Study):
    """A study on images; its table also has the accuracy, and the training loss of the first epoch."""

    own: ClassVar[tuple[str, ...]] = CONTROLS
    """The fields of the task that the study sets itself."""

    if TYPE_CHECKING:
        task: Any

    @field_validator("task", check_fields=False)
    @classmethod
    def _untouched(cls, task: ImageTask) -> ImageTask:
        for name in cls.own:
            if getattr(task, name) != type(task).model_fields[name].default:
                raise ValueError(
                    f"task.{name} was given, but this study sets it itself; leave it out (see whyconv list)"
                )
        return task

    def data(self) -> str:
        """The images; if they are the embedded ones, also what was found but is not used."""
        why = images.unused(self.task.preference) if known(self.task.images).embedded else ""
        return f"{described(self.task)} Not used: {why}." if why else described(self.task)

    def on(self) -> str:
        return known(self.task.images).phrase or known(self.task.images).title

    def table(self, points: Sequence[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial with a good row."""
        table = super().table(points, rows)
        if table.empty:
            return table
        good = [row for point in points if (row := rows.get(point.trial.key)) and row.status == "ok"]
        losses = [row.trace.get("loss_at_epochs_2^i", [nan])[0] for row in good]
        return table.assign(accuracy=1 - table["test_error"], first_loss=losses)


class ClassesStudy(ImageStudy):
    """A study on classes of images whose criterion is stated for CIFAR-10."""

    task: Annotated[ImageClasses, only_task(ImageClasses)] = Field("image-classes", validate_default=True)

    def available(self, count: int, part: Part) -> int:
        """``count``, or all images if there are fewer."""
        return min(count, self.task.image_count(part))

    def unjudged(self) -> str:
        """Other images are shown but not judged."""
        return other_than("cifar-10", self.task)


class Twin(NamedTuple):
    """A contestant with some fields of its task and its network changed."""

    of: str
    task: Mapping[str, Any] = {}
    network: Mapping[str, Any] = {}


def twins(contestants: Sequence[str], connected: str = "FCN") -> dict[str, Twin]:
    """Every contestant on permuted pixels (the fully ``connected`` one coupled), the first on shuffled
    labels."""
    found = {
        permuted(arm): Twin(arm, {"permuted": True}, {"coupled": True} if arm == connected else {})
        for arm in contestants
    }
    return {**found, shuffled(contestants[0]): Twin(contestants[0], {"shuffled_labels": True})}


def other_than(judged: str, task: ImageTask) -> str:
    """Why results on these images are shown but not judged: the criterion is for the set ``judged``."""
    title, given = known(judged).title, known(task.images)
    if task.images == judged:
        return ""
    if given.embedded:
        return (
            f"these are {given.phrase}, since {title} is not on this machine; whyconv data fetch {judged} "
            "brings it"
        )
    return f"the criterion is stated for {title}, but these images are {task.images}"


def described(task: ImageTask) -> str:
    """The images in a sentence."""
    return f"Images: {images.describe(task.images, task.batches)}."


def permuted(arm: str) -> str:
    """The name of an arm's twin on permuted pixels."""
    return f"{arm}, permuted pixels"


def shuffled(arm: str) -> str:
    """The name of an arm's twin that is trained on shuffled labels."""
    return f"{arm}, shuffled labels"


def started_alike(table: pd.DataFrame, twin: str, arm: str, quantile: float = 1.0, **labels: Any) -> Evidence:
    """Whether two arms had the same training loss in the first epoch up to rounding.

    For every seed, or for the share ``quantile`` of them. True of a network and its coupled twin on permuted
    pixels; networks that merely start from the same distribution differ in the second digit.
    """
    one, other = (by_seed(table, "first_loss", arm=each, **labels) for each in (twin, arm))
    found = float((one - other).abs().quantile(quantile, interpolation="lower"))
    where = "".join(f", {name}={value:,}" for name, value in labels.items())
    verdict = "undecided" if isnan(found) else "consistent" if found <= ROUNDING else "fails"
    which = "largest" if quantile == 1 else f"quantile {quantile:g}"
    return Evidence(verdict, {f"loss of the first epoch, {twin} - {arm}{where}, {which}": found})


def training(learner: Learner) -> str:
    """How networks are trained, in the learner's own words."""
    names = ("optimiser", "rate", "options", "batch", "loss", "epochs")
    found = {name: getattr(learner, name, None) for name in names}
    words = [
        f"{name} {to_json(value) if name == 'options' else value}" for name, value in found.items() if value
    ]
    return f"{learner.name}: {', '.join(words)}" if words else learner.name


def translations(table: pd.DataFrame, shifts: Sequence[int], axis: str) -> dict[str, pd.DataFrame]:
    """By how much the test error rises when the test images are moved, for every arm at its last place.

    Means over seeds of the paired rise, with 95 % intervals.
    """
    lines = []
    for arm, rows in table.groupby("arm", sort=False) if len(table) else ():
        at = rows[rows[axis] == rows[axis].max()].set_index("seed")
        rises = {
            f"moved by {by}": paired_difference(at[f"test_error_shift_{by}"], at["test_error"])
            for by in shifts
        }
        lines.append({"arm": arm, axis: rows[axis].max(), **rises, "runs": len(at)})
    return {"Test error added by moving the test images": pd.DataFrame(lines)} if lines and shifts else {}


def shift_panels(table: pd.DataFrame, shifts: Sequence[int]) -> pd.DataFrame:
    """The table once for the test as it is and once for every shift, distinguished by the column ``test``.

    ``test_error`` and ``accuracy`` are then those of the shifted tests.
    """
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
