"""The workloads that attend or normalise: what a step does, how right it is, who is compared."""

import subprocess
import sys
from functools import partial
from typing import Any

import mlx.core as mx
import pytest

from prepared_steps import DECODE
from prepared_steps import prepare_step as prepare
from small_kernels import needs_emulation
from tracekit.base.errors import ToolError, UsageError
from tracekit.base.tolerances import BOUNDS
from tracekit.lab.msl.emulation import emulation
from tracekit.workload.workload import Step, normalize_results

PREFILL = {"batch": 2, "seq": 24, "q_heads": 4, "kv_heads": 2, "head_dim": 16}
ROW, OUT = 2 * 2 * 64 * 2, 2 * 4 * 64 * 2  # K and V of a token, 2 heads of 64 halves; a result
on_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
paged, sdpa = partial(prepare, "paged", **DECODE), partial(prepare, "sdpa", **DECODE)
versus = partial(prepare, "paged-vs-sdpa", **DECODE)
flash = partial(prepare, "flash", **PREFILL)
norm = partial(prepare, "rmsnorm-linear", rows=3, dims=96, out_dims=40)
cached = partial(prepare, "kv-cache", batch=2, q_heads=4, kv_heads=2, prompt=32)


def results(step: Step) -> dict[str, float | None]:
    return {name: result.value for name, result in normalize_results(step.results).items()}


def run(step: Step, steps: int) -> list[str]:
    variants = []
    for _ in range(steps):
        step.wait(step.submit())
        variants.append(step.tell().variant)
    return variants


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize(("name", "shape"), [("paged", (2, 4, 64)), ("sdpa", (2, 4, 1, 64))])
def test_it_steps_and_knows_its_error(name: str, shape: tuple[int, ...], dtype: str) -> None:
    for ragged in (False, True):
        step = prepare(name, **DECODE, dtype=dtype, ragged=ragged)
        output = step.submit()
        step.wait(output)
        assert (output.shape, output.dtype) == (shape, getattr(mx, dtype)), ragged
        assert 0 < results(step)["max_error"] <= BOUNDS[dtype], ragged


def test_decoding_describes_its_step() -> None:
    for step, more in ((paged(), 2 * (2 * 4 + 4)), (sdpa(), 0)):  # tables of 2 pages, lengths
        assert (step.tokens, step.flops) == (2, 4 * 4 * 64 * 32)
        assert (step.bytes_unique, step.bytes_written) == (32 * ROW + OUT + more, OUT)
    assert results(sdpa())["padding"] == 0


@on_cpu
def test_without_metal_nothing_is_claimed_of_dispatches_or_kernels() -> None:
    step = paged()
    assert (step.backend, step.dispatches) == ("cpu", None)
    assert step.bytes_read == step.bytes_unique
    assert "no Metal" in normalize_results(step.results)["specializations"].reason
    for make in (paged, versus):
        with pytest.raises(ToolError, match="MLX cannot run a Metal kernel here"):
            make(kernel="grouped")


def test_ragged_lengths_are_drawn_by_the_seed_alike_for_all() -> None:
    ragged = [paged(ragged=True, seed=seed).flops for seed in (1, 1, 2)]
    assert ragged[0] == ragged[1] != ragged[2]
    assert max(ragged) < paged().flops
    assert sdpa(ragged=True, seed=1).flops == ragged[0]


@needs_emulation
def test_specializations_are_made_before_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.ops.attention.planning.BLOCK_SIZES", ())
    with emulation():
        step = paged(kernel="grouped", block_size=16, max_blocks=4, dtype="float32")
        specializations = step.specializations()
        step.wait(step.submit())
        assert step.specializations() == specializations
        again = paged(kernel="barriers", dtype="float32")
    assert results(step)["specializations"] == 2  # the tile that runs, and the merge
    assert sum("paged_decode__float_64_16" in name for name in specializations) >= 1
    assert step.dispatches == 1
    # 2 q heads share a row of K and V, which this kernel loads once for both, and the other twice
    assert step.bytes_read == step.bytes_unique
    assert again.bytes_read - again.bytes_unique == 2 * 16 * 2 * ROW
    assert results(step)["max_error"] < 1e-5


def test_listing_loads_no_mlx() -> None:
    code = "import sys; from tracekit.workload import find; find('paged'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "mlx.core" not in done.stdout.split()


def test_a_prefill_has_several_queries_in_either_layout() -> None:
    for layout, shape in (("BHSD", (2, 4, 3, 64)), ("BSHD", (2, 3, 4, 64))):
        step = sdpa(queries=3, layout=layout, dtype="float32")
        # the last 3 of 16 tokens see 14, 15 and 16
        flops = 4 * 4 * 64 * 2 * (14 + 15 + 16)
        assert (step.submit().shape, step.tokens, step.flops) == (shape, 2 * 3, flops)


def test_padding_is_said() -> None:
    # with this seed the two contexts have unlike lengths
    step = sdpa(ragged=True, seed=1)
    padding = results(step)["padding"]
    keys = step.flops // (4 * 4 * 64)
    longest = round(keys / (1 - padding)) // 2
    assert 0 < padding < 0.5
    assert step.bytes_unique == keys * ROW + OUT + 2 * longest


@pytest.mark.parametrize("against", ["sdpa", "gather-sdpa", "naive"])
@pytest.mark.parametrize("ragged", [False, True])
def test_paged_and_its_rival_agree_before_they_are_timed(against: str, ragged: bool) -> None:
    step = versus(against=against, ragged=ragged, dtype="float32")
    result_values = results(step)
    assert 0 < result_values["max_error_paged"] < 1e-5
    assert 0 < result_values[f"max_error_{against}"] < 1e-5
    assert result_values["max_difference"] < 1e-5
    assert run(step, 5) == ["paged", against, against, "paged", "paged"]


def test_variants_describe_themselves() -> None:
    flops, dense, scores = 4 * 4 * 64 * 32, 32 * ROW + OUT, 4 * 2 * 4 * 16
    for against, read, written_bytes in (
        ("sdpa", dense, OUT),
        ("gather-sdpa", dense + 32 * ROW + 4 * 4, OUT + 32 * ROW),
        ("naive", dense + scores, OUT + scores),
    ):
        ours, theirs = versus(against=against).variants.values()
        assert (ours.tokens, ours.flops) == (theirs.tokens, theirs.flops) == (2, flops), against
        assert ours.bytes_unique == dense + 2 * (2 * 4 + 4), against
        assert (theirs.bytes_unique, theirs.bytes_written) == (read, written_bytes)


@needs_emulation
def test_a_kernel_is_compared_in_place_of_mlx_ops() -> None:
    with emulation() as log:
        step = versus(kernel="grouped", dtype="float32", order="abab")
        assert run(step, 4) == ["paged", "sdpa"] * 2
    assert {launch.kernel.file for launch in log} == {"paged_decode.metal"}
    assert len(step.specializations()) >= 1
    assert 0 < results(step)["max_error_paged"] < 1e-5


@pytest.mark.parametrize("make", [versus, norm])
def test_the_speed_up_is_that_of_pairs_of_the_steady_phase_alone(make: Any) -> None:
    step = make()
    run(step, 9)
    step.begin()
    run(step, 13)
    measurements = normalize_results(step.finish())
    assert measurements["pairs"].value == 6
    lower_bound, middle, upper_bound = (
        measurements[f"speedup{end}"].value for end in ("_low_95", "", "_high_95")
    )
    assert 0 < lower_bound <= middle <= upper_bound


@pytest.mark.parametrize(
    ("target", "said", "make"),
    [
        ("scaled_dot_product_attention", r"The result of \S+ is off by", versus),
        ("scaled_dot_product_attention", "The result of flash is off", flash),
        ("scaled_dot_product_attention", "Dense attention is off", sdpa),
        ("rms_norm", "The result of separate is off by 0", norm),
        ("scaled_dot_product_attention", "Attention after 33 tokens is off by 0", cached),
    ],
)
def test_a_wrong_result_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, target: str, said: str, make: Any
) -> None:
    right = getattr(mx.fast, target)
    monkeypatch.setattr(mx.fast, target, lambda *given, **how: right(*given, **how) * 1.1 + 0.1)
    with pytest.raises(ToolError, match=said) as caught:
        make()
    assert "not measured" in caught.value.hint


@pytest.mark.parametrize(("causal", "layout"), [(True, "BHSD"), (False, "BHSD"), (True, "BSHD")])
def test_flash_and_naive_agree_and_the_scores_are_spared(causal: bool, layout: str) -> None:
    step = flash(causal=causal, layout=layout, dtype="float32")
    result_values = results(step)
    assert 0 < result_values["max_error_flash"] < 1e-5
    assert 0 < result_values["max_error_naive"] < 1e-5
    assert run(step, 4) == ["flash", "naive", "naive", "flash"]
    fast, naive = step.variants["flash"], step.variants["naive"]
    assert (
        result_values["scores"] == naive.bytes_written - fast.bytes_written == 4 * 2 * 4 * 24 * 24
    )
    assert result_values["scores"] == naive.bytes_read - fast.bytes_read
    # 24 queries see 1, 2 … 24 keys
    seen_keys = 24 * 25 // 2 if causal else 24 * 24
    assert fast.flops == naive.flops == 4 * 4 * 16 * 2 * seen_keys
    assert fast.tokens == 48


def test_naive_attention_really_holds_its_scores() -> None:
    result_values = results(flash(seq=128, kv_heads=4))
    assert result_values["peak_memory_naive"] >= result_values["scores"]
    if not mx.metal.is_available():
        assert result_values["fused"] == 0


@on_cpu
def test_without_metal_the_fused_norm_is_not_said_to_have_run() -> None:
    step = norm()
    assert (step.backend, set(step.variants)) == ("cpu", {"separate", "compiled"})
    fused = step.results["fused_speedup"]
    assert (fused.value, "the fused kernel needs Metal" in fused.reason) == (None, True)
    assert all(work.dispatches is None for work in step.variants.values())
    separate = norm(dtype="float16").variants["separate"]
    # x twice, for the normalised rows are read as x was, a gain, the weight; 2 bytes each
    moved = (2 * (2 * 3 * 96 + 96 + 40 * 96), 2 * (3 * 96 + 3 * 40))
    assert (separate.bytes_unique, separate.bytes_written) == moved
    assert (separate.tokens, separate.flops) == (3, 2 * 3 * 96 * 40 + 4 * 3 * 96)


@pytest.mark.processes
@pytest.mark.parametrize("dtype", BOUNDS)
def test_both_norms_know_their_error(dtype: str) -> None:
    result_values = results(norm(dtype=dtype))
    errors = [value for name, value in result_values.items() if name.startswith("max_error")]
    assert len(errors) == 2
    assert all(0 < error < BOUNDS[dtype] for error in errors)


KV = {
    "batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "prompt": 9, "max_tokens": 40,
}  # fmt: skip
HUGE = {"rows": 65536, "dims": 65536, "out_dims": 262144, "dtype": "float32"}
BASES = {"paged": DECODE, "sdpa": DECODE, "kv-cache": KV}


def test_sizes_that_make_no_sense_are_refused_by_every_workload(
    subtests: pytest.Subtests,
) -> None:
    for workload, changes, sentence in (
        ("paged", {"q_heads": 3}, "3 q heads cannot be shared out among 2"),
        ("paged", {"active_blocks": 5}, "cannot use 5 blocks of 4"),
        ("paged", {"max_blocks": 65536, "block_size": 1024, "batch": 4096}, "GB"),
        ("paged", {"batch": 0}, "--batch must be at least 1"),
        ("paged", {"hd_tile": 12}, "There is no HD_TILE of 12"),
        ("paged", {"tg_size": 2048}, "--tg-size must be at most 1024"),
        ("paged", {"kernel": "barriers", "partitions": 2}, "nor partitions"),
        ("sdpa", {"queries": 17}, "17 queries do not fit into a context of 16"),
        ("sdpa", {"queries": 0}, "--queries must be at least 1"),
        ("paged-vs-sdpa", {"against": "mine"}, "--against cannot be"),
        ("flash", {"q_heads": 3}, "cannot be shared out among 8"),
        ("flash", {"seq": 131072, "batch": 4096}, "The matrix of scores takes"),
        ("kv-cache", {"q_heads": 3}, "3 q heads cannot be shared out among 2"),
        ("kv-cache", {"max_tokens": 10}, "no step is left before 10"),
        ("kv-cache", {"max_tokens": 2**20, "batch": 4096}, "GB"),
        ("rmsnorm-linear", HUGE, "GB"),
        ("churn", {"every": 0}, "--every must be at least 1"),
        ("churn", {"size": 7}, "--size must be at least 8"),
        ("bubbles", {"idle": 1.0}, "--idle must be at most 0.95"),
    ):
        with subtests.test(workload, **changes):
            with pytest.raises(UsageError) as caught:
                prepare(workload, **{**BASES.get(workload, {}), **changes})
            assert sentence in caught.value.message
