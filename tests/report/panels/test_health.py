from dataclasses import replace
from typing import Any

from tracekit.capabilities import Capabilities, Identity
from tracekit.report.panels.health import health


def test_rows_are_counted_with_those_of_the_target(trace_run: Any) -> None:
    gates = {one.table: one for one in health.context(trace_run.result, trace_run.tables)["gates"]}
    assert (gates["gpu_intervals"].rows, gates["gpu_intervals"].own) == (6, 4)
    assert gates["gpu_intervals"].source == "GPU times, from the trace"
    assert gates["steps"].absence == "the recording has no table steps"


def test_rows_that_name_no_process_are_nobodys(host_run: Any) -> None:
    gates = {one.table: one for one in health.context(host_run.result, host_run.tables)["gates"]}
    assert (gates["phases"].rows, gates["phases"].own) == (3, None)
    assert (gates["submissions"].rows, gates["submissions"].own) == (5, 5)


def test_an_empty_table_is_not_shown_as_nought(host_run: Any) -> None:
    emptied = host_run.emptied()
    for gate in health.context(emptied.result, emptied.tables)["gates"]:
        assert gate.absence


def test_clocks_and_warnings_are_passed_on(host_run: Any) -> None:
    context = health.context(host_run.result, host_run.tables)
    assert context["clock"] == [("origin", "123"), ("clock", "monotonic")]
    assert context["warnings"] == ("The machine had 1.4 other cores busy.",)


def test_what_the_machine_can_record_is_passed_on(trace_run: Any) -> None:
    known = Capabilities(Identity(chip="Apple M1"), "2026-11-20T10:15:03+00:00")
    provenance = replace(trace_run.result.provenance, capabilities=known)
    context = health.context(replace(trace_run.result, provenance=provenance), trace_run.tables)
    assert context["capabilities"] == known
    assert context["recorder"] == trace_run.result.provenance.recorder
