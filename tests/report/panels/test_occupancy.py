"""Occupancy and limiters: means with their spread, or the reason and how to get them."""

from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.report.panels.occupancy import occupancy
from tracekit.report.render import environment_of

MEANS = [
    ("Compute Occupancy", "occupancy", "threads", "compute", 20, 40.0, 0.4),
    ("ALU Limiter", "limiter", "arithmetic", "ALU", 20, 30.0, 0.3),
    ("LLC Limiter", "limiter", "memory", "LLC", 20, 80.0, 0.8),
    ("GPU Bandwidth", "bandwidth", "memory", "both", 20, 55.25, float("nan")),
]
COLUMNS = ["counter", "kind", "group", "unit", "samples", "mean", "share"]


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    means = pd.DataFrame(MEANS, columns=COLUMNS)
    samples = [
        {"counter": name, "value": mean + away} for name, *_, mean, _ in MEANS for away in (-10, 10)
    ]
    return {"counter_means": means, "counter_samples": pd.DataFrame(samples)}


def test_counters_stand_by_kind_and_the_highest_first(bare: Any, tables: Any) -> None:
    kinds = occupancy.context(bare.result, tables)["kinds"]
    assert [(title.split(":")[0], [one["name"] for one in rows]) for title, rows in kinds] == [
        ("Occupancy", ["Compute Occupancy"]),
        ("Limiters", ["LLC Limiter", "ALU Limiter"]),
        ("Bandwidth of memory, as the trace counts it", ["GPU Bandwidth"]),
    ]


def test_a_counter_has_its_mean_and_its_spread(bare: Any, tables: Any) -> None:
    [one] = occupancy.context(bare.result, tables)["kinds"][0][1]
    assert (one["mean"], one["spread"], one["samples"]) == ("40.0 %", "31.0 to 49.0 %", 20)
    assert one["drawn"] == pytest.approx((40, 31, 49))


def test_what_is_no_percentage_is_not_drawn_as_one(bare: Any, tables: Any) -> None:
    [one] = occupancy.context(bare.result, tables)["kinds"][2][1]
    assert one["mean"] == "55.2 GB/s"
    assert one["drawn"] is None
    shown = environment_of(str).get_template(f"{occupancy.name}.html")
    assert "55.2 GB/s" in shown.render(occupancy.context(bare.result, tables))


def test_without_counters_it_says_how_to_get_them(trace_run: Any) -> None:
    given = Given(trace_run.tables, trace_run.result.provenance)
    context = occupancy.context(trace_run.result, given)
    assert context["kinds"] == []
    assert "tracekit record --counters on" in context["absence"]
