"""Prewarming, with kernels run on this CPU in place of Metal."""

import mlx.core as mx
import pytest

from small_kernels import needs_compiler
from tracekit.lab.msl.emulation import emulation
from tracekit.ops.attention.metal import plan, prewarm
from tracekit.ops.attention.paged import attend
from tracekit.ops.attention.problem import draw_problem
from tracekit.ops.kernels import specializations

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

MODEL = {"q_heads": 4, "kv_heads": 2, "head_dim": 64}


def test_after_prewarming_the_hot_path_makes_no_kernel() -> None:
    with emulation() as log:
        names = prewarm(**MODEL, dtype=mx.float16, block_sizes=[16], hd_tiles=[8])
        made = specializations()
        assert {one.kernel.function for one in log} == names
        for lens in ([3], [16, 1], [5] * 9):
            problem = draw_problem(lens, **MODEL, block_size=16, max_blocks=1, dtype=mx.float16)
            for partitions in (1, 2, 3):
                how = plan(problem, partitions=partitions)
                out = attend(problem, scale=0.125, how=how)
                assert out.shape == problem.q.shape
    assert specializations() == made
    assert {one.kernel.function for one in log} == names


def test_kernels_without_tiles_have_one_specialization_for_a_block_size() -> None:
    with emulation():
        names = prewarm(**MODEL, dtype=mx.float16, block_sizes=[16], kernel="barriers")
    assert [name.startswith("custom_kernel_paged_decode_barriers__") for name in names] == [True]


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_there_is_nothing_to_compile() -> None:
    assert prewarm(**MODEL, dtype=mx.float16) == frozenset()
