"""Completion in a shell: commands of groups, and the names of workloads, rules, tables, metrics."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tracekit nightly ba", "baseline"),
        ("tracekit capture --workload paged-v", "paged-vs-sdpa"),
        ("tracekit list rules bubb", "bubbles"),
        ("tracekit analyze RUN --rule pipeline-c", "pipeline-churn"),
        ("tracekit tables RUN gpu_int", "gpu_intervals"),
        ("tracekit compare A B --metric step_p5", "step_p50"),
    ],
)
def test_a_shell_completes_names(
    line: str, expected: str, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TRACEKIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    result = tracekit()
    assert expected in result.out.split(), result.err
    assert "gate" not in result.out.split()
