"""What a call of MLX's launches, found out where there is no Metal."""

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.metal_queue import buffers_of, recorded
from tracekit.lab.msl.emulation import Call

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


def test_a_parameter_of_unknown_meaning_is_said(launch: Call) -> None:
    nameless = Call(launch.source, {}, launch.outputs, launch.dtypes)
    with pytest.raises(ToolError, match="not known what the parameter 'a' of custom_kernel_scaled"):
        buffers_of(nameless)
