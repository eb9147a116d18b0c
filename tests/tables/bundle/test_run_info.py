"""How a run went, what was noted of it, and the table of contents of a bundle."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bundle_writer import TIME, Col, Issue, Run, RunInfo, Table, write_bundle, write_runs
from bundle_writer.document import DEVICE, describe_run
from bundle_writer.keyed import Archived
from small_bundle import SYMBOL_STORES, TICK, process, process_info, ticks, write_documented_bundle
from tracekit.base.recording import Process
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of, losses_of, run_info, toc_of
from tracekit.tables.losses import Loss
from tracekit.tables.toc import TocRun, TocTable, read_toc

SETTINGS = {
    "Hangs": [{"Reporting Threshold": "Brief (>100 ms)"}],
    "Metal Application": [{"GPU": ["Counter Set: (null)", "Quiet"]}, {"Depth": 3}],
}
SAID = RunInfo(
    arguments="-c 1",
    start=1774906678.749009,
    end=1774906679.640237,
    duration=0.8912279999,
    settings=SETTINGS,
)
INFO = describe_run(SAID) | {"_environment": {"TOKEN": "secret", "HOME": "/nowhere"}}
CLOCK = {DEVICE: [0, 125, 3, 1000, 1774906678.749009, "America/Los_Angeles"]}
PROCESSES = [
    process(0, "/System/Library/Kernels/kernel.release.t8103", "kernel"),
    process(4711, "/opt/python3", "python3"),
    process(6723, "com.apple.CoreSi", "com.apple.CoreSimulator"),
]
STORES = {1: {f"{DEVICE}.{pid}": {} for pid in (6723, 0, 8)} | {"no process": {}}}
PYTHON = Process(4711, "python3")


def read_run_info(
    folder: Path, clock: Any = CLOCK, **changed: Any
) -> tuple[TocRun, tuple[Loss, ...]]:
    info = Archived("XRRunInfo", INFO | changed)
    run = {"runInfo": info, "processDatas": PROCESSES, "mach_time_info": clock}
    return run_info(write_documented_bundle(folder, run, **{SYMBOL_STORES: STORES}).runs[0])


def test_a_launched_process_with_numbers_as_numbers_or_texts(tmp_path: Path) -> None:
    run, losses = read_run_info(tmp_path / "numbers", _targetProcessPid=4711, _targetExitStatus=0)
    golden = Path(__file__).parents[1] / "goldens" / "run-of-a-document.json"
    assert msgspec.json.format(msgspec.json.encode(run)).decode() == golden.read_text().strip()
    assert losses == ()
    assert read_run_info(tmp_path / "texts") == (run, losses)


@pytest.mark.parametrize("pid", [None, "", "soon", True, b"4711"])
def test_a_target_without_a_pid_is_that_of_the_analysis_and_said(tmp_path: Path, pid: Any) -> None:
    run, (loss,) = read_run_info(tmp_path, _targetProcessPid=pid)
    assert run.target == PYTHON
    less = "does not say the target's pid; the parameters of the analysis say 4711."
    assert str(loss) == f"The runInfo of run 1 in the form.template of made.trace {less}"


def test_missing_documents_are_named(tmp_path: Path) -> None:
    missing_fields = {"_targetOperatingSystem": None, "_rawDuration": "long", "targetType": None}
    _, (loss,) = read_run_info(tmp_path, **missing_fields)
    assert str(loss).endswith("does not say the system, the kind of target, the duration.")


def test_an_attached_process_and_all_processes(tmp_path: Path) -> None:
    run, _ = read_run_info(tmp_path / "a", targetType=2, _arguments=None, _targetExitStatus=None)
    assert (run.target, run.target_type) == (PYTHON, "attached")
    assert (run.arguments, run.exit_status, run.termination_reason) == ("", "", "")
    run, _ = read_run_info(tmp_path / "all", targetType=0, _targetProcessPid=-1)
    assert run.all_processes
    assert (run.target, run.target_type, run.exit_status) == (None, "", "")


@pytest.mark.parametrize(
    ("status", "reason"),
    [(0, "exit(0)"), (32, "exit(32)"), (255, "exit(255)"), (1, ""), (31, ""), (-9, "")],
)
def test_a_status_that_may_be_a_signal_gives_no_reason(
    tmp_path: Path, status: int, reason: str
) -> None:
    run, losses = read_run_info(tmp_path, _targetExitStatus=status)
    assert (run.exit_status, run.termination_reason) == (str(status), reason)
    unsure = [f"{status} may be its exit status or a signal" in str(loss) for loss in losses]
    assert unsure == ([] if reason else [True])


LOCAL, UTC = "2026-03-30T23:37:58.749+02:00", "2026-03-30T21:37:58.749Z"
BERLIN = Archived("NSTimeZone", {"NS.name": "Europe/Berlin", "NS.data": b"TZif"})


def test_dates_are_in_the_zone_of_the_device(tmp_path: Path) -> None:
    unknown = ((zone, UTC) for zone in ("GMT", "no/such zone", "../../../etc/passwd", "", 7))
    for place, (zone, date) in enumerate((("Europe/Berlin", LOCAL), (BERLIN, LOCAL), *unknown)):
        run, _ = read_run_info(tmp_path / str(place), clock={"another": [0, 1, 1, 0, 0, zone]})
        assert run.start_date == date, zone


@pytest.mark.parametrize("seconds", [None, "soon", 1e300, float("inf"), float("nan"), 1 << 63])
def test_a_moment_that_no_calendar_has_is_left_out(tmp_path: Path, seconds: Any) -> None:
    run, _ = read_run_info(tmp_path, _rawStartTime=seconds, _rawDuration=seconds)
    assert (run.start_date, run.duration) == ("", None)


LESS = "Device, template, settings, duration and end of run 1 are not available, because "


@pytest.mark.parametrize(
    ("name", "value"), [("runInfo", None), ("runInfo", "a text"), ("mach_time_info", "now")]
)
def test_a_document_in_an_unknown_form_is_reported(tmp_path: Path, name: str, value: Any) -> None:
    run_members = {"runInfo": Archived("XRRunInfo", INFO), "processDatas": PROCESSES, name: value}
    run, (loss, *_) = run_info(write_documented_bundle(tmp_path, run_members).runs[0])
    assert run.device == {"os-version": "26.3.1"}
    assert str(loss).startswith(f"{LESS}the document of made.trace ")


SAMPLED = Col("update-time", "Time", "XRSampleTimestampTypeID", TIME)
STARTED = Col("trace-start-time", "Start", "XRTimeSinceEpochTypeID")
TABLES = (
    Table("time-info", [SAMPLED]),
    Table("time-info", [SAMPLED, STARTED]),
    Table("time-info", [SAMPLED, STARTED], [(0, None)]),
    Table("time-info", [SAMPLED, STARTED], [(0, Decimal("1774906678.749008896"))]),
    process_info((4711, "python3")),
)


def test_without_a_document_target_system_and_start_are_known(tmp_path: Path) -> None:
    toc_run, losses = run_info(write_documented_bundle(tmp_path, None, tables=TABLES).runs[0])
    expected_run = TocRun(1, {"os-version": "26.3.1"}, PYTHON, start_date=UTC)
    assert toc_run == expected_run
    assert [*map(str, losses)] == [f"{LESS}made.trace has no form.template."]


def test_absent_parameters_are_empty(tmp_path: Path) -> None:
    empty_parameters = {"binding": {"osx-version": None}, "modeling": {"target-pid": "SINGLE"}}
    bundle = write_bundle(tmp_path / "made.trace", (), with_document=False, **empty_parameters)
    assert run_info(Bundle(bundle).runs[0])[0] == TocRun(1)


NAME = "Trace1.run/RunIssues.storedata"
MAPPING = Issue("Data stream: Time Mapping")
HEALTHY = (
    'Instruments noted once "Data stream: Time Mapping", as in nearly every trace that is whole.'
)


def read_issues(bundle: Path) -> tuple[str, ...]:
    opened = Bundle(bundle)
    return tuple(map(str, issues_of(opened, opened.runs[0])))


def with_issues(folder: Path, *issues: Issue) -> Path:
    return write_bundle(folder / "made.trace", [TICK], issues=issues)


def test_issues_are_counted_by_kind_and_common_ones_alarm_nobody(
    tmp_path: Path,
) -> None:
    bundle = with_issues(
        tmp_path,
        Issue("Data stream: Signpost\nintervals", kind=1, count=1200, nanoseconds=7),
        Issue("Data stream: Signpost\nintervals", kind=1, count=34, nanoseconds=9),
        MAPPING,
    )
    healthy, counted_issue = read_issues(bundle)
    assert healthy == HEALTHY
    assert counted_issue.startswith(
        'Instruments noted 1,234 times "Data stream: Signpost intervals"; how'
    )


def test_long_and_many_issues_are_cut(tmp_path: Path) -> None:
    issues = (Issue(f"{number:02} {'x' * 500}", count=0) for number in range(25))
    issue_texts = read_issues(with_issues(tmp_path, *issues))
    assert len(issue_texts) == 20
    assert issue_texts[0].startswith('Instruments noted once "00 xxx')
    assert len(issue_texts[0]) < 300
    [whole_issue] = read_issues(with_issues(tmp_path / "other", Issue("y" * 200, count=0)))
    assert f'"{"y" * 200}"' in whole_issue


def test_a_missing_or_damaged_database_is_reported(tmp_path: Path) -> None:
    bundle, damaged = with_issues(tmp_path), "is not a readable database."
    (bundle / NAME).unlink()
    empty = b"SQLite format 3\0" + bytes(200)
    for content, reason in ((b"", "is missing."), (b"no database", damaged), (empty, damaged)):
        if content:
            (bundle / NAME).write_bytes(content)
        (loss_text,) = read_issues(bundle)
        assert loss_text.startswith("The remarks of Instruments on run 1 are not available: "), (
            content
        )
        assert loss_text.endswith(f"{NAME} {reason}"), content


CONTENTS = (
    ticks([1], {"frequency": 10}),
    Table("kdebug", TICK.columns, [], {"codes": ["0x85,0x3", "33"], "target": "SINGLE"}),
    ticks([], {"frequency": 1}),
)


def test_tables_have_the_order_of_their_stores_and_runs_their_own(tmp_path: Path) -> None:
    blank = RunInfo(template_name="Blank", instruments_version="")
    runs = {1: Run(CONTENTS, issues=()), 3: Run(CONTENTS[:1], info=blank, issues=(Issue("odd"),))}
    bundle = Bundle(write_runs(tmp_path / "a.trace", runs))
    first_run, third = toc_of(bundle).runs
    assert first_run.tables == (
        TocTable(1, "tick", {"frequency": "10"}),
        TocTable(2, "kdebug", {"codes": '"0x85,0x3" 33', "target": "SINGLE"}),
        TocTable(3, "tick", {"frequency": "1"}),
    )
    assert (first_run.number, first_run.template, first_run.target) == (
        1,
        "Metal System Trace",
        PYTHON,
    )
    assert (third.number, third.template, len(third.tables)) == (3, "Blank", 1)
    assert [len(issues_of(bundle, run)) for run in bundle.runs] == [0, 1]
    assert [len(losses_of(bundle, number)) for number in (1, 3, None)] == [0, 1, 1]


UNNAMED = "which it does not name"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        *((version, None) for version in ("26.0 (17A5295f)", "26.0 (17C529)")),
        *((version, UNNAMED) for version in ("", "26.0", "26.0 ()", "(a build; no build)")),
        ("27.0 (18A1)", "18A1"),
    ],
)
def test_an_unverified_build_is_reported(tmp_path: Path, version: str, said: str | None) -> None:
    info = RunInfo(instruments_version=version)
    losses = losses_of(Bundle(write_bundle(tmp_path / "made.trace", [TICK], info=info)))
    message_start = f"Reading made.trace is not verified for its build of Instruments, {said}; "
    assert [str(loss).startswith(message_start) for loss in losses] == (
        [] if said is None else [True]
    )


def test_a_missing_document_is_reported(tmp_path: Path) -> None:
    build, info, names = map(str, losses_of(write_documented_bundle(tmp_path, None)))
    assert UNNAMED in build
    assert info.startswith("Device, template, settings")
    assert names.startswith("Names of processes and threads")


def describe_table(table: TocTable) -> tuple[str, tuple[tuple[str, str], ...]]:
    return table.schema, tuple(sorted(table.attributes.items()))


@pytest.mark.corpus
def test_a_real_bundle_without_a_document_equals_its_export(corpus: Path) -> None:
    folder = next(corpus.rglob("gpu_baseline.trace")).parent
    bundle = Bundle(folder / "gpu_baseline.trace")
    (direct_run,), (real,) = toc_of(bundle).runs, read_toc(folder / "gpu_baseline_toc.xml").runs
    assert len(direct_run.tables) == 114
    assert Counter(map(describe_table, direct_run.tables)) == Counter(
        map(describe_table, real.tables)
    )
    assert direct_run.target == real.target
    assert real.device["os-version"].startswith(f"{direct_run.device['os-version']} (")
    assert (direct_run.start_date, real.start_date) == (UTC, "2026-03-30T14:37:58.749-07:00")
    assert replace(direct_run, target=None, device={}, start_date="", tables=()) == TocRun(1)
    assert len(losses_of(bundle)) == 3
    (issue,) = issues_of(bundle, bundle.runs[0])
    assert str(issue).startswith('Instruments noted once "Data stream: Time Mapping"')
