"""The flow of handles: each kind of call, and creators that nobody knows."""

from capture_writer import COMMANDS, ENCODER, PIPELINE, QUEUE, call, stream
from tracekit.tables.captures.commands import Commands, follow_commands
from tracekit.tables.captures.records import read_stream

BUFFER = 0x7_0000_8000
BEGIN = (
    call(0xC029, "C", QUEUE, result=("t", COMMANDS)),
    call(0xC020, "C", COMMANDS, result=("t", ENCODER)),
    call(0xC02F, "Ct", ENCODER, PIPELINE),
)
DISPATCH = call(0xC132, "C@3ul@3ul", ENCODER, (64, 1, 1), (32, 1, 1))


def follow(*records: bytes) -> Commands:
    return follow_commands(read_stream(stream(records)).records)


def test_a_dispatch_has_the_state_of_its_encoder_at_its_time() -> None:
    commands = follow(
        *BEGIN,
        call(0xC030, "Ctulul", ENCODER, BUFFER, 16, 0),
        DISPATCH,
        call(0xC030, "Ctulul", ENCODER, BUFFER, 32, 0),
        call(0xC02F, "Ct", ENCODER, PIPELINE + 8),
        DISPATCH,
    )
    first, second = commands.dispatches
    assert (first.pipeline, first.buffers[0].offset) == (PIPELINE, 16)
    assert (second.pipeline, second.buffers[0].offset) == (PIPELINE + 8, 32)
    assert [dispatch.function_number for dispatch in commands.dispatches] == [4, 7]


def test_sizes_of_a_grid_in_threads() -> None:
    for threads, size, groups, partial in (
        ((64, 1, 1), (32, 1, 1), (2, 1, 1), 0),
        ((65, 1, 1), (32, 1, 1), (3, 1, 1), 1),
        ((10, 10, 1), (4, 4, 1), (3, 3, 1), 5),
        ((5, 1, 1), (8, 1, 1), (1, 1, 1), 1),
        ((0, 1, 1), (8, 1, 1), (0, 1, 1), 0),
        ((8, 1, 1), (0, 1, 1), (0, 1, 1), 0),
    ):
        commands = follow(*BEGIN, call(0xC132, "C@3ul@3ul", ENCODER, threads, size))
        (dispatch,) = commands.dispatches
        assert dispatch.groups == groups, (threads, size)
        assert dispatch.partial_group_count == partial, (threads, size)


def test_sizes_of_a_grid_in_threadgroups() -> None:
    (dispatch,) = follow(
        *BEGIN, call(0xC039, "C@3ul@3ul", ENCODER, (4, 2, 1), (32, 8, 1))
    ).dispatches
    assert dispatch.groups == (4, 2, 1)
    assert dispatch.threads == (128, 16, 1)
    assert dispatch.partial_group_count == 0


def test_threadgroup_memory_and_bytes_are_bound() -> None:
    (dispatch,) = follow(
        *BEGIN,
        call(0xC038, "Culul", ENCODER, 2048, 0),
        call(0xC038, "Culul", ENCODER, 512, 1),
        call(0xC09D, "CU<b>ulul", ENCODER, "00FF", 4, 3),
        call(0xC032, "Ctul", ENCODER, 0x77, 1),
        DISPATCH,
    ).dispatches
    assert dispatch.threadgroup_memory == {0: 2048, 1: 512}
    assert dispatch.textures == {1: 0x77}
    assert dispatch.buffers[3].content == "00FF"
    assert dispatch.buffers[3].length == 4


def test_labels_and_debug_groups_are_kept() -> None:
    commands = follow(
        BEGIN[0],
        call(0xC013, "CS", COMMANDS, "decode step"),
        BEGIN[1],
        call(0xC02D, "CS", ENCODER, "attention"),
        call(0xC08C, "CS", ENCODER, "layer 0"),
        BEGIN[2],
        call(0xC08C, "CS", ENCODER, "scores"),
        DISPATCH,
        call(0xC08D, "C", ENCODER),
        DISPATCH,
        call(0xC08D, "C", ENCODER),
        DISPATCH,
    )
    assert commands.command_buffers[0].label == "decode step"
    assert commands.encoders[0].label == "attention"
    groups = [dispatch.debug_group for dispatch in commands.dispatches]
    assert groups == ["layer 0 / scores", "layer 0", ""]


def test_barriers_and_fences_are_counted() -> None:
    commands = follow(
        *BEGIN[:2],
        call(0xC0FF, "Ct", ENCODER, 0x99),
        BEGIN[2],
        DISPATCH,
        call(0xC177, "Cul", ENCODER, 1),
        call(0xC178, "Cul", ENCODER, 1),
        DISPATCH,
        call(0xC0FE, "Ct", ENCODER, 0x99),
    )
    (encoder,) = commands.encoders
    assert (encoder.barriers, encoder.fence_waits, encoder.fence_updates) == (2, 1, 1)
    assert [dispatch.barriers for dispatch in commands.dispatches] == [0, 2]


def test_command_buffers_may_have_the_same_handle() -> None:
    begin = (call(0xD80B, "CUUU", COMMANDS, "A", "B", "C"), *BEGIN)
    commands = follow(*begin, DISPATCH, call(0xC017, "C", COMMANDS), *begin, DISPATCH, DISPATCH)
    assert [(item.number, item.queue) for item in commands.command_buffers] == [
        (0, QUEUE),
        (1, QUEUE),
    ]
    numbers = [
        (item.encoder.number, item.encoder.command_buffer.number)
        for item in commands.dispatches
        if item.encoder.command_buffer is not None
    ]
    assert numbers == [(0, 0), (1, 1), (1, 1)]
    assert [item.is_committed for item in commands.command_buffers] == [True, False]


def test_an_encoder_of_an_unknown_creator_is_found() -> None:
    commands = follow(
        BEGIN[0],
        call(0xC7AB, "Cul", COMMANDS, 1, result=("t", ENCODER)),
        BEGIN[2],
        DISPATCH,
    )
    (encoder,) = commands.encoders
    assert encoder.is_compute
    assert encoder.dispatch_type == "concurrent"
    assert encoder.command_buffer is commands.command_buffers[0]
    assert not commands.unread, "the call that made it binds nothing"


def test_an_encoder_that_nothing_made_is_found() -> None:
    commands = follow(BEGIN[2], DISPATCH)
    (encoder,) = commands.encoders
    assert encoder.command_buffer is None
    assert len(commands.dispatches) == 1


def test_calls_that_may_bind_something_and_are_not_read_are_counted() -> None:
    commands = follow(
        *BEGIN,
        call(0xC031, "Cul", ENCODER, 3),
        call(0xC7AC, "Cul", ENCODER, 3),
        call(0xC09D, "Cul", ENCODER, 3),
        call(0xC132, "Cul", ENCODER, 3),
    )
    assert commands.unread == {
        "setBuffers:offsets:withRange:": 1,
        "call -14420 (Cul)": 1,
        "setBytes:length:atIndex:": 1,
        "dispatchThreads:threadsPerThreadgroup:": 1,
    }
    assert commands.dispatches == []
