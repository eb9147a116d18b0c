"""Expectations are read from text, and compared with the facts of a dispatch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.dispatches import (
    AnswerState,
    RecordedDispatch,
    check_dispatches,
    read_expectation,
)
from tracekit.analysis.dispatches.quantities import MEANINGS
from tracekit.analysis.dispatches.recorded import BoundArgument
from tracekit.base import UsageError

OUT = BoundArgument(
    0, "buffer", "out", "float", "write", "device", is_active=True, is_bound=True,
    buffer=0, offset=256, length=1024, alignment=4, data_size=4,
)  # fmt: skip
BLOCK = BoundArgument(1, "buffer", "BLOCK_SIZE", is_active=True, is_bound=True, value=32.0)
DECODE = RecordedDispatch(
    3, "paged_decode_64", (256, 8, 1), (256, 1, 1), (1, 8, 1), 8, 0, label="step",
    dynamic_memory=2048, static_memory=512, barriers=3, loop_barriers=1, encoder_barriers=0,
    constants=("has_mask",), counts={"registers": 96, "spilled": 0}, arguments=(OUT, BLOCK),
)  # fmt: skip
MERGE = RecordedDispatch(4, "merge", (32, 1, 1), (32, 1, 1), (1, 1, 1), 1, 0)


def check(*texts: str) -> list[tuple[int | None, list[AnswerState]]]:
    expectations = [read_expectation(text) for text in texts]
    return [
        (
            None if item.dispatch is None else item.dispatch.index,
            [one.state for one in item.answers],
        )
        for item in check_dispatches([DECODE, MERGE], expectations)
    ]


MET = AnswerState.AS_EXPECTED
NOT_MET = AnswerState.DEVIATING
UNKNOWN = AnswerState.NOT_RECORDED


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("threadgroup==256", MET),
        ("threadgroup != 256", NOT_MET),
        ("threadgroup.y==1", MET),
        ("threads==2048", MET),
        ("groups.y>=8", MET),
        ("groups>8", NOT_MET),
        ("threadgroup_memory<=2560", MET),
        ("threadgroup_memory<2560", NOT_MET),
        ("static_threadgroup_memory==512", MET),
        ("dynamic_threadgroup_memory==2048", MET),
        ("barriers_in_loops==1", MET),
        ("encoder_barriers==0", MET),
        ("registers<=96", MET),
        ("registers<96", NOT_MET),
        ("spills==0", MET),
        ("instructions<1000", UNKNOWN),
        ("constants.BLOCK_SIZE==32", MET),
        ("constants.BLOCK_SIZE==16", NOT_MET),
        ("constants.has_mask==1", UNKNOWN),
        ("constants.TILE==1", UNKNOWN),
        ("bindings.out==bound", MET),
        ("bindings.out.offset==256", MET),
        ("bindings.out.access==write", MET),
        ("bindings.BLOCK_SIZE.offset==0", UNKNOWN),
        ("bindings.keys==bound", NOT_MET),
        ("missing_bindings==0", MET),
    ],
)
def test_a_quantity_is_compared(text: str, state: AnswerState) -> None:
    assert check("dispatch==3", text) == [(3, [MET, state])]


def test_texts_choose_the_dispatches() -> None:
    assert check("function~decode") == [(3, [MET])]
    assert check("function==merge", "threadgroup==32") == [(4, [MET, MET])]
    assert check("function!=merge", "spills==0") == [(3, [MET, MET])]
    assert check("label~step", "function~merge") == [(None, [NOT_MET])]
    assert check("spills==0") == [(3, [MET]), (4, [UNKNOWN])]


def test_a_choice_without_a_dispatch_names_the_functions() -> None:
    (only,) = check_dispatches([DECODE, MERGE], [read_expectation("function~prefill")])
    assert only.answers[0].note == (
        "no dispatch of the capture is so; its functions are: paged_decode_64, merge."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threadgroup", "'threadgroup' is not an expectation."),
        ("threadgroup=256", "'threadgroup=256' is not an expectation."),
        ("", "'' is not an expectation."),
        ("register<=96", "A dispatch has no quantity 'register'."),
        ("threadgroup.w==1", "A dispatch has no quantity 'threadgroup.w'."),
        ("constants.==1", "A dispatch has no quantity 'constants.'."),
        ("registers<=few", "The expectation 'registers<=few' compares a size with the text 'few'."),
        ("function<=b", "The expectation 'function<=b' compares a size with the text 'b'."),
    ],
)
def test_a_wrong_expectation_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_expectation(text)
    assert refused.value.message == message
    assert refused.value.hint


@given(
    name=st.sampled_from(sorted(set(MEANINGS) - {"dispatch", "function", "label"})),
    operator=st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]),
    value=st.integers(-(2**70), 2**70),
)
def test_an_expectation_is_read_as_it_is_written(name: str, operator: str, value: int) -> None:
    assert str(read_expectation(f" {name} {operator} {value} ")) == f"{name}{operator}{value}"
