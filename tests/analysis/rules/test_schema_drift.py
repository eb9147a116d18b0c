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


def test_columns_that_are_null_for_want_of_others_are_named() -> None:
    schema = "metal-gpu-intervals"
    lacking = ("lacking", "gpu_intervals", schema, "process, bytes", "words")
    [finding] = judge(remarks(lacking))
    assert finding.severity is Severity.WARNING
    assert f"{schema} lacks process, bytes, so that" in finding.message
    for name in ("process", "pid", "target", "bytes"):
        assert name in finding.message.partition("so that")[2]


NEW = ("unknown", "gpu_states", "metal-gpu-state-intervals", "mood", "x: does not know: mood")
ODD = ("changed", "", "metal-gpu-state-intervals", "", "color is declared as a and holds b")
GONE = ("unreadable", "steps", "", "", "The export of host-steps has no column start.")
NULL = ("changed", "resource_allocations", "metal-x", "", "parent is left null")
CUT = ("damaged", "gpu_states", "metal-gpu-state-intervals", "", "cut")


def test_what_is_lost_is_a_warning_and_what_is_new_a_note() -> None:
    assert not list(judge(remarks(CUT)))
    lost, new = judge(remarks(NEW, GONE, NULL, ODD, CUT))
    assert (lost.severity, new.severity) == (Severity.WARNING, Severity.NOTE)
    said = "parent is left null; The export of host-steps has no column start."
    assert lost.message.endswith(said)
    assert "does not know: mood; color is declared" in new.message


def test_it_abstains_on_tables_that_no_export_gave() -> None:
    with pytest.raises(Unavailable, match="not read from exports"):
        list(judge(None))
