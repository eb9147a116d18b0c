"""The Metal kernel where there is no Metal: MLX writes its source while it traces an export."""

import os
import re
import sys
import tempfile
from pathlib import Path

import mlx.core as mx
import pytest

from tracekit.attention import Problem, draw_problem, specializations
from tracekit.attention.metal import paged_decode, specialization
from tracekit.errors import UsageError


def _problem(batch: int, head_dim: int = 64, dtype: mx.Dtype = mx.float16) -> Problem:
    return draw_problem(
        [5] * batch,
        q_heads=4,
        kv_heads=2,
        head_dim=head_dim,
        block_size=16,
        max_blocks=1,
        dtype=dtype,
    )


def _source(problem: Problem, folder: Path) -> str:
    """Return what MLX prints, from C++, of the kernel it would compile."""

    def launch(*arrays: mx.array) -> mx.array:
        return paged_decode(Problem(*arrays), scale=0.125, verbose=True)

    pages = (problem.k_pages, problem.v_pages)
    arrays = (problem.q, *pages, problem.block_tables, problem.context_lens)
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            mx.export_function(str(folder / "launch.mlxfn"), launch, *arrays)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return file.read().decode()


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32], ids=str)
@pytest.mark.parametrize("head_dim", [64, 80, 96, 128, 256])
def test_the_kernel_has_the_name_that_is_recorded(
    head_dim: int, dtype: mx.Dtype, tmp_path: Path
) -> None:
    problem = _problem(2, head_dim, dtype)
    source = _source(problem, tmp_path)
    (name,) = re.findall(r"\[\[kernel\]\] void (\w+)\(", source)
    assert name == specialization(problem)
    assert name in specializations()


def test_every_batch_is_one_kernel_with_its_tables_in_device_memory(tmp_path: Path) -> None:
    sources = [_source(_problem(batch), tmp_path) for batch in (1, 7, 8, 9)]
    assert len(set(sources)) == 1
    for name in ("q", "k_pages", "v_pages", "block_tables", "context_lens"):
        assert re.search(rf"const device \w+\* {name} \[\[buffer", sources[0])
    assert "const constant int32_t& max_blocks" in sources[0]
    assert "const constant float& scale" in sources[0]


def test_unpadded_lengths_are_padded(tmp_path: Path) -> None:
    problem = _problem(2)
    short = Problem(
        problem.q,
        problem.k_pages,
        problem.v_pages,
        problem.block_tables,
        problem.context_lens[:2],
    )
    assert _source(short, tmp_path) == _source(problem, tmp_path)


def test_there_is_one_barrier_and_it_stands_behind_the_loop_over_tokens(tmp_path: Path) -> None:
    source = _source(_problem(2), tmp_path)
    assert source.count("threadgroup_barrier(") == 1
    assert source.index("simd_sum(score)") < source.index("threadgroup_barrier(")
    assert "// ---- body ----" not in source


def test_another_head_size_is_another_pipeline() -> None:
    assert specialization(_problem(2, 64)) != specialization(_problem(2, 128))
    assert specialization(_problem(2)) == specialization(_problem(16))


def test_a_head_size_without_a_kernel_is_told() -> None:
    with pytest.raises(UsageError, match="no head size 72; it has 64, 80, 96, 128, 256"):
        paged_decode(_problem(2, 72), scale=1.0)


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_mlx_says_so() -> None:
    with pytest.raises(RuntimeError, match="No Metal back-end"):
        paged_decode(_problem(2), scale=1.0)
