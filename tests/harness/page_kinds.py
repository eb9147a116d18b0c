"""A page of each kind, made from literal or made data: the same pages for all tests of layouts.

All pages are made in one folder, and a run that is part of two pages is recorded there once.
"""

import shutil
from pathlib import Path

import made_nights
from labelled.corpus import Trace
from labelled.folder import write
from labelled.program import simulate
from report_runs import host_run, profiled_run, replayed_run, served_run
from tracekit import open as open_run
from tracekit import pipeline
from tracekit.analysis.result import Better, Measurement, Result, RuleCheck, Status
from tracekit.base.recording import Process, Provenance
from tracekit.comparison import runs
from tracekit.fleet import index
from tracekit.fleet.batch.page import render_batch
from tracekit.fleet.batch.results import BatchRow, RowFinding
from tracekit.nightly.trend.page import render_trend
from tracekit.pages.render import render

FAULTS = ("pipeline-churn", "late-start", "memory-growth")
NUMBER_OF_RECORDINGS = 80


RUNS = {
    "good": Trace(2),
    "slow": Trace(4, FAULTS),
    "before": Trace(4),
    "after": Trace(4, FAULTS[::2]),
}


def make_run(folder: Path, name: str) -> Path:
    """Return the folder of a run of `RUNS`, with its result and its page."""
    run = folder / name
    if not run.exists():
        recording = write(simulate(RUNS[name].setup()), run)
        pipeline.analyze(recording)
        pipeline.report(recording)
    return run


def read_page(run: Path) -> str:
    return (run / "report.html").read_text("utf-8")


def make_nothing_found(folder: Path) -> str:
    run = make_run(folder, "good")
    assert not open_run(run).result.findings
    return read_page(run)


def make_three_findings(folder: Path) -> str:
    run = make_run(folder, "slow")
    assert len(open_run(run).result.findings) == 3
    return read_page(run)


def make_profile(_: Path) -> str:
    run = profiled_run()
    return render(run.result, run.tables, redact=str)


def make_program(_: Path) -> str:
    """The page of a program that printed two numbers, of which nothing else is known."""
    rates = [
        Measurement(name, value, "tokens/s", Better.HIGHER)
        for name, value in (("prefill_rate", 812.5), ("decode_rate", 41.7))
    ]
    result = Result(
        Provenance(
            recorder="host", command=("./decode", "--model", "small.bin"),
            targets=(Process(77, "decode"),), duration=2.8, machine={"chip": "Apple M4"},
        ),
        results=tuple(rates),
        checks=(RuleCheck("bubbles", Status.ABSTAINED, "the recording has no GPU work."),),
    )  # fmt: skip
    return render(result, {}, redact=str)


def make_host_recording(_: Path) -> str:
    run = host_run()
    return render(run.result, run.tables, redact=str)


def make_serving(_: Path) -> str:
    run = served_run()
    return render(run.result, run.tables, redact=str)


def make_replay(_: Path) -> str:
    run = replayed_run()
    return render(run.result, run.tables, redact=str)


def make_comparison(folder: Path) -> str:
    """The page of two made runs, of which the second has two faults."""
    before, after = make_run(folder, "before"), make_run(folder, "after")
    return runs.compare_paths([before], [after]).render_page()


def make_batch(_: Path) -> str:
    """The page of recordings in a deep folder, of which some failed."""
    finding = RowFinding("bubbles", "warning", "The GPU idles 12 % of the steady window.", "", 2.5)
    rows = [
        BatchRow(
            f"s3://bucket/a/rather/long/folder/of/traces/run-{number:03d}.trace",
            *("k", "k", "", "run", "ok"),
            device="Apple M4, macOS 26.3.1",
            metrics={"gpu_busy": 1e6 * (number % 17), "tokens_per_second": 900.0 + number},
            findings=(finding,) if number % 3 else (),
        )
        for number in range(NUMBER_OF_RECORDINGS - 5)
    ]
    rows += [
        BatchRow(
            f"s3://bucket/a/rather/long/folder/bad-{number}.trace",
            *("k", "k", "", "run", "failed", "It is cut.", "Export it."),
        )
        for number in range(5)
    ]
    return render_batch(rows, "out", redact=str)


def make_index(folder: Path) -> str:
    """The page of a folder with a run that is well and one that is not."""
    runs_folder = folder / "runs"
    for name in ("good", "slow"):
        shutil.copytree(make_run(folder, name), runs_folder / name)
    return index.write_index(runs_folder).read_text("utf-8")


def make_trend(_: Path) -> str:
    history = made_nights.history()
    return render_trend(
        history.series, history.nights, history.accepted, missed=history.missed_nights,
        now=made_nights.NOW, redact=str, links=str,
    )  # fmt: skip


KINDS = {
    "nothing found": make_nothing_found,
    "three findings": make_three_findings,
    "CPU profile": make_profile,
    "program": make_program,
    "comparison": make_comparison,
    "batch": make_batch,
    "trend": make_trend,
    "runs of a folder": make_index,
    "host recording": make_host_recording,
    "serving": make_serving,
    "replay": make_replay,
}
"""Each takes the folder of all pages, and returns a page. A real trace comes from the corpus."""
