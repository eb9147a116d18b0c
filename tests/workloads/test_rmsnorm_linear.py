from functools import partial

import mlx.core as mx
import pytest

from prepared_steps import prepared
from tracekit.base.errors import ToolError
from tracekit.workload.workload import Step

prepare = partial(prepared, "rmsnorm-linear", rows=3, dims=96, out_dims=40)
NO_METAL = pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")


def turn(step: Step) -> str:
    """Make one step; return its variant."""
    step.wait(step.submit())
    assert step.tell is not None
    return step.tell().variant


@pytest.mark.processes
@NO_METAL
def test_variants_take_turns_so_that_drift_is_shared() -> None:
    step = prepare()
    assert [turn(step) for _ in range(5)] == [
        *("compiled", "separate", "separate", "compiled"),
        "compiled",
    ]
    other = prepare(order="abab")
    assert [turn(other) for _ in range(4)] == ["compiled", "separate"] * 2


@NO_METAL
def test_the_speed_up_is_that_of_pairs_of_the_steady_phase_alone() -> None:
    step = prepare()
    for _ in range(9):
        turn(step)
    step.begin()
    for _ in range(25):
        turn(step)
    found = step.finish()
    assert found["pairs"].value == 12
    low, middle, high = (found[f"speedup{end}"].value for end in ("_low_95", "", "_high_95"))
    assert 0 < low <= middle <= high


@NO_METAL
def test_without_metal_the_fused_kernel_is_not_said_to_have_run() -> None:
    step = prepare()
    assert step.backend == "cpu"
    assert set(step.variants) == {"separate", "compiled"}
    fused = step.results["fused_speedup"]
    assert fused.value is None
    assert "the fused kernel needs Metal" in fused.reason
    assert all(one.dispatches is None for one in step.variants.values())


def test_it_states_what_a_step_of_each_variant_does() -> None:
    separate = prepare(dtype="float16").variants["separate"]
    # x twice, for the normalised rows are read as x was, a gain, the weight; 2 bytes each
    assert separate.bytes_unique == 2 * (2 * 3 * 96 + 96 + 40 * 96)
    assert separate.bytes_written == 2 * (3 * 96 + 3 * 40)
    assert separate.flops == 2 * 3 * 96 * 40 + 4 * 3 * 96
    assert separate.tokens == 3


@pytest.mark.processes
@pytest.mark.parametrize(
    ("dtype", "most"), [("float32", 1e-5), ("float16", 2e-3), ("bfloat16", 2e-2)]
)
def test_both_variants_know_their_error(dtype: str, most: float) -> None:
    results = prepare(dtype=dtype).results
    errors = [value for name, value in results.items() if name.startswith("max_error")]
    assert len(errors) == 2
    assert all(0 < error < most for error in errors)


def test_a_wrong_result_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mx.fast.rms_norm
    monkeypatch.setattr(mx.fast, "rms_norm", lambda *arrays: right(*arrays) * 1.01)
    with pytest.raises(ToolError, match="The result of separate is off by 0") as caught:
        prepare(dtype="float32")
    assert "not measured" in caught.value.hint
