"""The queue of our own, on a Metal that speaks the documented calls."""

import math
import sys

import pytest

from fake_metal import Error, FakeMetal
from tracekit.base.errors import ToolError
from tracekit.lab.metal_queue import Dispatch, Queue, load_metal

SOURCE = "kernel void scale(device float* x [[buffer(0)]]) { x[0] = 2; }"


def timed(metal: FakeMetal) -> Dispatch:
    queue = Queue(metal)
    bindings = [{0: queue.buffer(b"\0\0\0\0"), 1: queue.buffer(64)}]
    sizes = {"grid": (64, 2, 1), "threadgroup": (32, 1, 1)}
    state = queue.compile(SOURCE, "scale")
    return queue.time("scale", state, bindings, **sizes)


def test_one_buffer_does_not_count_and_five_of_two_hundred_dispatches_do() -> None:
    metal = FakeMetal(times=lambda number: (10.0, 10.0 + (number + 1) * 0.002))
    found = timed(metal)
    assert [len(one.dispatches) for one in metal.committed] == [200] * 6
    # 4, 6, 8, 10, 12 ms of 200 dispatches: what the first buffer took does not count.
    assert [round(one) for one in found.samples] == [20_000, 30_000, 40_000, 50_000, 60_000]
    assert (round(found.minimum), round(found.median)) == (20_000, 40_000)


def test_dispatches_have_their_grid_their_threadgroup_and_their_buffers() -> None:
    metal = FakeMetal()
    timed(metal)
    first = metal.committed[0].dispatches[0]
    assert (first.grid, first.threadgroup) == ((64, 2, 1), (32, 1, 1))
    assert {index: buffer.size for index, buffer in first.bound.items()} == {0: 4, 1: 64}


def test_dispatches_take_sets_of_buffers_in_turns() -> None:
    metal = FakeMetal()
    queue = Queue(metal)
    bindings = [{0: queue.buffer(bytes([number] * 4))} for number in range(3)]
    state, one = queue.compile(SOURCE, "scale"), (1, 1, 1)
    queue.time("scale", state, bindings, grid=one, threadgroup=one)
    taken = [one.bound[0].contents for one in metal.committed[0].dispatches][:5]
    assert taken == [bytes([number] * 4) for number in (0, 1, 2, 0, 1)]


def test_a_pipeline_says_what_limits_its_occupancy() -> None:
    found = timed(FakeMetal(most_threads=640))
    assert (found.execution_width, found.most_threads) == (32, 640)
    assert found.threadgroup_memory == 2176


@pytest.mark.parametrize(
    ("metal", "said"),
    [
        (FakeMetal(has_device=False), "because the system has no Metal device."),
        (FakeMetal(has_queue=False), "because Metal gives no command queue."),
        (
            FakeMetal(compile_error="line 3: error: unknown type name 'flot'"),
            "because Metal cannot compile scale: line 3: error: unknown type name 'flot'.",
        ),
        (
            FakeMetal(pipeline_error="Compiler encountered an internal error."),
            "because Metal makes no pipeline of scale: Compiler encountered an internal error.",
        ),
        (FakeMetal(most_bytes=8), "because Metal gives no buffer of 64 bytes."),
        (FakeMetal(most_threads=16), "because scale may have 16 threads in a threadgroup, not 32."),
        (
            FakeMetal(gpu_error=Error("Caused GPU Timeout Error")),
            "because the GPU did not complete the work: Caused GPU Timeout Error.",
        ),
        (FakeMetal(times=lambda _: (0.0, 0.0)), "because the GPU's clock gave zeros."),
        (FakeMetal(times=lambda _: (5.0, 0.0)), "because the GPU's clock gave zeros."),
        (
            FakeMetal(times=lambda _: (5.0, 4.5)),
            "because the GPU's clock ran from 5.0 to 4.5 s.",
        ),
        (
            FakeMetal(times=lambda _: (5.0, math.nan)),
            "because the GPU's clock ran from 5.0 to nan s.",
        ),
    ],
)
def test_what_cannot_be_had_is_said_with_its_reason(metal: FakeMetal, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        timed(metal)
    assert caught.value.message == f"GPU time is not available, {said}"


@pytest.mark.skipif(sys.platform == "darwin", reason="there is Metal on a Mac")
def test_away_from_a_mac_there_is_no_metal() -> None:
    with pytest.raises(ToolError, match="because there is no Metal on this system"):
        load_metal()


def test_a_mac_without_pyobjc_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "Metal", None)
    with pytest.raises(ToolError, match="PyObjC's Metal cannot be loaded") as caught:
        load_metal()
    assert caught.value.hint == "pip install 'tracekit[metal]'"
