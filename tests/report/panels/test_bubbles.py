"""Idle time by cause: shares that come to all of it, what has no cause included."""

from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.report.panels.bubbles import bubbles
from tracekit.report.render import environment_of, render

US = 1_000
COLUMNS = ["start", "duration", "gap", "state", "cause", "during"]
GAPS = [
    (100, 60, 0, "empty", "host-late", "encoding"),
    (160, 20, 0, "empty", "host-late", ""),
    (300, 100, 1, "queued", "late-start", "driver"),
    (500, 20, 2, "unknown", "unattributed", ""),
]


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    gaps = pd.DataFrame(GAPS, columns=COLUMNS)
    gaps[["start", "duration"]] *= US
    return {"gaps": gaps, "loaded": pd.DataFrame({"start": [0], "duration": [1_000 * US]})}


def test_causes_stand_by_their_time_and_come_to_all_of_it(bare: Any, tables: Any) -> None:
    context = bubbles.context(bare.result, tables)
    assert [
        (one["cause"], one["count"], one["total"], one["share"]) for one in context["causes"]
    ] == [
        ("late start", 1, 100 * US, 0.5),
        ("host late", 2, 80 * US, 0.4),
        ("unattributed", 1, 20 * US, 0.1),
    ]
    assert sum(one["total"] for one in context["causes"]) == context["idle"] == 200 * US
    assert (context["loaded"], context["gaps"]) == (1_000 * US, 3)


def test_each_says_what_the_host_did_and_where_the_longest_piece_lies(
    bare: Any, tables: Any
) -> None:
    _, late, unknown = bubbles.context(bare.result, tables)["causes"]
    assert late["during"] == "encoding 75.0 %, not known 25.0 %"
    assert (late["start"], late["end"]) == (100 * US, 160 * US)
    assert unknown["during"] == "not known 100.0 %"


def test_it_says_how_the_gaps_came_about(bare: Any, tables: Any) -> None:
    assert bubbles.context(bare.result, tables)["states"] == [
        ("with the next command buffer committed", 0.5),
        ("with nothing committed, for reasons not known", 0.4),
        ("where nothing tells when work was committed", 0.1),
    ]


def test_shares_that_a_missing_table_could_change_are_marked(bare: Any, tables: Any) -> None:
    assert bubbles.context(bare.result, tables)["unsure"] == ""
    tables["causes"] = pd.DataFrame({"cause": ["driver", "host-late"], "reason": ["no x.", None]})
    assert bubbles.context(bare.result, tables)["unsure"] == (
        "These shares are not sure, as time of one cause may count for another: no x."
    )


def test_what_is_unattributed_is_said_where_it_is_nought(bare: Any, tables: Any) -> None:
    tables["gaps"] = tables["gaps"].iloc[:3]
    last = bubbles.context(bare.result, tables)["causes"][-1]
    assert (last["cause"], last["count"], last["total"], last["share"]) == (
        "unattributed",
        0,
        0,
        0.0,
    )
    shown = environment_of(str).get_template(f"{bubbles.name}.html")
    assert "unattributed" in shown.render(bubbles.context(bare.result, tables))


def test_a_device_that_was_never_idle_has_no_causes(bare: Any, tables: Any) -> None:
    tables["gaps"] = tables["gaps"].iloc[:0]
    context = bubbles.context(bare.result, tables)
    assert (context["absence"], context["idle"], context["causes"]) == ("", 0, [])


def test_without_load_it_says_why(bare: Any, host_run: Any) -> None:
    absence = bubbles.context(bare.result, {})["absence"]
    assert absence == "the recording has no table loaded"
    unknown = bubbles.context(bare.result, Given(host_run.tables, bare.result.provenance))
    assert "which process is the target is not known" in unknown["absence"]


def test_a_run_has_its_own_gaps(host_run: Any) -> None:
    context = bubbles.context(host_run.result, Given(host_run.tables, host_run.result.provenance))
    assert context["absence"] == ""
    assert context["idle"] == 17 * 1_000_000
    page = render(host_run.result, host_run.tables, redact=str)
    assert "Idle for 17 ms of 38 ms in the steady window" in page
