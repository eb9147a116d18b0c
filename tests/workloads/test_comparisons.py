"""The workloads that compare: `paged-vs-sdpa` and `flash`."""

from typing import Any

import mlx.core as mx
import pytest

from prepared_steps import DECODE
from prepared_steps import prepared as prepare
from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import emulation
from tracekit.ops.attention.dense import DenseProblem
from tracekit.workload.workload import Step, measured

PREFILL = {"batch": 2, "seq": 24, "q_heads": 4, "kv_heads": 2, "head_dim": 16}
ROW, OUT = 2 * 2 * 64 * 2, 2 * 4 * 64 * 2


def results(step: Step) -> dict[str, float | None]:
    return {name: one.value for name, one in measured(step.results).items()}


def run(step: Step, steps: int) -> list[str]:
    assert step.tell is not None
    step.begin()
    told = []
    for _ in range(steps):
        step.wait(step.submit())
        told.append(step.tell().variant)
    return told


@pytest.mark.parametrize("against", ["sdpa", "gather-sdpa", "naive"])
@pytest.mark.parametrize("ragged", [False, True])
def test_paged_and_its_rival_agree_before_they_are_timed(against: str, ragged: bool) -> None:
    step = prepare("paged-vs-sdpa", **DECODE, against=against, ragged=ragged, dtype="float32")
    known = results(step)
    assert 0 < (known["max_error_paged"] or 0) < 1e-5
    assert 0 < (known[f"max_error_{against}"] or 0) < 1e-5
    assert (known["max_difference"] or 0) < 1e-5
    assert run(step, 5) == ["paged", against, against, "paged", "paged"]
    assert run(prepare("paged-vs-sdpa", **DECODE, order="abab"), 4) == ["paged", "sdpa"] * 2


def test_variants_say_what_each_of_them_does() -> None:
    flops = 4 * 4 * 64 * 32
    paged = 32 * ROW + OUT + 2 * (2 * 4 + 4)
    moved = {}
    for against in ("sdpa", "gather-sdpa", "naive"):
        works = prepare("paged-vs-sdpa", **DECODE, against=against).variants
        assert [one.tokens for one in works.values()] == [2, 2]
        assert [one.flops for one in works.values()] == [flops, flops]
        assert works["paged"].bytes_unique == paged
        moved[against] = (works[against].bytes_unique, works[against].bytes_written)
    dense = 32 * ROW + OUT
    scores = 4 * 2 * 4 * 16
    assert moved == {
        "sdpa": (dense, OUT),
        "gather-sdpa": (dense + 32 * ROW + 4 * 4, OUT + 32 * ROW),
        "naive": (dense + scores, OUT + scores),
    }


@pytest.mark.usefixtures("compiled_kernels")
def test_a_kernel_is_compared_in_place_of_mlx_ops() -> None:
    with emulation() as log:
        step = prepare("paged-vs-sdpa", **DECODE, kernel="grouped", dtype="float32")
        assert run(step, 2) == ["paged", "sdpa"]
    assert {launch.kernel.file for launch in log} == {"paged_decode.metal"}
    assert len(step.specializations()) >= 1
    assert 0 < (results(step)["max_error_paged"] or 0) < 1e-5
    if not mx.metal.is_available():
        with pytest.raises(ToolError, match="cannot run a Metal kernel here"):
            prepare("paged-vs-sdpa", **DECODE, kernel="grouped")


def test_after_the_steady_phase_it_says_how_much_faster_paged_is() -> None:
    step = prepare("paged-vs-sdpa", **DECODE)
    assert len(run(step, 13)) == 13
    said = measured(step.finish())
    assert said["pairs"].value == 6
    low, middle, high = (
        said[name].value for name in ("speedup_low_95", "speedup", "speedup_high_95")
    )
    assert low is not None
    assert middle is not None
    assert high is not None
    assert 0 < low <= middle <= high
    assert said["step_time_sdpa"].unit == "ns"


def test_a_wrong_result_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mx.fast.scaled_dot_product_attention

    def wrong(*arguments: Any, **options: Any) -> mx.array:
        return right(*arguments, **options) + 0.25

    monkeypatch.setattr(mx.fast, "scaled_dot_product_attention", wrong)
    with pytest.raises(ToolError, match=r"The result of \S+ is off by"):
        prepare("paged-vs-sdpa", **DECODE)
    with pytest.raises(ToolError, match="The result of flash is off by"):
        prepare("flash", **PREFILL)
    with pytest.raises(ToolError, match="Dense attention is off"):
        prepare("sdpa", **DECODE)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("layout", ["BHSD", "BSHD"])
def test_flash_and_naive_agree_in_either_layout(causal: bool, layout: str) -> None:
    step = prepare("flash", **PREFILL, causal=causal, layout=layout, dtype="float32")
    known = results(step)
    assert 0 < (known["max_error_flash"] or 0) < 1e-5
    assert 0 < (known["max_error_naive"] or 0) < 1e-5
    assert run(step, 4) == ["flash", "naive", "naive", "flash"]


def test_flash_states_the_scores_that_it_spares() -> None:
    step = prepare("flash", **PREFILL)
    scores = 4 * 2 * 4 * 24 * 24
    fast, naive = step.variants["flash"], step.variants["naive"]
    assert results(step)["scores"] == scores
    assert naive.bytes_written - fast.bytes_written == scores
    assert naive.bytes_read - fast.bytes_read == scores
    # 24 queries see 1, 2 … 24 keys
    assert fast.flops == naive.flops == 4 * 4 * 16 * 2 * (24 * 25 // 2)
    assert fast.tokens == 48
    wide = prepare("flash", **PREFILL, causal=False).variants["flash"]
    assert wide.flops == 4 * 4 * 16 * 2 * 24 * 24


def test_naive_attention_really_holds_its_scores() -> None:
    known = results(prepare("flash", **{**PREFILL, "seq": 128, "kv_heads": 4}))
    peak, scores = known["peak_memory_naive"], known["scores"]
    assert peak is not None
    assert scores is not None
    assert peak >= scores


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_on_a_cpu_nothing_is_fused_and_it_says_so() -> None:
    assert results(prepare("flash", **PREFILL))["fused"] == 0
    arrays = mx.zeros((1, 1, 1, 64))
    with pytest.raises(ValueError, match="fused"):
        mx.fast.scaled_dot_product_attention(arrays, arrays, arrays, scale=1.0, force_fused=True)


def test_a_dense_copy_holds_what_the_pages_hold() -> None:
    from problems import small_problem  # noqa: PLC0415
    from tracekit.ops.attention.dense import dense_problem  # noqa: PLC0415

    pages = small_problem([8], q_heads=1, head_dim=2, max_blocks=2)
    dense: DenseProblem = dense_problem(pages, [8])
    first = pages.block_tables[0, 0].item()
    assert dense.keys[0, 0, :4].tolist() == pages.k_pages[first, :, 0].tolist()
