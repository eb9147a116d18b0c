"""`schema-drift`: exports that are not as tracekit knows them."""

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity
from tracekit.analysis.rules import RULES

judge = RULES["schema-drift"].judge


def remarks(*rows: tuple[str, str, str, str, str]) -> pd.DataFrame:
    names = ["flaw", "table", "schema", "columns", "text"]
    return pd.DataFrame(list(rows), columns=names, dtype="string")


def test_exports_as_they_should_be_are_passed() -> None:
    assert not list(judge(remarks()))
    damaged = remarks(("damaged", "gpu_states", "metal-gpu-state-intervals", "", "cut"))
    assert not list(judge(damaged))


def test_columns_that_are_null_for_want_of_others_are_named() -> None:
    schema = "metal-gpu-intervals"
    lacking = ("lacking", "gpu_intervals", schema, "process, bytes", "words")
    [finding] = judge(remarks(lacking))
    assert finding.severity is Severity.WARNING
    assert f"{schema} lacks process, bytes, so that" in finding.message
    for name in ("process", "pid", "target", "bytes"):
        assert name in finding.message.partition("so that")[2]


def test_tables_that_cannot_be_made_and_columns_left_null_are_a_warning() -> None:
    [finding] = judge(
        remarks(
            ("unreadable", "steps", "", "", "The export of host-steps has no column start."),
            ("changed", "resource_allocations", "metal-x", "", "parent is left null"),
        )
    )
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith(
        "parent is left null; The export of host-steps has no column start."
    )


def test_new_columns_are_a_note() -> None:
    new = ("unknown", "gpu_states", "metal-gpu-state-intervals", "mood", "x: does not know: mood")
    odd = ("changed", "", "metal-gpu-state-intervals", "", "color is declared as a and holds b")
    [finding] = judge(remarks(new, odd))
    assert finding.severity is Severity.NOTE
    assert "does not know: mood; color is declared" in finding.message


def test_what_is_lost_and_what_is_new_are_two_findings() -> None:
    both = remarks(
        ("unknown", "gpu_states", "metal-gpu-state-intervals", "mood", "does not know: mood"),
        ("unreadable", "steps", "", "", "no column start"),
    )
    assert [one.severity for one in judge(both)] == [Severity.WARNING, Severity.NOTE]


def test_it_abstains_on_tables_that_no_export_gave() -> None:
    with pytest.raises(Unavailable, match="not read from exports"):
        list(judge(None))
