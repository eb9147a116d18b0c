"""What lanes tell each other, against what the definition says of 32 numbers."""

import numpy as np
import pytest

from small_kernels import compiled, needs_compiler, one_output
from tracekit.lab.msl.program import Order

pytestmark = [needs_compiler, pytest.mark.usefixtures("compiled_kernels"), pytest.mark.emulator]

LANES = np.arange(32)
A = (LANES * 3 % 7 + 1).astype(np.float32)

CASES = {
    "simd_sum(x)": np.full(32, A.sum()),
    "simd_max(x)": np.full(32, A.max()),
    "simd_min(x)": np.full(32, A.min()),
    "simd_product(simd_min(x) + 1)": np.full(32, 2.0**32),
    "simd_shuffle(x, 5)": np.full(32, A[5]),
    "simd_shuffle_xor(x, 3)": A[LANES ^ 3],
    "simd_shuffle_down(x, 4)": np.concatenate([A[4:], A[-4:]]),
    "simd_shuffle_up(x, 4)": np.concatenate([A[:4], A[:-4]]),
    "simd_shuffle_and_fill_down(x, -x, 4)": np.concatenate([A[4:], -A[:4]]),
    "simd_shuffle_and_fill_up(x, -x, 4)": np.concatenate([-A[-4:], A[:-4]]),
    "simd_shuffle_rotate_down(x, 4)": np.roll(A, -4),
    "simd_shuffle_rotate_up(x, 4)": np.roll(A, 4),
    "simd_broadcast(x, 9)": np.full(32, A[9]),
    "simd_broadcast_first(x)": np.full(32, A[0]),
    "simd_prefix_inclusive_sum(x)": np.cumsum(A),
    "simd_prefix_exclusive_sum(x)": np.cumsum(A) - A,
    "simd_any(x > 6.5)": np.full(32, 1),
    "simd_all(x > 1.5)": np.full(32, 0),
    "popcount(uint64_t(simd_ballot(x > 6.5)))": np.full(32, (A > 6.5).sum()),
    "simd_sum(float4(x, 1, 2, 3)).y": np.full(32, 32),
    "simd_or(lane)": np.full(32, 31),
    "quad_sum(x)": np.repeat(A.reshape(8, 4).sum(1), 4),
    "quad_shuffle_xor(x, 1)": A[LANES ^ 1],
    "quad_broadcast(x, 2)": np.repeat(A.reshape(8, 4)[:, 2], 4),
    "quad_shuffle_up(x, 1)": A[np.where(LANES % 4 >= 1, LANES - 1, LANES)],
}


@pytest.mark.parametrize("order", Order)
def test_every_operation_gives_what_it_is_defined_to_give(order: Order) -> None:
    body = "float x = a[i];\n" + "\n".join(
        f"out[{32 * at} + lane] = {what};" for at, what in enumerate(CASES)
    )
    program = compiled(body, "const device float* a, device float* out")
    out = np.full((len(CASES), 32), np.nan, np.float32)
    sizes = {"grid": (32, 1, 1), "threadgroup": (32, 1, 1)}
    program.run({"a": A, "out": out}, **sizes, order=order, seed=3)
    for row, (what, expected) in zip(out, CASES.items(), strict=True):
        assert np.array_equal(row, expected), what


def test_lanes_that_returned_take_no_part() -> None:
    out = one_output("if (lane >= 7) return; out[i] = simd_sum(a[i]);", A)
    assert out[:7].tolist() == [A[:7].sum()] * 7
    assert np.isnan(out[7:]).all()


def test_a_simdgroup_at_the_edge_has_fewer_lanes() -> None:
    out = one_output("out[i] = simd_sum(a[i]) + simd_shuffle_down(a[i], 1);", A[:5])
    total = A[:5].sum()
    assert out[:4].tolist() == (A[1:5] + total).tolist()
    assert np.isnan(out[4])  # Metal leaves it undefined: the lane is not there
