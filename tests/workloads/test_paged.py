import subprocess
import sys
from functools import partial

import mlx.core as mx
import pytest

from prepared_steps import DECODE, prepared
from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import emulation
from tracekit.workload.workload import measured

prepare = partial(prepared, "paged", **DECODE)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_it_steps_and_knows_its_error(dtype: str) -> None:
    step = prepare(dtype=dtype)
    out = step.submit()
    step.wait(out)
    assert out.shape == (2, 4, 64)
    assert out.dtype == getattr(mx, dtype)
    assert 0 < step.results["max_error"] < {"float32": 1e-5}.get(dtype, 0.03)


def test_it_states_what_a_step_does() -> None:
    step = prepare()
    assert step.tokens == 2
    # 2 sequences of 16 tokens, K and V of 2 heads of 64 halves; queries; tables of 2 pages
    assert step.bytes_unique == 2 * (16 * 2 * 2 * 64 * 2 + 4 * 64 * 2 + 2 * 4 + 4)
    assert step.bytes_written == 2 * 4 * 64 * 2
    assert step.flops == 4 * 4 * 64 * 32


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_nothing_is_claimed_of_dispatches() -> None:
    step = prepare()
    assert (step.backend, step.dispatches) == ("cpu", None)
    assert step.bytes_read == step.bytes_unique


def test_ragged_lengths_are_drawn_by_the_seed() -> None:
    full = prepare()
    ragged = [prepare(ragged=True, seed=seed).flops for seed in (1, 1, 2)]
    assert ragged[0] == ragged[1] != ragged[2]
    assert max(ragged) < full.flops


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_a_kernel_that_cannot_run_here_is_refused() -> None:
    with pytest.raises(ToolError, match="MLX cannot run a Metal kernel here"):
        prepare(kernel="grouped")
    assert "no Metal" in measured(prepare().results)["specializations"].reason


@pytest.mark.usefixtures("compiled_kernels")
def test_every_specialization_of_the_model_is_made_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The Metal source, run on this CPU."""
    monkeypatch.setattr("tracekit.ops.BLOCK_SIZES", ())
    with emulation():
        step = prepare(kernel="grouped", block_size=16, max_blocks=4, dtype="float32")
        made = step.specializations()
        out = step.submit()
        step.wait(out)
    assert measured(step.results)["specializations"].value == 3  # two tiles, and the merge
    assert step.specializations() == made
    assert sum("paged_decode__float_64_16" in name for name in made) >= 2
    assert step.dispatches == 1
    # 2 q heads share a row of K and V, which this kernel loads once for both
    assert step.bytes_read == step.bytes_unique
    assert (measured(step.results)["max_error"].value or 1) < 1e-5


@pytest.mark.usefixtures("compiled_kernels")
def test_a_kernel_a_head_reads_every_row_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.ops.BLOCK_SIZES", ())
    with emulation():
        step = prepare(kernel="barriers", dtype="float32")
    row = 2 * 2 * 64 * 4
    assert step.bytes_read - step.bytes_unique == 2 * 16 * row


def test_listing_it_loads_no_mlx() -> None:
    code = (
        "import sys; from tracekit.workload.workload import find; "
        "find('paged'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "mlx.core" not in done.stdout.split()
