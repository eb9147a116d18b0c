"""Matrices of one thread, and those of 8 x 8 that a simdgroup holds together."""

import numpy as np
import pytest

from small_kernels import compiled, needs_compiler, one_output, run
from tracekit.base.errors import KernelError
from tracekit.lab.msl.program import Order

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

BOTH = pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
TWO = "const device float* a, const device float* b, device float* out"
DRAW = np.random.default_rng(0)


@BOTH
@pytest.mark.parametrize("order", Order)
def test_simdgroup_matrices_multiply_and_add(checked: bool, order: Order) -> None:
    body = """
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.5f);
    simdgroup_load(x, a, 16, ulong2(8, 0)); simdgroup_load(y, b, 8, ulong2(0, 0), true);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, out, 8);"""
    a, b = DRAW.normal(size=(8, 16)).astype(np.float32), DRAW.normal(size=(8, 8)).astype(np.float32)
    out = np.full((8, 8), np.nan, np.float32)
    buffers = {"a": a, "b": b, "out": out}
    statistics = run(body, TWO, buffers, threads=32, checked=checked, order=order)
    assert np.abs(out - (a[:, 8:].astype(float) @ b.T + 0.5)).max() < 1e-5
    assert statistics.simd_operations == 4  # two loads, a product, a store
    if checked:
        assert statistics.traffic["a"].loaded == statistics.traffic["out"].stored == 256


def test_lanes_hold_two_neighbours_of_a_row() -> None:
    """The layout that MLX's kernels depend on: lanes 0 ... 3 begin rows 0 and 1."""
    body = """
    simdgroup_matrix<float, 8, 8> m;
    simdgroup_load(m, a);
    float2 own = m.thread_elements();
    out[2 * lane] = own[0]; out[2 * lane + 1] = own[1];
    m.thread_elements()[0] = 0;"""
    held = one_output(body, np.arange(64, dtype=np.float32), threads=32).reshape(32, 2)
    assert held[:5].tolist() == [[0, 1], [2, 3], [8, 9], [10, 11], [16, 17]]
    assert held[8].tolist() == [4, 5]
    assert held[16].tolist() == [32, 33]
    assert sorted(held.reshape(-1)) == list(range(64))


def test_a_load_beside_a_buffer_is_told_with_its_place() -> None:
    program = compiled(
        "simdgroup_float8x8 m; simdgroup_load(m, a, 8); simdgroup_store(m, out, 8);",
        "const device float* a, device float* out",
        checked=True,
    )
    buffers = {"a": np.zeros(56, np.float32), "out": np.zeros(64, np.float32)}
    with pytest.raises(KernelError, match=r"offset 224 of buffer 'a' \(224 bytes\)(.|\n)*:7:"):
        program.run(buffers, grid=(32, 1, 1), threadgroup=(32, 1, 1))
