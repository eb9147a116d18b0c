"""Kernels of `kernels/`: their names, their arrays, and machines without Metal."""

import mlx.core as mx
import psutil
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.lab.msl.emulation import emulation
from tracekit.ops.kernels import (
    LEAST_BUFFER,
    KernelSource,
    needing_metal,
    pad_buffer,
    require_memory,
)

MERGE = KernelSource("paged_merge", ("sums", "stats", "partitions"), ("out",))


def test_a_kernel_is_made_once_by_each_factory() -> None:
    own_kernel = MERGE.kernel()
    with emulation():
        assert MERGE.kernel() is not own_kernel
    assert MERGE.kernel() is own_kernel


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3)])
def test_short_arrays_get_as_long_as_device_memory_needs(shape: tuple[int, ...]) -> None:
    array = mx.ones(shape)
    result = pad_buffer(array)
    assert result.shape == (LEAST_BUFFER,)
    assert result[: array.size].tolist() == [1.0] * array.size
    assert result.sum().item() == array.size


def test_only_a_missing_metal_is_reported_as_missing() -> None:
    sentence = "cannot run a Metal kernel here"
    with pytest.raises(ToolError, match=sentence) as caught, needing_metal("Choose no kernel."):
        raise RuntimeError("[metal_kernel] No Metal back-end.")
    assert caught.value.hint == "Choose no kernel."
    with pytest.raises(RuntimeError, match="something else"), needing_metal(""):
        raise RuntimeError("something else")


def test_more_than_there_is_is_refused_with_a_hint() -> None:
    there = psutil.virtual_memory().total
    require_memory(there, "The pool", "Take less.")
    with pytest.raises(UsageError, match=r"The pool takes \d+\.\d GB; this machine has") as caught:
        require_memory(there + 1, "The pool", "Take less.")
    assert caught.value.hint == "Take less."
