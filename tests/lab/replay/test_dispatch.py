"""Recorded dispatches run again: made captures with planted mistakes, and the real ones."""

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from capture_writer import (
    COMMANDS,
    COUNT,
    DEVICE,
    ENCODER,
    FUNCTION,
    LIBRARY,
    METALLIB,
    OUT,
    MadeCapture,
    buffer,
    call,
    group,
    small_capture,
)
from command_line import run
from small_kernels import EMULATED
from tracekit.base import InconclusiveError, InputError, UsageError
from tracekit.lab.msl.emulation import generated
from tracekit.lab.replay import DispatchReplay, ReplayChoices, ReplayOutcome, replay_dispatch
from tracekit.lab.verification.metal_file import LaunchWords
from tracekit.lab.verification.verify import ProofOutcome

pytestmark = EMULATED

PATH = "/Users/anne/src/probe.metal"
BODY = "float x = i; tile[lane] = 2 * x; threadgroup_barrier(mem_flags::mem_threadgroup); "
STORE = "out[i] = tile[31 - lane] + tile[lane] - 2 * x;"
RESULT = [2.0 * (i // 32 * 32 + 31 - i % 32) for i in range(96)]
"""The result of the kernel in its 96 threads, three threadgroups of 32."""
RECORDED = struct.pack("<96f", *RESULT) + bytes(1024 - 4 * 96)
BEFORE = struct.pack("<256f", *range(256))
"""Contents of the output that another program left."""
DISPATCH = call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (32, 1, 1), stack=(0x110, 0x200))
TARGET = call(0xC132, "C@3ul@3ul", ENCODER, (96, 1, 1), (32, 1, 1))


def write_kernel(body: str) -> bytes:
    """Return the source of `probe` with a body, for 32 threads of a threadgroup."""
    return (
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void probe(device float* out [[buffer(0)]], constant uint& count [[buffer(1)]],\n"
        "    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {\n"
        "  threadgroup float tile[32];\n"
        f"  if (i >= count) return;\n  {body}\n}}\n"
    ).encode()


def make_capture(body: str = BODY + STORE, recorded: bytes = RECORDED) -> MadeCapture:
    """Return a capture of a kernel in 96 threads, whose output buffer has 256 elements."""
    made = small_capture({PATH: write_kernel(body)})
    made.plain["MTLBuffer-5-0"] = recorded
    made.calls[made.calls.index(DISPATCH)] = TARGET
    return made


@pytest.fixture
def replayed(tmp_path: Path) -> Callable[..., DispatchReplay]:
    """Return a function that writes a capture and replays it, with a kernel of its own if given."""

    def replay(made: MadeCapture, body: str = "", **choices: object) -> DispatchReplay:
        bundle = made.write(tmp_path / "made.gputrace")
        source: Path | None = None
        if body:
            source = tmp_path / "probe.metal"
            source.write_bytes(write_kernel(body))
        return replay_dispatch(bundle, ReplayChoices(source=source, **choices))  # type: ignore[arg-type]

    return replay


Replayed = Callable[..., DispatchReplay]


def test_a_result_is_the_recorded_one(replayed: Replayed) -> None:
    replay = replayed(make_capture())
    assert replay.outcome is ReplayOutcome.AGREES, replay.verdict
    assert (replay.dispatch, replay.function, replay.source) == (
        0, "probe", "the capture (probe.metal)",
    )  # fmt: skip
    (argument,) = replay.arguments
    assert (argument.name, argument.elements, argument.written) == ("out", 256, 96)
    assert (argument.dependent, argument.kept_elements) == (0, 160)
    (comparison,) = replay.comparisons
    assert (comparison.compared, comparison.equal, comparison.error) == (96, 96, 0)
    assert "after the work, or the same work had been done before" in replay.reading
    (moved,) = replay.traffic
    assert (moved.loaded, moved.stored, moved.touched) == (0, 384, 384)
    assert replay.model is not None
    assert (replay.model.groups, replay.model.idle_groups) == (3, 0)
    assert replay.model is not None
    assert replay.model.moved == 384
    assert replay.model.operations in {96 * 3, None}, "a product, a sum and a difference"


PLANTED = {
    "a wrong number": (
        BODY + STORE.replace("- 2 * x", "- 3 * x"),
        "Differs: 1 of 96 written elements of out are equal to the bit, largest error ",
    ),
    "a missing barrier": (
        "float x = i; tile[lane] = 2 * x; " + STORE.replace("lane]", "lane & 31]"),
        "Defect, same answer in all orders",
    ),
    "an index beyond the buffer": (BODY + "out[i + 200] = 1;", "Defect, accesses in bounds"),
    "an index beyond threadgroup memory": (
        BODY + STORE.replace("[31", "[63"),
        "Defect, barriers and simd operations|Defect, accesses in bounds|Defect, runs to its end",
    ),
    "a pointer that leaves threadgroup memory": (
        BODY + "threadgroup float* far = tile + 9000; far[lane] = 1; " + STORE,
        "Defect, accesses in bounds: probe.metal: threadgroup",
    ),
    "a pointer far below threadgroup memory": (
        BODY + "threadgroup float* far = tile - 90000; far[lane] = 1; " + STORE,
        "Defect, accesses in bounds: probe.metal: threadgroup",
    ),
    "threadgroup memory that nobody wrote": (
        "float x = i; if (lane < 31) tile[lane] = 2 * x; "
        "threadgroup_barrier(mem_flags::mem_threadgroup); " + STORE,
        "Defect, no NaN of unwritten memory",
    ),
    "a barrier in some threads only": (
        "float x = i; tile[lane] = 2 * x; "
        "if (lane < 16) threadgroup_barrier(mem_flags::mem_threadgroup); " + STORE,
        "Defect, barriers and simd operations",
    ),
    "a word that is not Metal": (BODY + "out[i] = nothing;", "Defect, compiles"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_wrong_kernel_is_found(replayed: Replayed, name: str) -> None:
    body, words = PLANTED[name]
    made = record_by_command_buffer(make_capture(), BEFORE)
    replay = replayed(made, body)
    assert replay.outcome in {ReplayOutcome.DIFFERS, ReplayOutcome.DEFECT}, replay.verdict
    assert any(replay.verdict.startswith(lead) for lead in words.split("|")), replay.verdict


WRONG = PLANTED["a wrong number"][0]


def test_a_difference_from_contents_recorded_once_decides_nothing(replayed: Replayed) -> None:
    # contents of before the work, and a kernel that is right: the same difference
    right = replayed(make_capture(recorded=BEFORE))
    assert right.outcome is ReplayOutcome.UNDECIDED
    assert right.verdict == (
        "Not decided: 0 of 96 written elements of out are equal to the bit, largest error 1.3 of "
        "1e-05 allowed, but one content of out was recorded, perhaps that before the work."
    )
    assert "--after, if the program had done the same work before" in right.reading


def test_a_difference_counts_if_contents_are_known_to_be_of_after(
    replayed: Replayed, tmp_path: Path
) -> None:
    wrong = replayed(make_capture(), WRONG, is_after=True)
    assert wrong.outcome is ReplayOutcome.DIFFERS
    assert wrong.verdict.startswith("Differs: 1 of 96 written elements of out")
    zeros = tmp_path / "zeros"
    zeros.mkdir()
    cleared = bytes(4 * 96) + b"\x01" * (1024 - 4 * 96)
    bundle = make_capture(recorded=cleared).write(zeros / "made.gputrace")
    assert replay_dispatch(bundle, ReplayChoices()).outcome is ReplayOutcome.UNDECIDED
    assert replay_dispatch(bundle, ReplayChoices(is_after=True)).outcome is ReplayOutcome.DIFFERS


def test_zeros_that_the_command_buffer_recorded_may_be_of_before(replayed: Replayed) -> None:
    # the program cleared its output within the capture, and the kernel is right
    replay = replayed(record_by_command_buffer(make_capture(recorded=bytes(1024)), BEFORE))
    assert replay.outcome is ReplayOutcome.UNDECIDED
    assert "contents of out are zeros, perhaps those before the work" in replay.verdict


def test_the_closer_of_two_contents_is_named(replayed: Replayed) -> None:
    replay = replayed(record_by_command_buffer(make_capture(), BEFORE), WRONG)
    assert replay.reading == (
        "Two different contents of out were recorded, and neither is the result; those of the "
        "command buffer are closer."
    )


@pytest.mark.parametrize(("partial", "outcome"), [(False, "not decided"), (True, "agrees")])
def test_elements_that_stay_need_a_word(replayed: Replayed, partial: bool, outcome: str) -> None:
    body = BODY + f"if (i < 48) {STORE}"
    replay = replayed(make_capture(), body, partial=partial)
    assert replay.outcome == outcome
    if not partial:
        assert "the kernel leaves 208 elements of out as they were" in replay.verdict


def test_a_kernel_that_writes_nothing_decides_nothing(replayed: Replayed) -> None:
    replay = replayed(make_capture(), "if (lane > 99) out[i] = 0;")
    assert replay.verdict == "Not decided: the kernel writes nothing."


def test_zeros_of_a_redacted_copy_decide_nothing(replayed: Replayed) -> None:
    replay = replayed(make_capture("out[i] = 0;", bytes(1024)))
    assert replay.outcome is ReplayOutcome.UNDECIDED
    assert "as in a redacted copy" in replay.verdict


def record_by_command_buffer(made: MadeCapture, before: bytes) -> MadeCapture:
    """Give the output other contents with the objects than the command buffer recorded."""
    made.plain["MTLBuffer-5-1"] = before
    made.resources[0] = buffer(OUT, "MTLBuffer-5-1", 1024, 0x15_0000_0000, written=True)
    return made


def test_contents_of_before_and_after_are_distinguished(replayed: Replayed) -> None:
    made = record_by_command_buffer(make_capture(), BEFORE)
    replay = replayed(made)
    assert replay.outcome is ReplayOutcome.AGREES
    assert len(replay.comparisons) == 4
    assert replay.reading == (
        "The contents of the command buffer are the result, those of the objects are not: they "
        "are of before the work."
    )


ADD = "out[i] += 1;"
COUNTED = struct.pack("<256f", *range(256))
COUNTED_ON = struct.pack("<256f", *range(1, 97), *range(96, 256))


def test_a_kernel_that_reads_its_output_starts_from_earlier_contents(replayed: Replayed) -> None:
    made = record_by_command_buffer(make_capture(ADD, COUNTED_ON), COUNTED)
    replay = replayed(made)
    assert replay.outcome is ReplayOutcome.AGREES
    assert replay.arguments[0].dependent == 96
    assert replay.reading == (
        "The contents of the objects were taken before the work, those of the command buffer "
        "after it."
    )


def test_one_content_of_a_buffer_that_is_read_and_written_decides_nothing(
    replayed: Replayed,
) -> None:
    replay = replayed(make_capture(ADD, COUNTED))
    assert replay.outcome is ReplayOutcome.UNDECIDED
    assert "depends on the earlier contents of out" in replay.verdict


SCATTER = "out[int(out[128 + i])] = i; out[i] = 1;"
SCATTERED = struct.pack("<128f", *[1] * 96, *range(96, 128)) + struct.pack("<128f", *range(128))
OUTSIDE = struct.pack("<128f", *range(128)) + struct.pack("<128f", *[-20_000] * 128)


@pytest.mark.parametrize(("count", "outcome"), [(1, "agrees"), (2, "not decided")])
def test_a_state_with_indices_outside_the_buffers_is_not_a_start(
    replayed: Replayed, count: int, outcome: str
) -> None:
    body = SCATTER.replace("= 1", f"= {count}")
    replay = replayed(record_by_command_buffer(make_capture(body, OUTSIDE), SCATTERED))
    assert replay.outcome == outcome, replay.verdict
    assert {comparison.start for comparison in replay.comparisons} == {"objects"}
    if count == 2:
        assert replay.verdict.endswith(
            "but the result depends on the earlier contents of out, and the kernel can start from "
            "one recorded state only, of before or after the work."
        )


def test_an_index_of_unwritten_threadgroup_memory_is_a_defect(replayed: Replayed) -> None:
    body = "if (as_type<int>(tile[31 - lane]) == 0) out[int(i) - 20000] = 1; out[i] = 2;"
    replay = replayed(make_capture(body))
    assert replay.outcome is ReplayOutcome.DEFECT
    (written,) = [verdict for verdict in replay.verdicts if verdict.outcome is ProofOutcome.DEFECT]
    assert written.detail == (
        "if threadgroup memory that was never written is zeros: probe.metal: threadgroup (0,0,0): "
        "access of 4 bytes at offset -80000 of buffer 'out' (1024 bytes) by thread 0 at "
        "probe.metal:7:61"
    )


def test_a_difference_decides_nothing_if_another_dispatch_writes_too(replayed: Replayed) -> None:
    made = make_capture()
    made.calls.insert(made.calls.index(TARGET), TARGET)
    replay = replayed(made, WRONG, dispatch=1)
    assert replay.outcome is ReplayOutcome.UNDECIDED
    assert "other dispatches may write the same buffers (0)" in replay.verdict


def test_the_text_of_a_library_made_from_source_is_used(tmp_path: Path) -> None:
    made = make_capture()
    made.packed["5EED"] = write_kernel(BODY + STORE) + b"\0"
    library = call(0xC04F, "CU<b>Ut", DEVICE, "5EED", "5EED", 0, result=("t", LIBRARY))
    compiled = call(0xC04E, "CU<b>t", DEVICE, METALLIB, 0, result=("t", LIBRARY), flags=0x1000)
    assert compiled in made.resources[2]
    made.resources[2] = made.resources[2].replace(compiled, library)
    replay = replay_dispatch(made.write(tmp_path / "made.gputrace"), ReplayChoices())
    assert replay.source == "the capture ((source))"
    assert replay.outcome is ReplayOutcome.AGREES


def double(x: mx.array) -> mx.array:
    """Return 2 x + its length by a kernel of MLX's own form."""
    kernel = mx.fast.metal_kernel(
        name="double",
        input_names=["x"],
        output_names=["out"],
        source="uint i = thread_position_in_grid.x; out[i] = 2 * x[i] + T(x_shape[0]);",
    )
    (out,) = kernel(
        inputs=[x],
        template=[("T", x.dtype)],
        grid=(x.size, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )
    return out


def test_a_kernel_of_mlx_runs_with_bytes_and_bfloat16(tmp_path: Path) -> None:
    values = mx.arange(96).astype(mx.bfloat16)
    (source,) = generated(double, values)
    made = make_capture()
    made.packed["5EED"] = source.text.encode()
    made.packed["B17E5"] = struct.pack("<i", 96)
    made.plain["MTLBuffer-9-0"] = np.array(values.view(mx.uint16)).tobytes()
    made.plain["MTLBuffer-5-0"] = np.array((2 * values + 96).view(mx.uint16)).tobytes()
    function = call(0xC05E, "CS", LIBRARY, source.function, result=("t", FUNCTION), flags=0x1000)
    made.resources[:3] = [
        buffer(OUT, "MTLBuffer-5-0", 192, 0x15_0000_0000, written=True),
        buffer(COUNT, "MTLBuffer-9-0", 192, 0x15_0001_0000),
        group(
            "library",
            LIBRARY,
            call(0xC04F, "CU<b>Ut", DEVICE, "5EED", "5EED", 0, result=("t", LIBRARY)),
            group("function", FUNCTION, function),
        ),
    ]
    first = made.calls.index(call(0xC030, "Ctulul", ENCODER, OUT, 0, 0, stack=(0x10C, 0x200)))
    made.calls[first : first + 2] = [
        call(0xC030, "Ctulul", ENCODER, COUNT, 0, 0),
        call(0xC09D, "CU<b>ulul", ENCODER, "B17E5", 4, 1),
        call(0xC030, "Ctulul", ENCODER, OUT, 0, 2),
    ]
    made.calls[2] = call(0xD800, "CtU<b>ulul", COMMANDS, OUT, "MTLBuffer-5-0", 0, 192, flags=4)
    replay = replay_dispatch(made.write(tmp_path / "made.gputrace"), ReplayChoices())
    assert replay.outcome is ReplayOutcome.AGREES, replay.verdict
    assert replay.function == source.function
    assert (replay.arguments[0].dtype, replay.comparisons[0].equal) == ("bfloat16", 96)


def test_files_of_an_archive_include_each_other(replayed: Replayed) -> None:
    made = small_capture(
        {
            PATH: b'#include "../part.h"\n' + write_kernel(BODY + "out[i] = part(tile, lane);"),
            "/Users/anne/part.h": b"inline float part(threadgroup float* tile, uint lane) {"
            b" return tile[31 - lane]; }\n",
        }
    )
    made.plain["MTLBuffer-5-0"] = RECORDED
    made.calls[made.calls.index(DISPATCH)] = TARGET
    assert replayed(made).outcome is ReplayOutcome.AGREES


@pytest.mark.parametrize(
    "line",
    [
        'extern "C" int system(const char*);',
        'int run(const char*) __asm__("system");',
        'asm("nop");',
    ],
)
def test_a_source_that_reaches_into_the_process_is_not_run(replayed: Replayed, line: str) -> None:
    made = make_capture()
    source = line.encode() + b"\n" + write_kernel(BODY + STORE)
    made.packed[METALLIB] = small_capture({PATH: source}).packed[METALLIB]
    with pytest.raises(
        InputError, match="could call functions of tracekit's process; it was not run"
    ):
        replayed(made)


@pytest.mark.parametrize("name", ["{outside}", "../../../../../../../../../..{outside}"])
def test_a_source_includes_no_file_of_this_machine(
    replayed: Replayed, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside.h"
    outside.write_text("#define SECRET 1\n")
    include = f'#include "{name.format(outside=outside)}"\n'.encode()
    made = make_capture()
    source = include + write_kernel(BODY + STORE)
    made.packed[METALLIB] = small_capture({PATH: source}).packed[METALLIB]
    with pytest.raises(UsageError, match="is included, and not found"):
        replayed(made)


def remove_sources(made: MadeCapture) -> None:
    made.packed[METALLIB] = small_capture().packed[METALLIB]


def bind_again(made: MadeCapture) -> None:
    made.calls.insert(made.calls.index(TARGET), TARGET)


@pytest.mark.parametrize(
    ("change", "number", "error", "words"),
    [
        (remove_sources, None, UsageError, "has no source of its library"),
        (bind_again, None, UsageError, "Several dispatches"),
        (bind_again, 2, UsageError, "No dispatch 2"),
    ],
)
def test_a_missing_source_or_dispatch_is_named(
    replayed: Replayed,
    change: Callable[[MadeCapture], None],
    number: int | None,
    error: type[Exception],
    words: str,
) -> None:
    made = make_capture()
    change(made)
    with pytest.raises(error, match=words):
        replayed(made, dispatch=number)


def test_a_buffer_without_contents_decides_nothing(replayed: Replayed) -> None:
    made = make_capture()
    made.resources.pop(1)
    made.calls.insert(1, call(0xC046, "Culul", DEVICE, 4, 0, result=("t", COUNT)))
    with pytest.raises(InconclusiveError, match="contents of count were not recorded"):
        replayed(made)


def test_the_command_has_exit_codes_and_no_contents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = make_capture().write(tmp_path / "made.gputrace")
    assert run("kernel", "replay", bundle, "--json") == 0
    printed = capsys.readouterr().out
    assert json.loads(printed)["outcome"] == "agrees"
    assert "126" not in printed, "an element of the output"
    wrong = tmp_path / "wrong.metal"
    wrong.write_bytes(write_kernel(WRONG))
    assert run("kernel", "replay", bundle, "--source", wrong) == 4
    captured = capsys.readouterr()
    assert "but one content of out was recorded" in captured.err
    assert "To decide it: --after" in captured.out
    assert run("kernel", "replay", bundle, "--source", wrong, "--after") == 1
    wrong.write_bytes(write_kernel("if (lane > 99) out[i] = 0;"))
    assert run("kernel", "replay", bundle, "--source", wrong) == 4


_REAL = "Lazarus-931+MetalBench"


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "most", "wrong", "groups"),
    [
        ("relu", 0.0, ("fmax(v, 0.0f)", "fmax(v, 0.01f)"), (64, 0)),
        ("matmul_gelu_softmax", 1e-5, ("(1.0f + erfz)", "(1.0f - erfz)"), (256, 240)),
    ],
)
def test_real_captures_agree_and_a_changed_kernel_does_not(
    corpus: Path,
    tmp_path: Path,
    name: str,
    most: float,
    wrong: Sequence[str],
    groups: tuple[int, int],
) -> None:
    bundle = corpus / _REAL / f"{name}.gputrace"
    if not bundle.exists():
        pytest.skip(f"no {bundle.name} in the corpus")
    replay = replay_dispatch(bundle, ReplayChoices(launch=LaunchWords(bound=most)))
    assert replay.outcome is ReplayOutcome.AGREES, replay.verdict
    assert replay.arguments[0].kept_elements == 0
    assert replay.model is not None
    assert (replay.model.groups, replay.model.idle_groups) == groups
    text = (bundle.parent / f"{name}.metal").read_text()
    file = tmp_path / "wrong.metal"
    file.write_text(text.replace(wrong[0], wrong[1]))
    # the captured program had run the kernel before, on the same inputs
    replay = replay_dispatch(bundle, ReplayChoices(source=file, is_after=True))
    assert replay.outcome is ReplayOutcome.DIFFERS, replay.verdict
    replay = replay_dispatch(bundle, ReplayChoices(source=file))
    assert replay.outcome is ReplayOutcome.UNDECIDED, replay.verdict


def halve_buffer(statement: str, x: int, out: int, recorded: bytes) -> MadeCapture:
    """Return a capture of a kernel with `x` and `out` at offsets of one buffer of 256 floats."""
    text = (
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void probe(const device float* x [[buffer(0)]], device float* out [[buffer(1)]],\n"
        f"    uint i [[thread_position_in_grid]]) {{ {statement} }}\n"
    )
    made = make_capture()
    made.packed[METALLIB] = small_capture({PATH: text.encode()}).packed[METALLIB]
    made.plain["MTLBuffer-5-0"] = recorded
    bind_out = call(0xC030, "Ctulul", ENCODER, OUT, 0, 0, stack=(0x10C, 0x200))
    made.calls[made.calls.index(bind_out)] = call(0xC030, "Ctulul", ENCODER, OUT, x, 0)
    bind_count = call(0xC030, "Ctulul", ENCODER, COUNT, 0, 1, stack=(0x10C, 0x200))
    made.calls[made.calls.index(bind_count)] = call(0xC030, "Ctulul", ENCODER, OUT, out, 1)
    made.calls[made.calls.index(TARGET)] = call(
        0xC132, "C@3ul@3ul", ENCODER, (128, 1, 1), (32, 1, 1)
    )
    return made


@pytest.mark.parametrize(
    ("statement", "factor"), [("out[i] = x[i];", 1), ("out[i] = 2 * x[i];", 2)]
)
def test_an_input_behind_an_output_in_one_buffer_stays(
    replayed: Replayed, statement: str, factor: int
) -> None:
    products = [factor * number for number in range(1, 129)]
    recorded = struct.pack("<256f", *products, *range(1, 129))
    replay = replayed(halve_buffer(statement, 512, 0, recorded))
    assert replay.outcome is ReplayOutcome.AGREES, replay.verdict
    (argument,) = replay.arguments
    assert (argument.elements, argument.written, argument.dependent) == (256, 128, 0)
    assert replay.comparisons[0].equal == 128


def test_arguments_of_one_buffer_share_its_memory(replayed: Replayed) -> None:
    # the second half of a buffer becomes twice its first half
    recorded = struct.pack("<256f", *range(128), *range(0, 256, 2))
    replay = replayed(halve_buffer("out[i] = 2 * x[i];", 0, 512, recorded))
    assert replay.outcome is ReplayOutcome.AGREES, replay.verdict
    (argument,) = replay.arguments
    assert (argument.name, argument.elements, argument.written) == ("out", 128, 128)
    assert replay.comparisons[0].equal == 128


def test_a_used_argument_without_a_buffer_is_a_defect(replayed: Replayed) -> None:
    made = make_capture()
    made.calls.remove(call(0xC030, "Ctulul", ENCODER, OUT, 0, 0, stack=(0x10C, 0x200)))
    replay = replayed(made)
    assert replay.outcome is ReplayOutcome.DEFECT
    assert replay.verdict.startswith("Defect, accesses in bounds"), replay.verdict


def test_damage_of_another_part_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = make_capture().write(tmp_path / "made.gputrace")
    stream = bundle / "unsorted-capture"
    damaged = bytearray(stream.read_bytes())
    damaged[8:12] = b"\xff\xff\xff\x7f"
    stream.write_bytes(damaged)
    assert run("kernel", "replay", bundle) == 3
    printed = capsys.readouterr()
    assert "Agrees: 96 of 96" in printed.out
    assert "unsorted-capture" in printed.err
