"""`gather-share`, `scatter-encoder`, `metadata-per-layer`: work around the kernels."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals, judged, phases, row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
US = 1_000
STEP = 500 * US
RULES = ("gather-share", "scatter-encoder", "metadata-per-layer")


def layers(label: str, length: int, gap: int, attention: int) -> pd.DataFrame:
    """Make ten layers of 100 µs: a piece of work with a label, a gap, and attention."""
    rows = [
        each
        for at in range(0, 1_000 * US, 100 * US)
        for each in ((at, length), (at + length + gap, attention))
    ]
    return intervals(rows).assign(label=[label, "ScaledDotProductAttention"] * 10)


def copies(layers: int, copy: int = 4 * US, **limits: float) -> list[Finding]:
    """Judge three steps: each layer a copy, a gap of 2 µs, a cast of 3 µs, and attention."""
    rows: list[tuple[int, int]] = []
    for at in (step * STEP + layer * 57 * US for step in range(3) for layer in range(layers)):
        rows += [(at, copy), (at + copy + 2 * US, 3 * US), (at + copy + 5 * US, 40 * US)]
    frame = intervals(rows).assign(label=["Copy", "AsType", "paged_attention"] * 3 * layers)
    window = pd.DataFrame({"name": ["steady"], "start": 0, "duration": [rows[-1][0] + 40 * US]})
    tables = {"gpu_intervals": frame, "steps": row_of_steps([STEP] * 3), "phases": window}
    return judged("metadata-per-layer", limits, **tables)


def test_gathers_that_take_long_are_found() -> None:
    [finding] = judged("gather-share", gpu_intervals=layers("Gather", 20 * US, 5 * US, 60 * US))
    assert finding.saving == 10 * 20 * US
    assert "25.0 % of the target's GPU time" in finding.message
    assert "10 times “Gather”" in finding.message
    assert finding.evidence[0] == Evidence("gpu_intervals", 0, 20 * US)
    assert len(finding.evidence) == 10
    small = layers("Gather", 2 * US, 5 * US, 60 * US)
    assert not judged("gather-share", gpu_intervals=small)
    assert judged("gather-share", {"limit": 0.03}, gpu_intervals=small)


@pytest.mark.parametrize("label", ["Scatter", "SliceUpdate", "reshape_and_cache"])
def test_writes_of_their_own_are_found(label: str) -> None:
    frame = layers(label, 4 * US, 6 * US, 90 * US)
    [finding] = judged("scatter-encoder", gpu_intervals=frame)
    assert finding.saving == 10 * 4 * US
    assert f"10 pieces of the target's GPU work do nothing but write to the cache (“{label}”)" in (
        finding.message
    )
    assert "4.0 % of" in finding.message
    window = phases(500 * US, 500 * US)
    [finding] = judged("scatter-encoder", gpu_intervals=frame, phases=window)
    assert "5 pieces" in finding.message


def test_writes_that_are_fused_or_rare_are_passed() -> None:
    fused = layers("rope_scatter_paged", 4 * US, 6 * US, 90 * US)
    assert not judged("scatter-encoder", gpu_intervals=fused)
    rare = intervals([(0, 10 * US), (10 * US, 990 * US)]).assign(label=["Scatter", "Matmul"])
    assert not judged("scatter-encoder", gpu_intervals=rare)


def test_the_same_copies_for_each_layer_are_found() -> None:
    [finding] = copies(layers=8)
    assert "A typical step has 16 tiny pieces of GPU work" in finding.message
    assert "(“Copy”, “AsType”)" in finding.message
    cost = 24 * (4 * US) + 21 * (57 - 49) * US + 24 * (3 * US + 2 * US)
    assert finding.saving == round(cost * (1 - 2 / 16))
    [finding] = copies(layers=8, copy=11 * US)
    assert "8 tiny pieces" in finding.message
    assert "“Copy”" not in finding.message


def test_copies_once_a_step_and_those_that_take_no_time_are_passed() -> None:
    assert not copies(layers=1)
    assert not copies(layers=3)
    assert copies(layers=3, repeats=3)
    assert not copies(layers=8, limit=0.5)


def test_work_of_no_length_has_no_shares() -> None:
    frame, window = intervals([(3, 0), (5, 0)]).assign(label="Gather"), phases(0, 9)
    for rule in ("gather-share", "avoidable-kernels"):
        with pytest.raises(Unavailable, match="work in the steady window has no length"):
            judged(rule, gpu_intervals=frame, phases=window)
