"""The panel of memory: there where a worker noted some."""

from dataclasses import replace
from typing import Any

import pandas as pd

from tracekit.report.panels.memory import memory
from tracekit.report.render import render

KIB = 1024
ABSENT = "vmmap is a program of macOS"
NOTES = [
    ("baseline", "resident", 20 * KIB, ""),
    ("baseline", "mlx_active", None, "MLX is not loaded"),
    ("prepare", "resident", 60 * KIB, ""),
    ("prepare", "mlx_active", 8 * KIB, ""),
    ("prepare", "footprint", None, ABSENT),
    ("prepare", "accelerator", None, ABSENT),
    ("steady", "resident", 59 * KIB, ""),
    ("steady", "mlx_active", 12 * KIB, ""),
    ("steady", "footprint", None, ABSENT),
    ("steady", "accelerator", None, ABSENT),
]


def noted(frame: Any, notes: list[tuple[str, str, int | None, str]]) -> dict[str, Any]:
    rows = [
        {
            "time": at,
            "phase": phase,
            "what": what,
            "bytes": pd.NA if level is None else level,
            "reason": reason,
            "clock": "host",
        }
        for at, (phase, what, level, reason) in enumerate(notes)
    ]
    return {"memory_profile": frame("memory_profile", rows)}


def test_levels_stand_by_phase_and_growth_is_that_of_the_steady_one(bare: Any, frame: Any) -> None:
    context = memory.context(bare.result, noted(frame, NOTES))
    assert context is not None
    assert context["phases"] == ["baseline", "prepare", "steady"]
    assert [(one["name"], one["levels"], one["growth"]) for one in context["sorts"]] == [
        ("resident", [20 * KIB, 60 * KIB, 59 * KIB], -KIB),
        ("mlx_active", [None, 8 * KIB, 12 * KIB], 4 * KIB),
    ]


def test_a_peak_does_not_grow(bare: Any, frame: Any) -> None:
    notes = [("warm-up", "mlx_peak", 5 * KIB, ""), ("steady", "mlx_peak", 9 * KIB, "")]
    context = memory.context(bare.result, noted(frame, notes))
    assert context is not None
    assert [(one["levels"], one["growth"]) for one in context["sorts"]] == [
        ([5 * KIB, 9 * KIB], None)
    ]


def test_what_is_not_known_has_one_reason_for_all_that_share_it(bare: Any, frame: Any) -> None:
    context = memory.context(bare.result, noted(frame, NOTES))
    assert context is not None
    assert context["reasons"] == [
        ("MLX active (baseline)", "MLX is not loaded"),
        ("Footprint, Accelerator (prepare, steady)", ABSENT),
    ]


def test_a_level_without_one_before_it_grew_by_nothing_that_is_known(bare: Any, frame: Any) -> None:
    context = memory.context(bare.result, noted(frame, NOTES[6:8]))
    assert context is not None
    assert [one["growth"] for one in context["sorts"]] == [None, None]
    started = memory.context(bare.result, noted(frame, NOTES[:4]))
    assert started is not None
    assert [one["growth"] for one in started["sorts"]] == [None, None]


def test_where_nobody_noted_memory_there_is_no_panel(bare: Any, frame: Any) -> None:
    assert memory.context(bare.result, {}) is None
    assert memory.context(bare.result, noted(frame, [])) is None


def test_the_page_shows_levels_in_words_and_says_what_is_not_known(
    host_run: Any, frame: Any
) -> None:
    run = replace(host_run, tables={**host_run.tables, **noted(frame, NOTES)})
    page = render(run.result, run.tables, redact=lambda words: words)
    section = page.partition('id="memory"')[2].partition("</section>")[0]
    assert "60 KiB" in section
    assert "-1 KiB" in section.replace("\N{MINUS SIGN}", "-").replace("-1.00", "-1")
    assert "not available, because vmmap is a program of macOS" in section
    assert "None" not in section


def test_levels_over_the_run_are_charted_without_any_notes(bare: Any, frame: Any) -> None:
    samples = [
        {"time": at * 1_000, "memory": (at + 1) << 20, "target": True, "pid": 7} for at in range(20)
    ]
    context = memory.context(bare.result, {"process_samples": frame("process_samples", samples)})
    assert context is not None
    assert context["absence"] == "the recording has no table memory_profile"
    assert context["chart"].summary.startswith("Resident from 1 MiB to ")
    few = {"process_samples": frame("process_samples", samples[:3])}
    assert memory.context(bare.result, few) is None
