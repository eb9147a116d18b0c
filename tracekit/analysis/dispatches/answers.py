"""The answer to one question about a dispatch."""

from dataclasses import dataclass
from enum import StrEnum


class AnswerState(StrEnum):
    """The relation of a recorded fact to the expectation.

    `RECORDED` is a fact of which nothing is expected.
    """

    DEVIATING = "not as expected"
    NOT_RECORDED = "not recorded"
    AS_EXPECTED = "as expected"
    RECORDED = "recorded"


@dataclass(frozen=True)
class DispatchAnswer:
    """One line of a dispatch check.

    `topic` is the part of the check, `value` the recorded fact in words. `note` is the reason for
    the state, and for a fact that was not recorded the way to get it.
    """

    topic: str
    value: str
    state: AnswerState
    note: str = ""
