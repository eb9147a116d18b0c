"""The CUDA text that bench/cuda makes of the kernels; what runs it needs an NVIDIA GPU."""

import re
import shutil
import subprocess
from pathlib import Path

import mlx.core as mx
import pytest

from cuda.translate import Translated, translate
from tracekit.lab.msl.emulation import generated
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.planning import DecodePlan, Kernel, plan
from tracekit.ops.attention.problem import DecodeProblem, draw_problem
from tracekit.ops.norm import NormProblem, fused_kernel

BENCH = Path(__file__).parents[2] / "bench"


def _translate_kernel(
    kernel: Kernel, partitions: int | None = None
) -> tuple[DecodePlan, list[Translated]]:
    problem = draw_problem(
        [5], q_heads=4, kv_heads=2, head_dim=80, block_size=16, max_blocks=1, dtype=mx.bfloat16
    )
    how = plan(problem, kernel=kernel, partitions=partitions)

    def call(*arrays: mx.array) -> mx.array:
        return paged_decode(DecodeProblem(*arrays), scale=1.0, how=how)

    pages = (problem.k_pages, problem.v_pages)
    arrays = (problem.q, *pages, problem.block_tables, problem.context_lens)
    return how, [translate(source) for source in generated(call, *arrays)]


@pytest.mark.parametrize("kernel", ["grouped", "per-head", "barriers"])
def test_no_word_of_metal_is_left(kernel: Kernel) -> None:
    how, (decode,) = _translate_kernel(kernel, None if kernel != "grouped" else 1)
    assert not re.search(r"\[\[|\bdevice\b|\bthread\b|\bconstant\b|host_name", decode.text)
    assert not re.search(r"^\s*threadgroup ", decode.text, re.MULTILINE)
    resident = {64: 8, 128: 4, 256: 2, 512: 1}[how.threadgroup]
    bounds = f"__launch_bounds__({how.threadgroup}, {resident})"
    assert f"{bounds} entry_{decode.entry}(" in decode.text
    assert decode.text.count("__shared__") == {"grouped": 3, "per-head": 3, "barriers": 1}[kernel]


def _norm(dims: int) -> Translated:
    arrays = [mx.zeros(shape, mx.float16) for shape in ((3, dims), (dims,), (20, dims))]
    (kernel,) = generated(lambda *given: fused_kernel(NormProblem(*given)), *arrays)
    return translate(kernel)


def test_the_norm_is_translated_as_well() -> None:
    assert _norm(64).arguments == ("x", "gain", "weight", "rows", "dims", "outputs", "eps", "out")
    assert _norm(64).text.count("__shared__") == 2


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_takes_the_text(tmp_path: Path) -> None:
    texts = [
        translation.text
        for kernel in ("per-head", "barriers")
        for translation in _translate_kernel(kernel)[1]
    ]
    texts += [translation.text for translation in _translate_kernel("grouped", 2)[1]]
    texts += [_norm(dims).text for dims in (64, 33)]  # loads of four elements, and of one
    source = tmp_path / "kernels.cu"
    source.write_text("\n".join(['#include "metal.cuh"', *texts]))
    argv = ["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", "-I", str(BENCH / "cuda"), str(source)]
    subprocess.run([*argv, "-o", str(tmp_path / "kernels.cubin")], check=True)
    assert (tmp_path / "kernels.cubin").stat().st_size > 1000
