"""The dispatch check of captures: made ones with planted deviations, and the real ones."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from capture_writer import (
    COMMANDS,
    COUNT,
    ENCODER,
    FUNCTION,
    LIBRARY,
    OUT,
    PIPELINE,
    PROBE,
    QUEUE,
    STATISTICS,
    MadeCapture,
    argument,
    buffer,
    call,
    group,
    keyed_archive,
    metallib,
    small_capture,
)
from tracekit.analysis.dispatches import AnswerState, read_expectation
from tracekit.app import checking, runs
from tracekit.base import InconclusiveError, UsageError
from tracekit.nightly import Outcome

EXPECTED = (
    "function==probe",
    "threadgroup==32",
    "threads==100",
    "groups==4",
    "partial_groups==1",
    "static_threadgroup_memory==304",
    "dynamic_threadgroup_memory==0",
    "threadgroup_memory<=1024",
    "barriers==3",
    "barriers_in_loops==2",
    "encoder_barriers==0",
    "registers<=12",
    "spills==0",
    "instructions==40",
    "bindings.out==bound",
    "bindings.out.offset==0",
    "bindings.out.length==1024",
    "bindings.out.access==read_write",
    "constants.count==100",
    "shared_writes==0",
    "unused_bindings==0",
    "missing_bindings==0",
)
"""Expectations that the made capture meets."""
FUNCTION_CALL = call(0xC05E, "CS", LIBRARY, "probe", result=("t", FUNCTION), flags=0x1000)
DISPATCH = call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (32, 1, 1), stack=(0x110, 0x200))
BEGIN_ENCODER = call(0xC020, "C", COMMANDS, result=("t", ENCODER), stack=(0x104, 0x200))
BIND_OUT = call(0xC030, "Ctulul", ENCODER, OUT, 0, 0, stack=(0x10C, 0x200))
BIND_COUNT = call(0xC030, "Ctulul", ENCODER, COUNT, 0, 1, stack=(0x10C, 0x200))
ARGUMENTS = {
    "out": argument(PIPELINE, "out", 0, 1),
    "count": argument(PIPELINE, "count", 1, 0),
    "spare": argument(PIPELINE, "spare", 2, 0, active=False),
}
BUFFER_OUT = buffer(OUT, "MTLBuffer-5-0", 1024, 0x15_0000_0000, written=True, label="scores")
Change = Callable[[MadeCapture], None]


def change_call(before: bytes, *after: bytes) -> Change:
    """Return the change of a call into others; none removes it."""

    def change(made: MadeCapture) -> None:
        place = made.calls.index(before)
        made.calls[place : place + 1] = after

    return change


def change_resource(before: bytes, after: bytes) -> Change:
    """Return the change of a record among those of the objects."""

    def change(made: MadeCapture) -> None:
        changed = [part.replace(before, after) for part in made.resources]
        assert changed != made.resources
        made.resources = changed

    return change


def change_statistics(**counts: int) -> Change:
    """Return a change of the compiler's statistics."""
    names = {"instructions": "Instruction count", "registers": "Temporary register count"}
    values = {"Instruction count": 40, "Temporary register count": 12, "Spilled bytes": 0}
    for name, count in counts.items():
        values[names.get(name, "Spilled bytes")] = count

    def change(made: MadeCapture) -> None:
        made.packed[STATISTICS] = keyed_archive(values)

    return change


def dispatch(threads: tuple[int, int, int], threads_of_group: tuple[int, int, int]) -> bytes:
    return call(0xC132, "C@3ul@3ul", ENCODER, threads, threads_of_group)


def set_memory(size: int) -> bytes:
    return call(0xC038, "Culul", ENCODER, size, 0)


def change_count(made: MadeCapture) -> None:
    made.packed["MTLBuffer-6-0"] = struct.pack("<I", 200) + bytes(12)


def rename_function(made: MadeCapture) -> None:
    """Let the pipeline's function be another one, of the same code."""
    (name,) = (key for key, content in made.packed.items() if content.startswith(b"MTLB"))
    made.packed[name] = metallib({"probe_wide": PROBE})
    renamed = call(0xC05E, "CS", LIBRARY, "probe_wide", result=("t", FUNCTION), flags=0x1000)
    made.resources[2] = group(
        "library",
        LIBRARY,
        call(0xC04E, "CU<b>t", 0x1_0000_1000, name, 0, result=("t", LIBRARY), flags=0x1000),
        group("function", FUNCTION, renamed),
    )


PLANTED: list[tuple[str, Change, set[str]]] = [
    ("another function", rename_function, {"function==probe"}),
    ("a larger threadgroup", change_call(DISPATCH, dispatch((100, 1, 1), (64, 1, 1))),
     {"threadgroup==32", "groups==4"}),
    ("an idle lane", change_call(DISPATCH, dispatch((100, 1, 1), (25, 1, 1))),
     {"threadgroup", "threadgroup==32", "partial_groups==1"}),
    ("too many threads", change_call(DISPATCH, dispatch((4096, 1, 1), (2048, 1, 1))),
     {"threadgroup", "threadgroup==32", "threads==100", "groups==4", "partial_groups==1"}),
    ("a longer grid", change_call(DISPATCH, dispatch((101, 1, 1), (32, 1, 1))), {"threads==100"}),
    ("a second row", change_call(DISPATCH, dispatch((100, 2, 1), (32, 1, 1))),
     {"threads==100", "groups==4", "partial_groups==1"}),
    ("an empty grid", change_call(DISPATCH, dispatch((0, 1, 1), (32, 1, 1))),
     {"grid", "threads==100", "groups==4", "partial_groups==1"}),
    ("whole threadgroups",
     change_call(DISPATCH, call(0xC039, "C@3ul@3ul", ENCODER, (4, 1, 1), (32, 1, 1))),
     {"threads==100", "partial_groups==1"}),
    ("memory of the encoder", change_call(DISPATCH, set_memory(512), DISPATCH),
     {"dynamic_threadgroup_memory==0"}),
    ("too much memory", change_call(DISPATCH, set_memory(32768), DISPATCH),
     {"threadgroup memory", "dynamic_threadgroup_memory==0", "threadgroup_memory<=1024"}),
    ("a barrier of the encoder",
     change_call(DISPATCH, call(0xC177, "Cul", ENCODER, 1), DISPATCH), {"encoder_barriers==0"}),
    ("more registers", change_statistics(registers=48), {"registers<=12"}),
    ("spills", change_statistics(spilled=64), {"spills", "spills==0"}),
    ("more instructions", change_statistics(instructions=41), {"instructions==40"}),
    ("no output", change_call(BIND_OUT),
     {"binding out", "bindings.out==bound", "missing_bindings==0"}),
    ("no count", change_call(BIND_COUNT), {"binding count", "missing_bindings==0"}),
    ("an offset", change_call(BIND_OUT, call(0xC030, "Ctulul", ENCODER, OUT, 256, 0)),
     {"bindings.out.offset==0"}),
    ("an odd offset", change_call(BIND_OUT, call(0xC030, "Ctulul", ENCODER, OUT, 2, 0)),
     {"binding out", "bindings.out.offset==0"}),
    ("an offset past the end", change_call(BIND_OUT, call(0xC030, "Ctulul", ENCODER, OUT, 2048, 0)),
     {"binding out", "bindings.out.offset==0"}),
    ("a shorter buffer",
     change_resource(BUFFER_OUT, buffer(OUT, "MTLBuffer-5-0", 2, 0x15_0000_0000, written=True)),
     {"binding out", "bindings.out.length==1024"}),
    ("another value", change_count, {"constants.count==100"}),
    ("one buffer for both", change_call(BIND_COUNT, call(0xC030, "Ctulul", ENCODER, OUT, 4, 1)),
     {"shared_writes==0"}),
    ("a buffer that is not used",
     change_call(DISPATCH, call(0xC030, "Ctulul", ENCODER, COUNT, 0, 2), DISPATCH),
     {"unused_bindings==0"}),
    ("an argument that became used",
     change_resource(ARGUMENTS["spare"], argument(PIPELINE, "spare", 2, 0)),
     {"binding spare", "missing_bindings==0"}),
]  # fmt: skip


def check(path: Path, *texts: str) -> checking.CaptureCheck:
    return checking.check_capture(path, [[read_expectation(text) for text in texts]])


def find_deviations(checked: checking.CaptureCheck) -> set[str]:
    return {
        answer.topic
        for item in checked.dispatches
        for answer in item.answers
        if answer.state is AnswerState.DEVIATING
    }


def test_a_made_capture_is_as_expected(tmp_path: Path) -> None:
    checked = check(small_capture().write(tmp_path / "made.gputrace"), *EXPECTED)
    assert find_deviations(checked) == set()
    assert checked.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("change", "expected"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
def test_a_planted_deviation_is_found(change: Change, expected: set[str], tmp_path: Path) -> None:
    made = small_capture()
    change(made)
    checked = check(made.write(tmp_path / "made.gputrace"), *EXPECTED)
    assert find_deviations(checked) == expected
    assert checked.outcome is Outcome.REGRESSION


def test_a_missing_fact_is_not_called_expected(tmp_path: Path) -> None:
    made = small_capture()
    del made.packed[STATISTICS]
    checked = check(made.write(tmp_path / "made.gputrace"), "registers<=96", "threadgroup==32")
    assert checked.outcome is Outcome.INCONCLUSIVE
    with pytest.raises(InconclusiveError, match=r"^Not recorded: 1 of "):
        checking.require_recorded(checked)


def test_a_file_has_expectations_for_each_kind_of_dispatch(tmp_path: Path) -> None:
    file = tmp_path / "tracekit.toml"
    file.write_text(
        """
        [[dispatch]]
        expect = ["function~probe", "threadgroup==32"]
        [[dispatch]]
        expect = ["function~softmax", "spills==0"]
        """
    )
    expectation_sets = checking.read_expectation_file(file)
    path = small_capture().write(tmp_path / "made.gputrace")
    checked = checking.check_capture(path, expectation_sets)
    assert [item.title for item in checked.dispatches] == ["dispatch 0: probe", "function~softmax"]
    assert find_deviations(checked) == {"function~softmax"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[dispatch]\nexpect = 3",
        "[[dispatch]]\nexpected = []",
        "[[dispatch]]\nexpect = [1]",
        "[",
    ],
)
def test_a_wrong_file_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "tracekit.toml"
    file.write_text(content)
    with pytest.raises(UsageError) as refused:
        checking.read_expectation_file(file)
    assert "[[dispatch]]" in refused.value.hint


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "texts", "deviations"),
    [
        (
            "relu",
            ("threadgroup==1024", "groups==64", "registers==12", "constants.N==262144"),
            set[str](),
        ),
        (
            "matmul_gelu_softmax",
            ("threadgroup_memory==17408", "barriers==3", "barriers_in_loops==2", "registers==48"),
            set[str](),
        ),
        (
            "matmul_gelu_softmax",
            ("threadgroup_memory<=16384", "unused_bindings==0", "bindings.M.access==read"),
            {"threadgroup_memory<=16384", "unused_bindings==0"},
        ),
    ],
)
def test_real_captures_are_checked(
    name: str, texts: tuple[str, ...], deviations: set[str], corpus: Path
) -> None:
    path = corpus / "Lazarus-931+MetalBench" / f"{name}.gputrace"
    if not path.exists():
        pytest.skip(f"no {path.name} in the corpus")
    assert find_deviations(check(path, *texts)) == deviations


def test_the_made_calls_are_those_of_the_made_capture() -> None:
    made = small_capture()
    assert {DISPATCH, BIND_OUT, BIND_COUNT} <= set(made.calls)
    assert call(0xC02F, "Ct", ENCODER, PIPELINE, stack=(0x108, 0x200)) in made.calls
    assert call(0xC017, "C", COMMANDS, stack=(0x118, 0x200)) in made.calls
    assert BUFFER_OUT in made.resources


def test_a_packed_capture_is_checked_and_compared(tmp_path: Path) -> None:
    bundle = small_capture().write(tmp_path / "made.gputrace")
    archive = shutil.make_archive(str(bundle), "zip", tmp_path, bundle.name)
    packed = Path(archive)
    assert runs.holds_capture(packed)
    assert check(packed, *EXPECTED).outcome is Outcome.OK
    assert checking.compare_captures(bundle, packed).verdict.startswith("The same: 1 of 1")


UNSEEN: dict[str, Change] = {
    "the size in threadgroups": change_call(
        DISPATCH, call(0xC039, "C@3ul@3ul", ENCODER, (4, 1, 1), (32, 1, 1))
    ),
    "labels": change_call(DISPATCH, call(0xC02D, "CS", ENCODER, "attention"), DISPATCH),
    "threadgroup memory that the encoder set": change_call(
        DISPATCH, call(0xC038, "Culul", ENCODER, 512, 0), DISPATCH
    ),
    "barriers of the encoder": change_call(DISPATCH, call(0xC177, "Cul", ENCODER, 1), DISPATCH),
    "the type of the encoder": change_call(
        BEGIN_ENCODER, call(0xC7AB, "Cul", COMMANDS, 1, result=("t", ENCODER))
    ),
    "bound bytes": change_call(BIND_COUNT, call(0xC09D, "CU<b>ulul", ENCODER, "B17E5", 4, 1)),
}


def marked_facts(dispatch: checking.CheckedDispatch) -> list[str]:
    return [item.value for item in dispatch.general if item.topic == "read, not seen"]


@pytest.mark.parametrize("name", UNSEEN)
def test_a_record_that_no_real_capture_has_is_marked(name: str, tmp_path: Path) -> None:
    made = small_capture()
    made.packed["B17E5"] = struct.pack("<I", 100)
    plain = check(made.write(tmp_path / "plain.gputrace"))
    UNSEEN[name](made)
    marked = check(made.write(tmp_path / "marked.gputrace"))
    (plain_dispatch,) = plain.dispatches
    (marked_dispatch,) = marked.dispatches
    assert marked_facts(plain_dispatch) == []
    assert marked_facts(marked_dispatch) == [name]


def test_the_order_of_several_command_buffers_is_marked(tmp_path: Path) -> None:
    made = small_capture()
    made.calls *= 2
    first, second = check(made.write(tmp_path / "twice.gputrace")).dispatches
    assert marked_facts(first) == []
    assert marked_facts(second) == ["the order of several command buffers"]


def test_each_kind_of_record_that_no_real_capture_had_is_named(tmp_path: Path) -> None:
    made = small_capture()
    commands = 0x7_0000_3100
    encoder = 0x7_0000_4100
    fence = 0x7_0000_A000
    made.packed["B17E5"] = struct.pack("<I", 77)
    dispatch_groups = call(0xC039, "C@3ul@3ul", encoder, (3, 2, 1), (32, 1, 1))
    made.calls += [
        call(0xC029, "C", QUEUE, result=("t", commands)),
        call(0xC013, "CS", commands, "step 2"),
        call(0xC3F0, "Cul", commands, 1, result=("t", encoder)),
        call(0xC02D, "CS", encoder, "merge"),
        call(0xC02F, "Ct", encoder, PIPELINE),
        call(0xC0FF, "Ct", encoder, fence),
        call(0xC08C, "CS", encoder, "layer 3"),
        call(0xC030, "Ctulul", encoder, OUT, 128, 0),
        call(0xC09D, "CU<b>ulul", encoder, "B17E5", 4, 1),
        call(0xC038, "Culul", encoder, 256, 0),
        dispatch_groups,
        call(0xC177, "Cul", encoder, 1),
        dispatch_groups,
        call(0xC0FE, "Ct", encoder, fence),
    ]
    expected = (
        *("function~probe", "label==merge / layer 3", "groups==6", "threads.y==2"),
        *("dynamic_threadgroup_memory==256", "constants.count==77", "bindings.out.offset==128"),
    )
    checked = check(made.write(tmp_path / "kinds.gputrace"), *expected)
    assert checked.outcome is Outcome.OK
    first, second = checked.dispatches
    notes = [{answer.topic: answer for answer in item.general} for item in (first, second)]
    kinds = (
        *("the size in threadgroups", "the type of the encoder", "labels"),
        "threadgroup memory that the encoder set",
    )
    others = ("fences of the encoder", "bound bytes", "the order of several command buffers")
    names = [note["read, not seen"].value for note in notes]
    assert names[0] == ", ".join((*kinds, *others))
    assert names[1] == ", ".join((*kinds, "barriers of the encoder", *others))
    assert notes[1]["barriers"].note == "1 memory barrier of the encoder goes before it."
