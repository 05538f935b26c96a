"""The questions of the page, one module each, in the order in which the page shows them."""

from whyconv.page.question import Question
from whyconv.page.questions.bits import Bits
from whyconv.page.questions.detection import Finding
from whyconv.page.questions.digit_grid import FourDigits
from whyconv.page.questions.digits import Digits
from whyconv.page.questions.signal import OneSignal

ALL = (OneSignal, Finding, Bits, FourDigits, Digits)


def every() -> dict[str, type[Question]]:
    """All questions by name."""
    return {each.name: each for each in ALL}
