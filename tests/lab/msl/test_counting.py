"""Floating-point operations: of instructions in LLVM's text, and of kernels that run."""

import numpy as np
import pytest

from small_kernels import EMULATED, kernel
from tracekit.lab.msl.counting import COUNTERS, add_counters, compile_counted, count_operations

INSTRUCTIONS = {
    "  %3 = fadd float %1, %2": ("float", 1),
    "  %3 = fmul nnan nsz contract half %1, %2": ("half", 1),
    "  %3 = fdiv <4 x float> %1, %2": ("float", 4),
    "  %9 = tail call float @llvm.fma.f32(float %1, float %2, float %3)": ("float", 2),
    "  %9 = tail call noundef float @expf(float noundef %8)": ("float", 1),
    "  %9 = call <2 x half> @llvm.sqrt.v2f16(<2 x half> %8)": ("half", 2),
    "  %9 = call double @pow(double %7, double %8)": ("float", 1),
    "  %9 = call float @llvm.maxnum.f32(float %7, float 0.0)": ("float", 0),
    "  %9 = call float @llvm.fabs.f32(float %7)": ("float", 0),
    "  %9 = call noundef float @_ZN5metal4halfEf(float %7)": ("float", 0),
    "  %9 = fcmp oeq float %7, %8": ("float", 0),
    "  %9 = fneg float %7": ("float", 0),
    "  %9 = add i32 %7, %8": ("float", 0),
    "  %9 = sitofp i32 %7 to float": ("float", 0),
}


def test_an_instruction_has_a_type_and_a_number_of_operations() -> None:
    counted = {line: count_operations(line) for line in INSTRUCTIONS}
    assert counted == INSTRUCTIONS


def test_a_counter_follows_the_first_instructions_of_its_block() -> None:
    text = """define float @f(float %0) {
  br label %1

1:                                                ; preds = %1, %0
  %2 = phi float [ %0, %0 ], [ %3, %1 ]
  %3 = fmul float %2, %2
  %4 = fadd float %3, %0
  br label %1
}"""
    lines = add_counters(text).split("\n")
    place = lines.index("  %2 = phi float [ %0, %0 ], [ %3, %1 ]")
    assert lines[place + 1].endswith(f"atomicrmw add ptr @{COUNTERS['float']}, i64 2 monotonic")
    assert sum("atomicrmw" in line for line in lines) == 1
    assert "phi" in lines[place]


KERNELS = {
    "a product and a fused sum": ("out[i] = fma(a[i], 3.0f, a[i] * a[i]);", 3),
    "a vector": (
        """float4 v = float4(a[i], a[i ^ 1], a[i ^ 2], a[i ^ 3]);
        v = v * v + 1.0f; out[i] = v.x + v.y + v.z + v.w;""",
        4 + 4 + 3,
    ),
    "a loop of as many rounds as its thread": (
        "float sum = 0; for (uint k = 0; k < i; ++k) sum += a[k]; out[i] = sum;",
        (0 + 63) / 2,
    ),
    "comparisons and conversions": ("out[i] = fmax(a[i], float(i));", 0),
    "an exponential": ("out[i] = exp(a[i]);", 1),
}


@EMULATED
@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("name", KERNELS)
def test_a_launch_counts_the_operations_of_its_threads(name: str) -> None:
    body, each = KERNELS[name]
    program = compile_counted(kernel(body, "const device float* a, device float* out"))
    array = np.ones(64, np.float32)
    for _ in range(2):
        statistics = program.run(
            {"a": array, "out": np.zeros_like(array)}, grid=(64, 1, 1), threadgroup=(32, 1, 1)
        )
        assert statistics.operations == {"half": 0, "float": 64 * each}


@EMULATED
@pytest.mark.usefixtures("clang")
def test_a_product_of_simdgroup_matrices_is_1024_operations() -> None:
    body = """simdgroup_float8x8 x, y, z(0.0f);
    simdgroup_load(x, a, 8);
    simdgroup_load(y, a, 8);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, out, 8);"""
    program = compile_counted(kernel(body, "const device float* a, device float* out"))
    array = np.ones(64, np.float32)
    statistics = program.run(
        {"a": array, "out": np.zeros_like(array)}, grid=(32, 1, 1), threadgroup=(32, 1, 1)
    )
    assert statistics.operations["float"] == 2 * 8 * 8 * 8
