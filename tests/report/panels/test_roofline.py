"""The roofline: points under the chip's roof; without a chip no roof, and the reason."""

from typing import Any

import pytest

from tracekit.base.recording import Provenance
from tracekit.report.panels.roofline import roofline

MS = 1_000_000
M1 = Provenance(machine={"chip": "Apple M1", "gpu_cores": 8})


def run_of(frame: Any, backend: str = "metal", flops: int = 2_000_000, **more: Any) -> Any:
    model = {
        "time": 0,
        "backend": backend,
        "bytes_unique": 15_000_000,
        "bytes_written": 0,
        "flops": flops,
    }
    steps = [{"start": at * MS, "duration": MS, "phase": "steady", **more} for at in range(4)]
    return {
        "step_models": frame("step_models", [{**model, **more}]),
        "steps": frame("steps", steps),
    }


def test_a_step_has_its_point_and_its_share(bare: Any, frame: Any) -> None:
    context = roofline.context(bare.having(provenance=M1).result, run_of(frame))
    [point] = context["points"]
    assert point["reached"].bandwidth == pytest.approx(15e9)
    assert point["intensity"] == pytest.approx(2 / 15)
    assert point["reached"].share == pytest.approx(15e9 / context["chip"].bandwidth.value)
    assert not point["reached"].cached
    assert context["absence"] == ""
    assert context["chart"].summary.startswith("Apple M1. step reaches 2")


def test_more_than_memory_delivers_came_from_caches(bare: Any, frame: Any) -> None:
    tables = run_of(frame)
    tables["step_models"]["bytes_unique"] *= 100
    [point] = roofline.context(bare.having(provenance=M1).result, tables)["points"]
    assert point["reached"].cached
    assert point["reached"].share is None


@pytest.mark.parametrize(
    ("backend", "provenance", "words"),
    [
        ("cpu", M1, "the steps ran on the CPU"),
        ("metal", Provenance(), "does not say which chip"),
        ("metal", Provenance(machine={"chip": "Apple Z9"}), "Z9"),
    ],
)
def test_without_a_roof_it_says_why(
    bare: Any, frame: Any, backend: str, provenance: Provenance, words: str
) -> None:
    context = roofline.context(bare.having(provenance=provenance).result, run_of(frame, backend))
    assert context["chart"] is None
    assert words in context["absence"]
    assert context["points"][0]["reached"].share is None


def test_without_operations_there_is_no_point_but_a_share(bare: Any, frame: Any) -> None:
    context = roofline.context(bare.having(provenance=M1).result, run_of(frame, flops=0))
    [point] = context["points"]
    assert (point["flops"], point["intensity"], context["chart"]) == (None, None, None)
    assert point["reached"].share is not None


def test_each_variant_has_its_point(bare: Any, frame: Any) -> None:
    tables = run_of(frame)
    model = {
        "time": 0,
        "backend": "metal",
        "bytes_unique": 15_000_000,
        "bytes_written": 0,
        "flops": 10,
    }
    tables["step_models"] = frame(
        "step_models", [{**model, "variant": one} for one in ("paged", "sdpa", "absent")]
    )
    tables["steps"]["variant"] = ["paged", "sdpa"] * 2
    tables["steps"]["duration"] = [MS, 3 * MS] * 2
    points = roofline.context(bare.having(provenance=M1).result, tables)["points"]
    assert [(one["name"], one["time"]) for one in points] == [("paged", MS), ("sdpa", 3 * MS)]


def test_steps_that_tell_nothing_have_no_panel(bare: Any, frame: Any) -> None:
    assert roofline.context(bare.result, {}) is None
    tables = run_of(frame)
    tables["step_models"]["bytes_unique"] = 0
    assert roofline.context(bare.result, tables) is None
