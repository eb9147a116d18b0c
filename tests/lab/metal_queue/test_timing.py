"""From a call of MLX's to GPU time: the kernel's real text on a Metal that computes nothing."""

import mlx.core as mx
import pytest

from fake_metal import Device, FakeMetal, microseconds
from tracekit.base.errors import ToolError
from tracekit.lab.metal_queue import time_kernels
from tracekit.ops.attention.metal import paged_decode, plan
from tracekit.ops.attention.problem import Problem, draw_problem


def problem(seed: int) -> Problem:
    return draw_problem(
        [100, 20], q_heads=4, kv_heads=2, head_dim=64, block_size=16, max_blocks=8,
        dtype=mx.bfloat16, seed=seed,
    )  # fmt: skip


def test_each_kernel_of_a_call_is_timed_alone() -> None:
    metal, drawn = FakeMetal(times=microseconds(30)), problem(0)
    how = plan(drawn, partitions=2)
    timed = time_kernels([lambda: paged_decode(drawn, scale=0.1, how=how)], metal)
    assert [round(one.median) for one in timed] == [30_000, 30_000]
    assert len(metal.committed) == 12
    functions = [one.function for one in timed]
    assert functions[0].startswith("custom_kernel_paged_decode")
    assert functions[1].startswith("custom_kernel_paged_merge")
    for (source, fast), function in zip(metal.compiled, functions, strict=True):
        assert not fast
        assert source.index("struct Limits") < source.index(f"void {function}(")
    decode = metal.committed[0].dispatches[0]
    assert decode.grid == (how.threadgroup * 2, 2, 2)
    assert decode.threadgroup == (how.threadgroup, 1, 1)
    assert sorted(decode.bound) == list(range(10))


def test_a_threadgroup_is_no_larger_than_the_grid() -> None:
    metal = FakeMetal(times=microseconds(30))

    def call() -> None:
        kernel = mx.fast.metal_kernel(
            name="k", input_names=["a"], output_names=["o"], source="o[0] = a[0];"
        )
        sizes = {"grid": (12, 1, 1), "threadgroup": (32, 2, 1)}
        shapes = {"output_shapes": [(12,)], "output_dtypes": [mx.float32]}
        kernel(inputs=[mx.zeros(12)], **sizes, **shapes)

    time_kernels([call], metal)
    assert metal.committed[0].dispatches[0].threadgroup == (12, 1, 1)


@pytest.mark.parametrize("kind", [AttributeError, TypeError, ValueError])
def test_a_call_that_this_pyobjc_takes_otherwise_is_a_reason(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise kind("expected 2 arguments, got 3")

    monkeypatch.setattr(Device, "newBufferWithBytes_length_options_", refuse)
    drawn = problem(0)
    how = plan(drawn, partitions=1)
    with pytest.raises(ToolError, match=r"^GPU time is not available, .*: expected 2 arguments"):
        time_kernels([lambda: paged_decode(drawn, scale=0.1, how=how)], FakeMetal())
