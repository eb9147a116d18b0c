"""Rules that judge by what work is called.

`gather-share`, `scatter-encoder`, `metadata-per-layer`, `avoidable-kernels`, `unfused-attention`.
"""

import pandas as pd
import pytest

from analysed import Golden, intervals, judge_tables, make_named_table, phases, row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding

US = 1_000
STEP = 500 * US


def layers(label: str, length: int, gap: int, attention: int) -> pd.DataFrame:
    """Make ten layers of 100 µs: a piece of work with a label, a gap, and attention; µs."""
    rows = [
        (start * US, lasts * US)
        for layer_start in range(0, 1_000, 100)
        for start, lasts in ((layer_start, length), (layer_start + length + gap, attention))
    ]
    return intervals(rows).assign(label=[label, "ScaledDotProductAttention"] * 10)


def copies(layers: int, copy: int = 4 * US, **limits: float) -> list[Finding]:
    """Judge three steps: each layer a copy, a gap of 2 µs, a cast of 3 µs, and attention."""
    rows: list[tuple[int, int]] = []
    for layer_start in (
        step * STEP + layer * 57 * US for step in range(3) for layer in range(layers)
    ):
        rows += [
            (layer_start, copy),
            (layer_start + copy + 2 * US, 3 * US),
            (layer_start + copy + 5 * US, 40 * US),
        ]
    frame = intervals(rows).assign(label=["Copy", "AsType", "paged_attention"] * 3 * layers)
    window = make_named_table(("steady", 0, rows[-1][0] + 40 * US), unit=1)
    tables = {"gpu_intervals": frame, "steps": row_of_steps([STEP] * 3), "phases": window}
    return judge_tables("metadata-per-layer", limits, **tables)


def test_gathers_that_take_long_are_found(golden: Golden) -> None:
    golden(*judge_tables("gather-share", gpu_intervals=layers("Gather", 20, 5, 60)))
    small = layers("Gather", 2, 5, 60)
    assert not judge_tables("gather-share", gpu_intervals=small)
    # Names of shaders count where there are any of the target's.
    gathers, unnamed = layers("Gather", 20, 5, 60), small.assign(label="Compute Command 1")
    other_runs = gathers.assign(name="Matmul", target=False)
    shader_runs = pd.concat([other_runs, gathers.assign(name=gathers["label"])], ignore_index=True)
    [finding] = judge_tables("gather-share", gpu_intervals=unnamed, shader_runs=shader_runs)
    assert finding == judge_tables("gather-share", gpu_intervals=gathers, shader_runs=other_runs)[0]
    # Work of no length has no shares.
    frame, window = intervals([(3, 0), (5, 0)]).assign(label="Gather"), phases(0, 9)
    for rule in ("gather-share", "avoidable-kernels"):
        with pytest.raises(Unavailable, match="work in the steady window has no length"):
            judge_tables(rule, gpu_intervals=frame, phases=window)
    assert judge_tables("gather-share", {"limit": 0.03}, gpu_intervals=small)


def test_writes_of_their_own_are_found_and_fused_or_rare_ones_are_not(golden: Golden) -> None:
    frame, half = layers("Scatter", 4, 6, 90), phases(STEP, STEP)
    whole_findings = judge_tables("scatter-encoder", gpu_intervals=frame)
    golden(*whole_findings, *judge_tables("scatter-encoder", gpu_intervals=frame, phases=half))
    for label in ("SliceUpdate", "reshape_and_cache"):
        assert judge_tables("scatter-encoder", gpu_intervals=layers(label, 4, 6, 90)), label
    fused = layers("rope_scatter_paged", 4, 6, 90)
    rare = intervals([(0, 10 * US), (10 * US, 990 * US)]).assign(label=["Scatter", "Matmul"])
    for frame in (fused, rare):
        assert not judge_tables("scatter-encoder", gpu_intervals=frame)


def test_the_same_copies_for_each_layer_are_found(golden: Golden) -> None:
    [finding] = copies(layers=8)
    cost = 24 * (4 * US) + 21 * (57 - 49) * US + 24 * (3 * US + 2 * US)
    assert finding.saving == round(cost * (1 - 2 / 16))
    golden(finding, *copies(layers=8, copy=11 * US))
    assert not copies(layers=1)
    assert not copies(layers=3)
    assert copies(layers=3, repeats=3)
    assert not copies(layers=8, limit=0.5)
    # Those before the first step are of none.
    frame = intervals([(time * US, 4 * US) for time in range(0, 80, 10)]).assign(label="Copy")
    steps, window = row_of_steps([40 * US]), make_named_table(("steady", 0, 80 * US), unit=1)
    tables = {"gpu_intervals": frame, "phases": window, "steps": steps.assign(start=40 * US)}
    assert judge_tables("metadata-per-layer", {"repeats": 4}, **tables)
    assert not judge_tables("metadata-per-layer", {"repeats": 5}, **tables)


def test_copies_and_sorts_are_found_above_a_tenth() -> None:
    for name, lever in (
        ("g3_copyfloat16bfloat16", "avoidable-copy"),
        ("AsType", "avoidable-copy"),
        ("Contiguous", "avoidable-copy"),
        ("carg_block_sort_float32", "avoidable-sort"),
        ("ArgPartition", "avoidable-sort"),
        ("asort_desc_f32", "avoidable-sort"),
        ("kernel_cpy_f32_f16", "avoidable-copy"),
        *((name, "") for name in ("resort_attention", "steel_gemm_splitk", "rms_norm_copy", "vn")),
    ):
        for share in (10, 11):
            frame = intervals([(0, 100 - share), (200, share)]).assign(label=["steel_gemm", name])
            findings = judge_tables("avoidable-kernels", gpu_intervals=frame)
            expected = [(share, lever)] if lever and share > 10 else []
            assert [(finding.saving, finding.lever) for finding in findings] == expected, (
                name,
                share,
            )


def test_a_softmax_between_products_is_found() -> None:
    for names, number, is_found in (
        ("steel_gemm_nt block_softmax_float16 steel_gemm_nn", 30, True),
        ("gemv_t Multiply Add looped_softmax gemv RMSNorm", 30, True),
        ("steel_gemm_nt block_softmax steel_gemm_nn", 8, True),
        ("steel_gemm_nt block_softmax steel_gemm_nn", 7, False),
        ("steel_gemm_nt sdpa_vector_float16 steel_gemm_nn", 30, False),
        ("steel_gemm rope rms_norm add mul softmax steel_gemm", 30, False),
        ("softmax_in_attention steel_gemm", 30, False),
        ("steel_gemm sdpa_vector softmax steel_gemm", 30, False),
    ):
        labels = names.split() * number
        work = intervals([(index * 10, 10) for index in range(len(labels))]).assign(label=labels)
        times = [
            finding.fact("times")
            for finding in judge_tables("unfused-attention", gpu_intervals=work)
        ]
        assert times == [number] * is_found, (names, number)
    for other_length, limit, is_found in ((57, 0.05, False), (56, 0.05, True), (56, 0.1, False)):
        rows = [(index * 100, other_length if index % 4 == 3 else 1) for index in range(40)]
        work = intervals(rows).assign(label=["gemm", "softmax", "gemm", "other"] * 10)
        assert (
            bool(judge_tables("unfused-attention", {"limit": limit}, gpu_intervals=work))
            == is_found
        )
