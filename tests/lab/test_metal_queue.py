"""GPU time by a queue of our own, on a Metal that speaks the documented calls."""

import math
import re
import sys
from unittest.mock import Mock

import mlx.core as mx
import numpy as np
import pytest

from fake_metal import Device, Error, FakeMetal, microseconds
from problems import small_problem
from tracekit.base.errors import ToolError
from tracekit.lab.metal_queue import (
    Dispatch,
    Queue,
    buffers_of,
    load_metal,
    prelude,
    record_calls,
    time_kernels,
)
from tracekit.lab.msl.emulation import Call
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.planning import plan
from tracekit.ops.attention.problem import DecodeProblem

SOURCE = "kernel void scale(device float* x [[buffer(0)]]) { x[0] = 2; }"
BODY = """
    uint i = thread_position_in_grid.x;
    o[i] = a[i] * T(s) + T(b_shape[0]) + T(b_strides[0]) + T(b_ndim) + T(b[0]);
"""


def time_dispatch(metal: FakeMetal) -> Dispatch:
    queue = Queue(metal)
    bindings = [{0: queue.buffer(bytes([number] * 4)), 1: queue.buffer(64)} for number in range(3)]
    sizes = {"grid": (64, 2, 1), "threadgroup": (32, 1, 1)}
    return queue.time("scale", queue.compile(SOURCE, "scale"), bindings, **sizes)


def test_one_buffer_does_not_count_and_five_of_two_hundred_dispatches_do() -> None:
    metal = FakeMetal(times=lambda number: (10.0, 10.0 + (number + 1) * 0.002), most_threads=640)
    timing = time_dispatch(metal)
    assert [len(commands.dispatches) for commands in metal.committed] == [200] * 6
    # 4, 6, 8, 10, 12 ms of 200 dispatches: what the first buffer took does not count.
    assert [round(sample) for sample in timing.samples] == [20_000, 30_000, 40_000, 50_000, 60_000]
    assert (round(timing.minimum), round(timing.median)) == (20_000, 40_000)
    assert (timing.execution_width, timing.most_threads, timing.threadgroup_memory) == (
        32,
        640,
        2176,
    )
    dispatches = metal.committed[0].dispatches
    assert (dispatches[0].grid, dispatches[0].threadgroup) == ((64, 2, 1), (32, 1, 1))
    assert {index: buffer.size for index, buffer in dispatches[0].bound.items()} == {0: 4, 1: 64}
    bound_contents = [dispatch.bound[0].contents for dispatch in dispatches[:5]]
    assert bound_contents == [bytes([number] * 4) for number in (0, 1, 2, 0, 1)]  # in turns


def test_unavailable_functions_give_their_reason(subtests: pytest.Subtests) -> None:
    for options, reason in (
        ({"has_device": False}, "the system has no Metal device."),
        ({"has_queue": False}, "Metal gives no command queue."),
        ({"compile_error": "line 3: error: 'flot'"}, "Metal cannot compile scale: line 3: error: "),
        ({"pipeline_error": "Internal."}, "Metal makes no pipeline of scale: Internal."),
        ({"most_bytes": 8}, "Metal gives no buffer of 64 bytes."),
        ({"most_threads": 31}, "scale may have 31 threads in a threadgroup, not 32."),
        ({"gpu_error": Error("Timeout")}, "the GPU did not complete the work: Timeout."),
        ({"times": lambda _: (0.0, 9.0)}, "the GPU's clock gave zeros."),
        ({"times": lambda _: (5.0, 0.0)}, "the GPU's clock gave zeros."),
        ({"times": lambda _: (5.0, 5.0)}, "the GPU's clock ran from 5.0 to 5.0 s."),
        ({"times": lambda _: (5.0, math.nan)}, "the GPU's clock ran from 5.0 to nan s."),
    ):
        pattern = re.escape(f"GPU time is not available, because {reason}")
        with subtests.test(reason), pytest.raises(ToolError, match=f"^{pattern}"):
            time_dispatch(FakeMetal(**options))


def test_without_metal_or_its_bindings_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "darwin":
        with pytest.raises(ToolError, match="because there is no Metal on this system"):
            load_metal()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "Metal", None)
    with pytest.raises(ToolError, match="PyObjC's Metal cannot be loaded") as caught:
        load_metal()
    assert "--extra metal" in caught.value.hint or "[metal]" in caught.value.hint


def test_the_installed_headers_become_one_text() -> None:
    text = prelude()
    assert '#include "' not in text
    assert "#pragma once" not in text
    for needed in ("struct Limits", "typedef half float16_t", "bfloat16_t", "struct complex_t"):
        assert needed in text, needed
    assert text.index("bfloat16_t;") < text.index("instantiate_float_limit(bfloat16_t)")


def launch_scaled(a: mx.array, *other_inputs: object) -> mx.array:
    names = {"name": "scaled", "input_names": ["a", "b", "s"], "output_names": ["o"]}
    sizes = {"grid": (12, 1, 1), "threadgroup": (32, 2, 1), "template": [("T", a.dtype)]}
    shapes = {"output_shapes": [a.shape], "output_dtypes": [a.dtype]}
    return mx.fast.metal_kernel(source=BODY, **names)(inputs=[a, *other_inputs], **sizes, **shapes)[
        0
    ]


def test_buffers_are_bound_by_the_names_of_parameters() -> None:
    a = mx.arange(12).astype(mx.bfloat16)
    b = mx.arange(60).reshape(3, 4, 5).astype(mx.float32)
    (call,) = record_calls(lambda: launch_scaled(a, b, 1.5))
    assert call.source.function.startswith("custom_kernel_scaled__bfloat16_t")
    assert call.source.grid == (12, 1, 1)
    bound = buffers_of(call)
    a_bits, b_bits, *other_bindings = (bound[index] for index in range(7))
    assert np.frombuffer(a_bits, np.uint16)[1] == 0x3F80  # 1 in bfloat16
    assert np.frombuffer(b_bits, np.float32).tolist() == list(range(60))
    strides = np.array([20, 5, 1], np.int64).tobytes()
    shape, scalar = np.array([3, 4, 5], np.int32).tobytes(), np.float32(1.5).tobytes()
    assert other_bindings == [shape, strides, np.int32(3).tobytes(), scalar, 24]
    nameless = Call(call.source, {}, call.outputs, call.dtypes)
    with pytest.raises(ToolError, match="contents of the parameter 'a' of custom_kernel_scaled"):
        buffers_of(nameless)
    metal = FakeMetal()
    time_kernels([lambda: launch_scaled(a, b, 1.5)], metal)  # no larger than the grid
    assert metal.committed[0].dispatches[0].threadgroup == (12, 1, 1)


@pytest.fixture
def decode() -> DecodeProblem:
    sizes = {"q_heads": 4, "head_dim": 64, "block_size": 16, "max_blocks": 8}
    return small_problem([100, 20], kv_heads=2, dtype=mx.bfloat16, **sizes)


def test_each_kernel_of_a_call_is_timed_alone(decode: DecodeProblem) -> None:
    metal, how = FakeMetal(times=microseconds(30)), plan(decode, partitions=2)
    kernel_times = time_kernels([lambda: paged_decode(decode, scale=0.1, how=how)], metal)
    assert [round(kernel.median) for kernel in kernel_times] == [30_000, 30_000]
    assert len(metal.committed) == 12
    for (source, fast), kernel in zip(metal.compiled, kernel_times, strict=True):
        assert re.match(r"custom_kernel_paged_(decode|merge)__", kernel.function), kernel.function
        limits = source.index("struct Limits")
        assert not fast, kernel.function
        assert limits < source.index(kernel.function), kernel.function
    first_dispatch = metal.committed[0].dispatches[0]
    assert (first_dispatch.grid, first_dispatch.threadgroup) == (
        (how.threadgroup * 2, 2, 2),
        (how.threadgroup, 1, 1),
    )
    assert sorted(first_dispatch.bound) == list(range(10))
    with pytest.raises(ToolError, match="the call launches no kernel"):
        time_kernels([lambda: mx.ones(3)], metal)


def test_a_call_that_this_pyobjc_takes_otherwise_is_a_reason(
    decode: DecodeProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (AttributeError, TypeError, ValueError):
        refuse = Mock(side_effect=kind("2 arguments"))
        monkeypatch.setattr(Device, "newBufferWithBytes_length_options_", refuse)
        with pytest.raises(ToolError, match=r"^GPU time is not available, .*: 2 arguments"):
            time_kernels([lambda: paged_decode(decode, scale=0.1)], FakeMetal())
