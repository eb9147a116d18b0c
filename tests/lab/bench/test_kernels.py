"""The subjects that are Metal kernels, run on the CPU: what a Mac would measure."""

import shutil

import mlx.core as mx
import pytest

from fake_metal import FakeMetal, microseconds
from tracekit.base.tolerances import BOUNDS
from tracekit.lab.bench.inputs import Cache, Inputs, Launch, Shape
from tracekit.lab.bench.measure import gpu_times
from tracekit.lab.bench.subjects.attention import paged
from tracekit.lab.bench.subjects.layers import fused
from tracekit.lab.msl.emulation import emulation

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to run Metal on the CPU"),
    pytest.mark.usefixtures("compiled_kernels"),
    pytest.mark.emulator,
]
SHAPE = Shape(
    batch=2, q_heads=4, kv_heads=2, head_dim=64, block_size=16, active_blocks=3, rows=3, dims=32,
    out_dims=32, dtype="float16",
)  # fmt: skip


def inputs() -> Inputs:
    return Inputs(SHAPE, Cache(1 << 10, "a test"))


@pytest.mark.parametrize(
    ("choice", "launched", "dispatches"),
    [
        (Launch("grouped"), Launch("grouped", 8, 256, 1), 1),
        (Launch("grouped", 16, 64, 2), Launch("grouped", 16, 64, 2), 2),
        (Launch("per-head"), Launch("per-head", None, 256, 1), 1),
        (Launch("barriers"), Launch("barriers", None, 128, 1), 1),
    ],
)
def test_a_paged_kernel_is_prepared_with_its_launch_and_is_right(
    choice: Launch, launched: Launch, dispatches: int
) -> None:
    there = inputs()
    with emulation() as log:
        made = paged(there, choice, device="metal")
        before = len(log)
        mx.eval(made.chain(2))
        made.step.wait(made.step.submit())
        assert len(log) - before == 3 * dispatches
    assert made.launched == launched
    assert made.step.dispatches == dispatches
    assert made.error <= BOUNDS["float16"]


def test_a_chain_of_kernels_gives_what_a_chain_of_operations_gives() -> None:
    there = inputs()
    with emulation():
        [ours] = paged(there, device="metal").chain(3)
        mx.eval(ours)
    [theirs] = paged(there, device="cpu").chain(3)
    assert mx.allclose(ours, theirs, atol=2e-3)


def test_the_fused_norm_is_prepared_with_its_launch_and_is_right() -> None:
    with emulation():
        made = fused(inputs(), device="metal")
        mx.eval(made.chain(2))
    assert made.error <= BOUNDS["float16"]
    assert made.launched == Launch("rmsnorm_linear")
    ((found,), _) = gpu_times(made, FakeMetal(times=microseconds(25)))
    assert found.function.startswith("custom_kernel_rmsnorm_linear__float16_t_")
