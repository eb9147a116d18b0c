"""`capture-truncated`: a recording or an export that was cut."""

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from analysed import intervals, phases
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Provenance, Stage

Judge = Callable[..., list[Finding]]
SECOND = 1_000_000_000


def judge(
    own: list[tuple[float, float]] | None,
    steady: tuple[float, float] | None = None,
    said: pd.DataFrame | None = None,
    steps: pd.DataFrame | None = None,
    **provenance: Any,
) -> list[Finding]:
    """Judge work and a steady phase of (start, length) in s, remarks, and steps."""
    tables = {"remarks": said, "steps": steps}
    if own is not None:
        rows = [(round(start * SECOND), round(length * SECOND)) for start, length in own]
        tables["gpu_intervals"] = intervals(rows, others=[(0, 5)])
    if steady is not None:
        tables["phases"] = phases(*(round(time * SECOND) for time in steady))
    there = {name: table for name, table in tables.items() if table is not None}
    given = {**there, "provenance": Provenance(**provenance)}
    return list(inject(RULES["capture-truncated"].judge, given))


def remarks(*rows: tuple[str, str]) -> pd.DataFrame:
    cells = [(flaw, "", "metal-gpu-intervals", "", text) for flaw, text in rows]
    names = ["flaw", "table", "schema", "columns", "text"]
    return pd.DataFrame(cells, columns=names, dtype="string")


def steps(*spans: tuple[int, int], variant: str | None = None) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [start for start, _ in spans],
            "duration": pd.array([length for _, length in spans], dtype="Int64"),
            "phase": pd.array(["steady"] * len(spans), dtype="string"),
            "variant": pd.array([None] * (len(spans) - 1) + [variant], dtype="string"),
        }
    )


def test_whole_recordings_are_passed() -> None:
    whole = {"record": Stage("done", ""), "export": Stage("done", "")}
    assert not judge([(1, 1), (2, 8)], (1, 9), remarks(), stages=whole)
    assert not judge([(0, 1)], said=remarks(("lacking", "columns that the export lacks: label")))
    stopped = {"record": Stage("interrupted", "", "stopped early")}  # by a person
    assert not judge([(0, 1)], said=remarks(), stages=stopped)


def test_damaged_exports_are_named_once() -> None:
    damage = ("damaged", "a.xml: cut after row 7.")
    [finding] = judge([(0, 1)], said=remarks(damage, damage))
    assert finding.severity is Severity.ERROR
    assert finding.message.count("a.xml: cut after row 7.") == 1


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ({"record": Stage("failed", "", "xctrace hung.")}, "`record` did not .* xctrace hung"),
        ({"record": Stage("running", "")}, "nobody saw it end"),
        ({"export": Stage("interrupted", "", "stopped")}, "`export` did not .* stopped"),
    ],
)
def test_a_stage_that_did_not_end_is_reported(stages: dict[str, Stage], message: str) -> None:
    [finding] = judge(None, said=remarks(), stages=stages)
    assert finding.severity is Severity.ERROR
    assert re.search(message, finding.message)


@pytest.mark.parametrize(
    ("own", "steady", "words", "evidence"),
    [
        ((1, 4), (1, 9), "ends 5 s before its steady steps do: 55.6 %", (5, 10)),
        ((4, 6), (1, 9), "begins 3 s after its steady steps do: 33.3 %", (1, 4)),
        ((0, 0.5), (1, 1), "100.0 % of the steady phase", (1, 2)),
    ],
)
def test_device_work_that_does_not_cover_the_steps_was_cut(
    own: tuple[float, float], steady: tuple[float, float], words: str, evidence: tuple[int, int]
) -> None:
    [finding] = judge([own], steady, end_reason="Time limit reached")
    assert words in finding.message
    assert finding.message.endswith("Why recording ended: Time limit reached.")
    start, end = (at * SECOND for at in evidence)
    assert finding.evidence == (Evidence("gpu_intervals", start, end, "not recorded"),)


def test_what_the_clocks_may_be_off_is_no_cut() -> None:
    assert len(judge([(1, 1)], (1, 1.15))) == 1
    assert not judge([(1, 1)], (1, 1.15), clock={"uncertainty": 60_000_000})
    assert not judge([(1, 1)], (1, 1.1))


def test_steps_that_only_waited_for_load_need_no_work() -> None:
    rows = ((SECOND, SECOND), (2 * SECOND, 8 * SECOND))
    assert not judge([(1, 1)], (1, 9), steps=steps(*rows, variant="idle"))
    assert len(judge([(1, 1)], (1, 9), steps=steps(*rows))) == 1
    assert len(judge([(1, 1)], steps=steps(*rows))) == 1  # without phases as well


def test_a_workload_that_never_became_steady_is_reported() -> None:
    early = phases(SECOND, SECOND).iloc[:1]
    tables = {"gpu_intervals": pd.DataFrame({"target": [True]}), "phases": early}
    given = {**tables, "provenance": Provenance()}
    [finding] = inject(RULES["capture-truncated"].judge, given)
    assert "did not come to its steady phase" in finding.message


def test_without_anything_to_look_at_it_abstains() -> None:
    for own in ([], None):
        with pytest.raises(Unavailable, match="no device interval of the target"):
            judge(own, (1, 1), remarks())
    with pytest.raises(Unavailable, match="neither exports nor device intervals"):
        judge(None)
