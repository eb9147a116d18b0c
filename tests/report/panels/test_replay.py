from typing import Any

import pytest

from tracekit import pipeline
from tracekit.analysis.replay import encoders, weighted
from tracekit.report.panels.replay import replay

LIMITER, USED = "F32 Limiter", "F32 Utilization"


def counters(frame: Any, *rows: tuple[int, dict[str, float]], suspect: str = "") -> Any:
    cells = [
        {
            "place": place,
            "function": place,
            "encoder": f"Encoder {place}",
            "command_buffer": "CB",
            "counter": name,
            "value": value,
            "unit": "ratio",
            "suspect": "0" if name == suspect else None,
        }
        for place, values in rows
        for name, value in values.items()
    ]
    return frame("replay_counters", cells)


DEAR = {
    "Execution Cost": 0.75,
    "Kernel Occupancy": 0.2,
    LIMITER: 0.4,
    USED: 0.1,
    "MMU Limiter": 0.3,
}
CHEAP = {
    "Execution Cost": 0.25,
    "Kernel Occupancy": 0.6,
    LIMITER: 0.2,
    USED: 0.1,
    "MMU Limiter": 0.9,
}


def test_encoders_stand_by_cost_with_their_highest_limiter(bare: Any, frame: Any) -> None:
    table = counters(frame, (1, CHEAP), (2, DEAR))
    context = replay.context(bare.result, {"replay_counters": table})
    assert context is not None
    assert [(one["place"], one["limiter"], one["limited"]) for one in context["encoders"]] == [
        (2, "F32", "40.0 %"),
        (1, "MMU", "90.0 %"),
    ]
    assert context["encoders"][0]["used"] == "10.0 %"
    assert context["encoders"][1]["used"] == "not available"
    assert context["occupancy"] == "30.0 %"
    assert context["limiters"] == [("F32", "75.0 %"), ("MMU", "25.0 %")]


def test_without_costs_encoders_are_not_ranked_and_nothing_is_weighed(
    bare: Any, frame: Any
) -> None:
    rows = [(number, {"Kernel Occupancy": number / 10, LIMITER: 0.1}) for number in (2, 1)]
    context = replay.context(bare.result, {"replay_counters": counters(frame, *rows)})
    assert context is not None
    assert not context["ranked"]
    assert [one["place"] for one in context["encoders"]] == [1, 2]
    assert (context["occupancy"], context["limiters"]) == (None, [])
    assert weighted(encoders(counters(frame, *rows)), "occupancy") is None


def test_suspect_values_are_listed_and_not_used(bare: Any, frame: Any) -> None:
    table = counters(frame, (1, DEAR), suspect="Kernel Occupancy")
    context = replay.context(bare.result, {"replay_counters": table})
    assert context is not None
    assert context["encoders"][0]["occupancy"] == "not available"
    assert context["suspect"] == [("Kernel Occupancy", "0", 1)]


def test_a_recording_without_such_counters_has_no_panel(bare: Any) -> None:
    assert replay.context(bare.result, {}) is None


@pytest.mark.corpus
def test_real_counters_become_a_page_that_claims_no_rate_and_no_idle_time(
    corpus: Any, tmp_path: Any
) -> None:
    [recording] = pipeline.import_([corpus / "xcode-counters"], tmp_path / "run")
    result = pipeline.analyze(recording)
    occupancy, idle = result.metric("replay_occupancy"), result.metric("idle_ratio")
    assert occupancy is not None
    assert occupancy.value == pytest.approx(0.1884, abs=1e-3)
    assert idle is not None
    assert idle.value is None
    page = pipeline.report(recording).read_text("utf-8")
    assert page.count("serialized replay at a fixed clock") >= 4
    assert 'id="bubbles"' not in page
    assert result.provenance.workload == "xcode-counters-export"
