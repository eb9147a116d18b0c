"""What a call of MLX's launches, found out where there is no Metal."""

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.metal_queue import buffers_of, recorded
from tracekit.lab.msl.emulation import Call
from tracekit.ops.attention.metal import paged_decode, plan
from tracekit.ops.attention.problem import draw_problem

BODY = """
    uint i = thread_position_in_grid.x;
    o[i] = a[i] * T(s) + T(b_shape[0]) + T(b_strides[0]) + T(b_ndim) + T(b[0]);
"""


def scaled(a: mx.array, b: mx.array) -> mx.array:
    kernel = mx.fast.metal_kernel(
        name="scaled", input_names=["a", "b", "s"], output_names=["o"], source=BODY
    )
    (out,) = kernel(
        inputs=[a, b, 1.5],
        template=[("T", a.dtype)],
        grid=(12, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[a.shape],
        output_dtypes=[a.dtype],
    )
    return out


@pytest.fixture
def launch() -> Call:
    a = mx.arange(12).astype(mx.bfloat16)
    b = mx.arange(60).reshape(3, 4, 5).astype(mx.float32)
    (found,) = recorded(lambda: scaled(a, b))
    return found


def test_a_call_has_its_text_and_its_grid(launch: Call) -> None:
    assert launch.source.function.startswith("custom_kernel_scaled__bfloat16_t")
    assert "template [[host_name(" in launch.source.text
    assert launch.source.grid == (12, 1, 1)
    assert launch.source.threadgroup == (32, 1, 1)


def test_buffers_are_bound_by_the_names_of_parameters(launch: Call) -> None:
    found = buffers_of(launch)
    a, b, shape, strides, ndim, scalar, out = (found[index] for index in range(7))
    assert isinstance(a, bytes)
    assert np.frombuffer(a, np.uint16)[1] == 0x3F80  # 1 in bfloat16
    assert isinstance(b, bytes)
    assert np.frombuffer(b, np.float32).tolist() == list(range(60))
    assert shape == np.array([3, 4, 5], np.int32).tobytes()
    assert strides == np.array([20, 5, 1], np.int64).tobytes()
    assert ndim == np.int32(3).tobytes()
    assert scalar == np.float32(1.5).tobytes()
    assert out == 24


def test_an_array_that_is_no_row_after_row_is_copied_as_mlx_does() -> None:
    b = mx.arange(6).reshape(2, 3).astype(mx.float32).T
    (found,) = recorded(lambda: scaled(mx.zeros(12), b))
    assert buffers_of(found)[1] == np.array([0, 3, 1, 4, 2, 5], np.float32).tobytes()


def test_a_paged_call_in_parts_is_two_launches_in_order() -> None:
    problem = draw_problem(
        [100, 20], q_heads=4, kv_heads=2, head_dim=64, block_size=16, max_blocks=8,
        dtype=mx.float16,
    )  # fmt: skip
    how = plan(problem, partitions=2)
    decode, merge = recorded(lambda: paged_decode(problem, scale=0.1, how=how))
    assert (decode.source.name, merge.source.name) == ("paged_decode", "paged_merge")
    assert decode.source.grid == (how.threadgroup * 2, 2, 2)
    contents = buffers_of(decode)
    assert contents[3] == np.array(problem.block_tables).tobytes()
    assert contents[4] == np.array([100, 20, 0, 0, 0, 0, 0, 0], np.int32).tobytes()
    # The sums of both parts, four heads and two sequences, in float32.
    assert decode.outputs["sums"].nbytes == 2 * 2 * 4 * 64 * 4
    assert merge.outputs["out"].nbytes == 2 * 4 * 64 * 2


def test_a_parameter_of_unknown_meaning_is_said(launch: Call) -> None:
    nameless = Call(launch.source, {}, launch.outputs, launch.dtypes)
    with pytest.raises(ToolError, match="not known what the parameter 'a' of custom_kernel_scaled"):
        buffers_of(nameless)
