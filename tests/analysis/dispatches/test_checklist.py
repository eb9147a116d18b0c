"""The dispatch check that holds for every kernel."""

from dataclasses import replace

import pytest

from tracekit.analysis.dispatches import AnswerState, RecordedDispatch, check_dispatch
from tracekit.analysis.dispatches.checklist import check_argument
from tracekit.analysis.dispatches.recorded import BoundArgument, SourceLine

SOUND = RecordedDispatch(
    0, "scale", (256, 1, 1), (64, 1, 1), (4, 1, 1), 4, 0, static_memory=0, barriers=0,
    loop_barriers=0, encoder_barriers=0, constants=(), counts={"spilled": 0, "registers": 9},
)  # fmt: skip
OUT = BoundArgument(
    0, "buffer", "out", "float", "write", "device", is_active=True, is_bound=True,
    buffer=0, offset=0, length=1024, address=4096, alignment=4, data_size=4,
)  # fmt: skip


def answers_of(dispatch: RecordedDispatch) -> dict[str, tuple[AnswerState, str]]:
    return {item.topic: (item.state, item.note) for item in check_dispatch(dispatch)}


def test_a_sound_dispatch_has_no_deviation() -> None:
    states = {state for state, _ in answers_of(SOUND).values()}
    assert AnswerState.DEVIATING not in states


@pytest.mark.parametrize(
    ("group", "state", "note"),
    [
        ((64, 1, 1), AnswerState.AS_EXPECTED, "a multiple of 32, at most 1,024."),
        ((1024, 1, 1), AnswerState.AS_EXPECTED, "a multiple of 32, at most 1,024."),
        ((8, 4, 1), AnswerState.AS_EXPECTED, "a multiple of 32, at most 1,024."),
        (
            (33, 1, 1),
            AnswerState.DEVIATING,
            "not a multiple of 32: 31 lanes of the last SIMD-group idle.",
        ),
        (
            (1024, 2, 1),
            AnswerState.DEVIATING,
            "more than the 1,024 threads that Apple silicon allows.",
        ),
        ((0, 1, 1), AnswerState.DEVIATING, "it has no threads."),
    ],
)
def test_a_threadgroup_is_judged(
    group: tuple[int, int, int], state: AnswerState, note: str
) -> None:
    assert answers_of(replace(SOUND, group=group))["threadgroup"] == (state, note)


def test_a_single_small_threadgroup_is_a_fact() -> None:
    tiny = replace(SOUND, grid=(1, 1, 1), group=(1, 1, 1), groups=(1, 1, 1), group_count=1)
    assert answers_of(tiny)["threadgroup"] == (
        AnswerState.RECORDED,
        "the whole grid: 1 of the 32 lanes of a SIMD-group.",
    )


def test_a_grid_has_whole_and_partial_threadgroups() -> None:
    assert answers_of(SOUND)["grid"] == (AnswerState.RECORDED, "all are whole.")
    partial = replace(SOUND, grid=(250, 1, 1), partial_group_count=1)
    times = "\N{MULTIPLICATION SIGN}"
    note = f"partial: 1, because the grid of 250 {times} 1 {times} 1 threads does not divide."
    assert answers_of(partial)["grid"] == (AnswerState.RECORDED, note)
    assert answers_of(replace(SOUND, group_count=0))["grid"][0] is AnswerState.DEVIATING


def test_threadgroup_memory_is_that_of_the_code_and_of_the_encoder() -> None:
    full = replace(SOUND, static_memory=16384, dynamic_memory=16384)
    note = "16,384 declared, 16,384 set; 32 KiB would hold 1 such threadgroup."
    assert answers_of(full)["threadgroup memory"] == (AnswerState.AS_EXPECTED, note)
    above = replace(full, dynamic_memory=16388)
    assert answers_of(above)["threadgroup memory"][0] is AnswerState.DEVIATING
    unknown = replace(full, static_memory=None)
    assert answers_of(unknown)["threadgroup memory"][0] is AnswerState.NOT_RECORDED


def test_facts_that_were_not_recorded_say_so() -> None:
    bare = RecordedDispatch(0, "", (32, 1, 1), (32, 1, 1), (1, 1, 1), 1, 0)
    missing = {
        topic for topic, (state, _) in answers_of(bare).items() if state is AnswerState.NOT_RECORDED
    }
    assert missing == {
        "function",
        "threads that the pipeline allows",
        "threadgroup memory",
        "barriers",
        "registers and spills",
    }


def test_spills_deviate() -> None:
    spilling = replace(SOUND, counts={"spilled": 64})
    assert answers_of(spilling)["spills"][0] is AnswerState.DEVIATING


def test_names_of_constants_are_shown_without_their_values() -> None:
    state, note = answers_of(replace(SOUND, constants=("has_mask",)))["function constants"]
    assert state is AnswerState.NOT_RECORDED
    assert "function~NAME" in note


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, AnswerState.AS_EXPECTED),
        ({"is_active": False}, AnswerState.RECORDED),
        ({"is_active": None}, AnswerState.RECORDED),
        ({"is_bound": False}, AnswerState.DEVIATING),
        ({"is_bound": False, "is_active": False}, AnswerState.AS_EXPECTED),
        ({"is_bound": False, "is_active": None}, AnswerState.NOT_RECORDED),
        ({"address": 4098}, AnswerState.DEVIATING),
        ({"address": None, "offset": 2}, AnswerState.DEVIATING),
        ({"offset": 1020, "address": 5116}, AnswerState.AS_EXPECTED),
        ({"offset": 1024, "address": 5120}, AnswerState.DEVIATING),
        ({"offset": 4096, "address": 8192}, AnswerState.DEVIATING),
        ({"length": 2}, AnswerState.DEVIATING),
        ({"alignment": None, "length": None, "data_size": None}, AnswerState.AS_EXPECTED),
    ],
)
def test_an_argument_is_judged(changes: dict[str, object], state: AnswerState) -> None:
    assert check_argument(replace(OUT, **changes)).state is state


def test_one_buffer_bound_twice_is_shown_if_it_is_written() -> None:
    other = replace(OUT, index=1, name="other", access="read")
    answers = answers_of(replace(SOUND, arguments=(OUT, other)))
    assert answers["one buffer, bound twice"][0] is AnswerState.RECORDED
    read_only = replace(OUT, access="read")
    assert "one buffer, bound twice" not in answers_of(replace(SOUND, arguments=(read_only, other)))
    unused = replace(other, is_active=False)
    assert "one buffer, bound twice" not in answers_of(replace(SOUND, arguments=(OUT, unused)))


def test_instructions_are_listed_by_kind_and_by_line() -> None:
    counted = replace(
        SOUND,
        counts={"instructions": 40, "fp32": 12, "fp16": 0, "device_loads": 3},
        lines=(SourceLine("a.metal", 9, 30), SourceLine("a.metal", 4, 10)),
    )
    lines = {item.topic: (item.value, item.note) for item in check_dispatch(counted)}
    assert lines["instructions"] == (
        "40",
        "static counts of the compiled code: 12 fp32, 3 device loads.",
    )
    assert lines["instructions by line"][0] == "30 at a.metal:9, 10 at a.metal:4"


def test_facts_of_records_that_no_real_capture_has_are_marked() -> None:
    assert "read, not seen" not in answers_of(SOUND)
    marked = replace(SOUND, unseen=("labels", "bound bytes"))
    (answer,) = [item for item in check_dispatch(marked) if item.topic == "read, not seen"]
    assert (answer.value, answer.state) == ("labels, bound bytes", AnswerState.RECORDED)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1_048_576.0, "value 1,048,576"), (0.125, "value 0.125"), (-3.0, "value -3")],
)
def test_a_number_in_constant_memory_is_written_whole(value: float, text: str) -> None:
    argument = replace(OUT, space="constant", value=value)
    answer = check_argument(argument)
    assert answer.value.endswith(text)
