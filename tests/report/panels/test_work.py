"""What took time and why, what a server did, how to do it again: at the edges of the goldens."""

from typing import Any

import pandas as pd
import pytest

from stock import Stock
from tracekit.analysis import Given
from tracekit.base.recording import Provenance
from tracekit.report.panels.bubbles import bubbles
from tracekit.report.panels.reproduce import reproduce
from tracekit.report.panels.requests import requests
from tracekit.report.panels.work import MOST_ROWS, by_time, work

US, MS = 1_000, 1_000_000


@pytest.fixture
def gaps() -> dict[str, pd.DataFrame]:
    columns = ["start", "duration", "gap", "state", "cause", "during"]
    rows = [
        (100 * US, 60 * US, 0, "empty", "host-late", "encoding"),
        (160 * US, 20 * US, 0, "empty", "host-late", ""),
        (300 * US, 100 * US, 1, "queued", "late-start", "driver"),
        (500 * US, 20 * US, 2, "unknown", "unattributed", ""),
    ]
    loaded = pd.DataFrame({"start": [0], "duration": [1_000 * US]})
    return {"gaps": pd.DataFrame(rows, columns=columns), "loaded": loaded}


def test_causes_stand_by_their_time_and_come_to_all_of_it(bare: Any, gaps: Any) -> None:
    context = bubbles.context(bare.result, gaps)
    causes = [
        (one["cause"], one["count"], one["total"] // US, one["share"], one["during"])
        for one in context["causes"]
    ]
    assert causes == [
        ("late start", 1, 100, 0.5, "driver 100.0 %"),
        ("host late", 2, 80, 0.4, "encoding 75.0 %, not known 25.0 %"),
        ("unattributed", 1, 20, 0.1, "not known 100.0 %"),
    ]
    late = context["causes"][1]
    assert (late["start"], late["end"]) == (100 * US, 160 * US)
    assert (context["idle"], context["loaded"], context["gaps"]) == (200 * US, 1_000 * US, 3)
    assert [share for _, share in context["states"]] == [0.5, 0.4, 0.1]
    assert context["unsure"] == ""


def test_shares_that_a_missing_table_could_change_are_marked(bare: Any, gaps: Any) -> None:
    gaps["causes"] = pd.DataFrame({"cause": ["driver", "host-late"], "reason": ["no x.", None]})
    assert bubbles.context(bare.result, gaps)["unsure"].endswith("may count for another: no x.")


def test_idle_time_without_unknown_causes_without_any_and_without_load(
    bare: Any, host_run: Any, gaps: Any
) -> None:
    known = bubbles.context(bare.result, gaps | {"gaps": gaps["gaps"].iloc[:3]})["causes"][-1]
    assert (known["cause"], known["count"], known["share"]) == ("unattributed", 0, 0.0)
    never = bubbles.context(bare.result, gaps | {"gaps": gaps["gaps"].iloc[:0]})
    assert (never["absence"], never["idle"], never["causes"], never["states"]) == ("", 0, [], [])
    unknown = bubbles.context(bare.result, Given(host_run.tables, bare.result.provenance))
    assert "which process is the target is not known" in unknown["absence"]


def test_rows_beyond_the_first_are_summed(bare: Any, frame: Any) -> None:
    many = [
        {"start": at, "duration": 10, "channel": "Compute", "label": f"k{at}", "target": True}
        for at in range(MOST_ROWS + 4)
    ]
    context = work.context(bare.result, {"gpu_intervals": frame("gpu_intervals", many)})
    assert (len(context["groups"]), context["rest"], context["rest_total"]) == (MOST_ROWS, 4, 40)


def test_equal_totals_stand_by_name_and_rows_without_a_duration_do_not_count(frame: Any) -> None:
    table = frame(
        "gpu_intervals",
        [{"start": 1}, {"start": 9, "duration": 0, "label": "k"}]
        + [{"start": at, "duration": 5, "label": "ab"[at % 2]} for at in (5, 4, 7)],
    )
    groups = by_time(table, "channel", table["label"])
    assert [
        (one["channel"], one["label"], one["count"], one["share"], one["first"]) for one in groups
    ] == [
        ("not stated", "b", 2, pytest.approx(2 / 3), 5),
        ("not stated", "a", 1, pytest.approx(1 / 3), 4),
        ("not stated", "k", 1, 0.0, 9),
    ]


def test_it_says_how_often_an_iteration_has_each_kernel() -> None:
    made = Stock()
    for _ in range(20):
        for _ in range(3):
            made.buffer([200, 50], names=("gemv", "rope"))
        made.buffer([900], names=("softmax",))
        made.wait()
        made.spend(500)
    result = made.analyzed()
    context = work.context(result, Given(made.tables(), result.provenance))
    assert context["unit"] == "iteration"
    each = {group["label"].rpartition(":")[2]: group["each"] for group in context["groups"]}
    assert each == pytest.approx({"gemv": 3, "rope": 3, "softmax": 1}, abs=0.1)
    assert work.context(result, made.tables())["unit"] == ""


def test_a_server_that_was_never_busy_or_never_measured_says_so(served_run: Any) -> None:
    gauges = served_run.tables["gauges"]
    limit = gauges["name"] == "limit_active_sequences"
    roomy = gauges.assign(value=gauges["value"].where(~limit, 10.0))
    context = requests.context(served_run.result, {**served_run.tables, "gauges": roomy})
    assert context["parts"] == {}
    assert "at most 1 of 10 slots" in context["parts_absence"]
    less = requests.context(served_run.result, served_run.without("gauges").tables)
    assert less["charts"] == []
    assert less["latencies"][0][2] == 1
    early = {
        **served_run.tables,
        "requests": served_run.tables["requests"].iloc[1:],
        "request_tokens": served_run.tables["request_tokens"].iloc[:0],
    }
    found = requests.context(served_run.result, early)["latencies"]
    assert all(numbers == [] for *_, numbers in found)


XCTRACE = {"recorder": "xctrace", "templates": ("Metal System Trace",)}
HOST = {"recorder": "host", "workload": "gemm"}


@pytest.mark.parametrize(
    ("made", "command"),
    [
        (
            {**XCTRACE, "command": ("./probe", "a b"), "repeats": 3},
            (
                "tracekit capture --recorder xctrace --template 'Metal System Trace' "
                "--repeats 3 -- ./probe 'a b'"
            ),
        ),
        ({"recorder": "import", "workload": "paged"}, ""),
        (XCTRACE, ""),
        ({}, ""),
        (
            {**HOST, "parameters": {"ragged": True, "no": False, "sizes": [1, 2], "seed": None}},
            "tracekit capture --workload gemm --ragged --no-no --sizes 1 --sizes 2 --recorder host",
        ),
        (
            {**HOST, "workloads": "my own", "warmup": 0},
            "tracekit capture --workload gemm --recorder host --warmup 0 --workloads 'my own'",
        ),
    ],
)
def test_the_same_again_is_said_only_where_it_is_known(
    bare: Any, made: dict[str, Any], command: str
) -> None:
    result = bare.having(provenance=Provenance(**made)).result
    assert reproduce.context(result, {})["command"] == command
