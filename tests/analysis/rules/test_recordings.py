"""Rules on the recording itself: is it whole and as its readers know it, did it fail or cost much?

`capture-empty`, `capture-truncated`, `schema-drift`, `command-buffer-errors`, `trace-overhead`.
"""

from typing import Any

import pandas as pd
import pytest

from analysed import SECOND, Golden, intervals, judge_tables, phases, table
from tracekit.analysis.inject import NotApplicable, Unavailable, inject
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Overhead, Provenance, Stage


def test_no_row_of_the_target_is_an_error(golden: Golden) -> None:
    other_rows = [(0, 1), (2, 1)]
    of_others = judge_tables("capture-empty", gpu_intervals=intervals([], other_times=other_rows))
    golden(*of_others, *judge_tables("capture-empty", gpu_intervals=intervals([])))
    assert not judge_tables(
        "capture-empty", gpu_intervals=intervals([(0, 1)], other_times=other_rows)
    )
    with pytest.raises(Unavailable, match="--target"):
        judge_tables("capture-empty", has_targets=False, gpu_intervals=intervals([(0, 1)]))


def losses(*rows: tuple[str, str, str, str, str]) -> pd.DataFrame:
    names = ["flaw", "table", "schema", "column", "text"]
    return pd.DataFrame(list(rows), columns=names, dtype="string")


LACKING = ("lacking", "gpu_intervals", "metal-gpu-intervals", "process, bytes", "words")
DAMAGED = ("damaged", "", "metal-gpu-intervals", "", "a.xml: cut after row 7.")


def judge_truncation(
    target_rows: list[tuple[float, float]] | None,
    steady: tuple[float, float] | None = None,
    reported_losses: pd.DataFrame | None = None,
    steps: pd.DataFrame | None = None,
    **provenance: Any,
) -> list[Finding]:
    """Judge work and a steady phase of (start, length) in s, losses, and steps."""
    tables = {"losses": reported_losses, "steps": steps}
    if target_rows is not None:
        rows = [(round(start * SECOND), round(length * SECOND)) for start, length in target_rows]
        tables["gpu_intervals"] = intervals(rows, other_times=[(0, 5)])
    if steady is not None:
        tables["phases"] = phases(*(round(time * SECOND) for time in steady))
    there = {name: table for name, table in tables.items() if table is not None}
    given_values = {**there, "provenance": Provenance(**provenance)}
    return list(inject(RULES["capture-truncated"].judge, given_values))


def test_whole_recordings_are_passed_and_damaged_exports_named_once(golden: Golden) -> None:
    finished_stages = {"record": Stage("done", ""), "export": Stage("done", "")}
    assert not judge_truncation([(1, 1), (2, 8)], (1, 9), losses(), stages=finished_stages)
    assert not judge_truncation([(0, 1)], reported_losses=losses(LACKING))
    golden(*judge_truncation([(0, 1)], reported_losses=losses(DAMAGED, DAMAGED)))


def test_a_stage_that_did_not_end_and_a_workload_that_never_became_steady_are_reported(
    golden: Golden,
) -> None:
    failed, running = Stage("failed", "", "xctrace hung."), Stage("running", "")
    golden(
        *judge_truncation(None, reported_losses=losses(), stages={"record": failed}),
        *judge_truncation(None, reported_losses=losses(), stages={"record": running}),
        *judge_truncation(
            None, reported_losses=losses(), stages={"export": Stage("interrupted", "", "stopped")}
        ),
        *judge_truncation(
            None, reported_losses=losses(), stages={"record": Stage("interrupted", "", "stopped")}
        ),
        *judge_truncation(None, reported_losses=losses(), stages={"import": failed}),
        *judge_truncation(
            None,
            reported_losses=losses(),
            stages={"recover": Stage("incomplete", "", "Recovered, incomplete: 3 MB")},
        ),
    )
    early = phases(SECOND, SECOND).iloc[:1]
    tables = {"gpu_intervals": pd.DataFrame({"target": [True]}), "phases": early}
    [finding] = inject(RULES["capture-truncated"].judge, {**tables, "provenance": Provenance()})
    assert finding.wording == "capture-truncated-never-steady"


def test_device_work_that_does_not_cover_the_steps_was_cut(golden: Golden) -> None:
    golden(
        *judge_truncation([(1, 4)], (1, 9), end_reason="Time limit reached"),
        *judge_truncation([(4, 6)], (1, 9)),
        *judge_truncation([(0, 0.5)], (1, 1)),
    )
    # What the clocks may be off is no cut.
    assert len(judge_truncation([(1, 1)], (1, 1.15))) == 1
    assert not judge_truncation([(1, 1)], (1, 1.15), clock={"uncertainty": 60_000_000})
    assert not judge_truncation([(1, 1)], (1, 1.1))
    step_rows = (1, 1, None), (2, 8, None)
    steps = table("start duration variant", *step_rows, unit=SECOND, phase="steady")
    assert not judge_truncation([(1, 1)], (1, 9), steps=steps.assign(variant=["", "idle"]))
    assert len(judge_truncation([(1, 1)], (1, 9), steps=steps)) == 1
    assert len(judge_truncation([(1, 1)], steps=steps)) == 1  # without phases as well
    for target_rows in ([], None):
        with pytest.raises(Unavailable, match="no device interval of the target"):
            judge_truncation(target_rows, (1, 1), losses())
    with pytest.raises(Unavailable, match="neither exports nor device intervals"):
        judge_truncation(None)


drifted = RULES["schema-drift"].judge
SCHEMA = "metal-gpu-state-intervals"
NEW = ("unknown", "gpu_states", SCHEMA, "mood", "x: does not know: mood")
ODD = ("changed", "", SCHEMA, "", "color is declared as a and holds b")
GONE = ("unreadable", "steps", "", "", "The export of host-steps has no column start.")
NULL = ("changed", "resource_allocations", "metal-x", "", "parent is left null")


def test_missing_exports_are_a_warning_and_new_ones_a_note(golden: Golden) -> None:
    whole_run, cut_run = Provenance(), Provenance(stages={"export": Stage("failed", "", "")})
    assert not list(drifted(losses(), whole_run))
    for words, reported_losses, provenance in (
        ("not read from exports", None, whole_run),
        ("cut after row 7", losses(DAMAGED), whole_run),
        ("the stage `export` is not complete", losses(), cut_run),
    ):
        with pytest.raises(Unavailable, match=words):
            list(drifted(reported_losses, provenance))
    all_losses = losses(NEW, GONE, NULL, ODD, DAMAGED)
    golden(*drifted(losses(LACKING), whole_run), *drifted(all_losses, cut_run))


WORK = intervals([(0, 5), (10, 5)], other_times=[(20, 5)]).assign(
    command_buffer=pd.array([1, 2, 3], dtype="UInt64")
)


def judge_errors(*rows: tuple[int, int, int], **tables: Any) -> list[Finding]:
    frame = pd.DataFrame(rows, columns=["time", "command_buffer", "error"])
    frame = frame.astype({"command_buffer": "UInt64", "error": "Int64"})
    error_tables = {"gpu_intervals": WORK, "command_buffer_errors": frame}
    return judge_tables("command-buffer-errors", **{**error_tables, **tables})


def test_errors_of_the_target_are_counted_by_kind(golden: Golden) -> None:
    rows = (7, 1, 8), (9, 2, 8), (11, 5, 2), (12, 3, 2), (13, 1, 0), (14, 6, 2)
    sent = table("start command_buffer target", (0, 5, True), (1, 6, False), duration=1)
    golden(
        *judge_errors(*rows, submissions=sent), *judge_errors((7, 9, 99))
    )  # the last is nobody's
    assert not judge_errors((7, 3, 2))  # another process's
    assert not judge_errors()
    with pytest.raises(Unavailable, match="metal-command-buffer-error"):
        judge_tables("command-buffer-errors", gpu_intervals=WORK)


def facts_of(errors: list[tuple[int, int, int]], *names: str, **tables: Any) -> list[Any]:
    [finding] = judge_errors(*errors, **tables)
    return [finding.lever, *(finding.fact(name) for name in names)]


def make_submissions(*rows: tuple[int, int]) -> pd.DataFrame:
    """Make `submissions` of (command buffer, commit) of the target."""
    return table("command_buffer start", *rows, unit=1, duration=0, target=True)


def test_a_timeout_worked_or_waited() -> None:
    course = "began", "worked", "ran", "waited", "blocker"
    for error, commit, expected in (
        ((15, 2, 2), 10, ["error-timeout", True, True, 5, 0, ""]),
        ((16, 2, 2), 4, ["error-timeout-waiting", True, False, 5, 7, "idle"]),
        ((15, 2, 2), 0, ["error-timeout", True, True, 5, 10, "own"]),  # its turn comes after 1
        ((28, 9, 2), 18, ["error-timeout-waiting", False, False, 0, 10, "others"]),
        ((16, 9, 2), 0, ["error-timeout-waiting", False, False, 0, 16, "own"]),
        ((16, 9, 2), None, ["error-timeout-waiting", False, False, None, None, ""]),
    ):
        sent = make_submissions() if commit is None else make_submissions((error[1], commit))
        assert facts_of([error], *course, submissions=sent) == expected, (error, commit)


def test_without_the_device_s_times_a_timeout_is_neither() -> None:
    ids = [None] * 3, [1] * 3  # some traces number all command buffers alike
    numbered = [
        WORK.assign(command_buffer=pd.array(buffer_ids, dtype="UInt64")) for buffer_ids in ids
    ]
    for work in (*numbered, None):
        facts = facts_of([(28, 9, 2)], "began", "worked", gpu_intervals=work)
        assert facts == ["error-other", None, None], work


def test_the_first_error_is_the_cause() -> None:
    for errors, expected in (
        ([(9, 9, 8), (7, 8, 2)], ["error-timeout-waiting", 2, 0, "1 with too little memory"]),
        ([(7, 8, 4), (7, 9, 8)], ["error-out-of-memory", 8, 1, ""]),  # of one moment
        ([(7, 8, 4), (9, 9, 8)], ["error-cascade", 4, 0, "1 with too little memory"]),
        ([(7, 8, 9), (9, 9, 4), (9, 7, 4)], ["error-page-fault", 9, 2, ""]),
        ([(7, 8, 14)], ["error-timeout", 14, 0, ""]),
    ):
        facts = facts_of(errors, "code", "discarded_later", "others_later")
        assert facts == expected, errors


def test_the_first_error_is_named_although_another_process_made_it() -> None:
    for errors, culprit in (
        ([(5, 3, 3), (7, 9, 5)], "WindowServer"),
        ([(8, 3, 3), (7, 9, 5)], ""),  # it came later
        ([(5, 3, 4), (7, 9, 5)], ""),  # it was no cause either
    ):
        assert facts_of(errors, "culprit") == ["error-cascade", culprit], errors


def test_numbers_that_the_driver_and_metal_read_differently_are_named_twice() -> None:
    for errors, expected in (
        ([(7, 9, 3)], ["error-page-fault", "a page fault or a hang"]),
        ([(7, 9, 3), (8, 8, 5)], ["error-page-fault", "a hang"]),
        ([(7, 9, 11)], ["error-page-fault", "a page fault or the device removed"]),
        ([(7, 9, 11), (8, 8, 14)], ["error-page-fault", "a page fault"]),
        ([(7, 9, 9)], ["error-page-fault", "an invalid resource"]),
        ([(7, 9, 9), (8, 8, 5)], ["error-other", "an unknown error"]),
    ):
        assert facts_of(errors, "name") == expected, errors


def test_memory_is_compared_with_the_machine_s() -> None:
    sizes = table("start size target", (0, 5 << 30, True), (3, 12 << 30, True), (5, 1, False))
    mac = Provenance(machine={"memory": 16 << 30})
    for time, level, share in ((6_000_000, 12 << 30, 0.75), (2_000_000, 5 << 30, 0.3125)):
        facts = facts_of(
            [(time, 9, 8)], "level", "level_share", allocated_sizes=sizes, provenance=mac
        )
        assert facts == ["error-out-of-memory", level, share], time
    assert facts_of([(7, 9, 8)], "level", "memory") == ["error-out-of-memory", None, None]


def overhead(measured_overhead: Overhead | None, **limits: float) -> list[Finding]:
    recorded = Provenance(workload="paged", overhead=measured_overhead)
    return list(RULES["trace-overhead"].judge(recorded, **limits))


def test_a_costly_recorder_makes_times_void(golden: Golden) -> None:
    # Without a spread the ratio counts alone.
    golden(*overhead(Overhead(0.11, 0.02, 20, 20)), *overhead(Overhead(0.08)))
    assert not overhead(Overhead(0.08), limit=0.1)
    for ratio_and_spread in ((0.04, 0.01), (0.05, None), (-0.2, 0.01), (0.08, 0.09), (0.08, 0.08)):
        assert not overhead(Overhead(*ratio_and_spread, 20, 20)), ratio_and_spread
    with pytest.raises(Unavailable, match=r"was not measured: steps are too few\.$"):
        overhead(Overhead(reason="Steps are too few."))
    with pytest.raises(Unavailable, match=r"was not measured\.$"):
        overhead(None)
    with pytest.raises(NotApplicable, match="only measured for tracekit's workloads"):
        list(RULES["trace-overhead"].judge(Provenance(overhead=None)))
