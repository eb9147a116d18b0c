"""GPU counters that were asked for and are not there: one sentence, whatever the reason."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli.main import main
from tracekit.record.xctrace.command_line import Selection
from tracekit.record.xctrace.exporting import (
    counter_set,
    counter_warnings,
    lacking,
)
from tracekit.tables.toc import TocRun, TocTable

Scenario = Callable[..., None]
LACKING = "GPU counters are not available on this chip and Xcode"
REJECTED = "GPU Service reported error: Selected counter profile is not supported on target device"
SMALL = (
    "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 "
    "--max-blocks 4 --active-blocks 2 --dtype float32 --warmup 2 --repeats 50"
).split()


def run_with(*settings: str) -> TocRun:
    return TocRun(1, settings={"Metal Application": settings})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("Counter Set: Performance Limiters", "Shader Timeline: Enabled"), "Performance Limiters"),
        (("Counter Set: (null)",), ""),
        (("Counter Set: ",), ""),
        (("Shader Timeline: Disabled",), ""),
        ((), ""),
    ],
)
def test_the_counter_set_stands_in_the_toc(settings: tuple[str, ...], expected: str) -> None:
    assert counter_set(run_with(*settings)) == expected


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        pytest.param(Selection("T", adds_counters=True), LACKING, id="instrument"),
        pytest.param(Selection("/t.tracetemplate", own_counters=True), LACKING, id="file"),
        pytest.param(
            Selection("/t.tracetemplate", own_counters=None),
            "the template /t.tracetemplate switches no set of them on",
            id="unknown-file",
        ),
    ],
)
def test_no_counter_set_is_said(selection: Selection, said: str) -> None:
    [warning] = counter_warnings(selection, run_with("Counter Set: (null)"))
    assert said in warning
    assert counter_warnings(selection, run_with("Counter Set: Performance Limiters")) == ()


@pytest.mark.parametrize(("name", "said"), [("Performance Limiters", 1), ("(null)", 0)])
def test_a_set_without_its_table_is_said_at_the_export(name: str, said: int) -> None:
    run = replace(run_with(f"Counter Set: {name}"), tables=(TocTable(1, "metal-gpu-intervals"),))
    told = list(lacking(run, {"metal-gpu-intervals"}, set()))
    assert len(told) == said
    assert all("there is no metal-gpu-counter-intervals" in one for one in told)


def captured(folder: Path, *options: str) -> dict[str, Any]:
    """Capture with the fake; return the result."""
    try:
        main(["capture", "--workload", "paged", "--output", str(folder), *SMALL, *options])
    except SystemExit as end:
        assert not end.code  # noqa: PT017  a command may end by itself or by an exit code
    return json.loads((folder / "result.json").read_text())


@pytest.mark.processes
@pytest.mark.parametrize(
    ("scene", "why"),
    [
        pytest.param({"issues": [["Warning", REJECTED]]}, "xctrace says: ", id="rejected"),
        pytest.param(
            {"issues": [["Warning", REJECTED]] * 2, "counter_set": "(null)"},
            "xctrace says: ",
            id="rejected-and-no-set",
        ),
        pytest.param({"counter_set": "(null)"}, "names no counter set", id="no-set"),
    ],
)
def test_each_way_to_lose_counters_ends_in_one_sentence_of_run_and_page(
    scene: dict[str, Any], why: str, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(**scene)
    result = captured(tmp_path / "run", "--counters", "on")
    said = [one for one in result["provenance"]["warnings"] if LACKING in one]
    assert len(said) == 1
    assert why in said[0]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count(LACKING) == 1
    [check] = [one for one in result["checks"] if one["rule"] == "low-occupancy"]
    assert check["status"] == "abstained"
    for way in ("Recording Options > GPU > Counter Set", "--template", "tracekit templates make"):
        assert way in check["reason"]


@pytest.mark.parametrize(("filled", "said"), [(["gpu-counter-value"], 0), ([], 1)])
def test_a_set_is_lacking_where_neither_of_its_tables_has_rows(
    filled: list[str], said: int
) -> None:
    counters = {"gpu-counter-value", "metal-gpu-counter-intervals"}
    names = ("metal-gpu-intervals", *sorted(counters))
    run = TocRun(
        1,
        settings={"GPU": ("Counter Set: Performance Limiters",)},
        tables=tuple(TocTable(place, name) for place, name in enumerate(names, 1)),
    )
    there = {"metal-gpu-intervals", *filled}
    assert len([*lacking(run, there, counters - there)]) == said
