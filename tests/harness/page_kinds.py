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
from tracekit.base import Verdict
from tracekit.base.recording import Process, Provenance
from tracekit.comparison import runs
from tracekit.comparison.compare import Comparison
from tracekit.comparison.differences import Difference, Weight
from tracekit.comparison.page import render_comparison
from tracekit.comparison.samples import Order
from tracekit.comparison.verdicts import Change
from tracekit.fleet import index
from tracekit.fleet.batch.page import render_batch
from tracekit.fleet.batch.results import BatchRow, RowFinding
from tracekit.lab.bench.document import Bench, BenchRow, Timing, save, summarize
from tracekit.lab.bench.inputs import Shape
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


# Ten samples of 10 ms that vary by about 0.2 %.
QUICK = tuple(10_000_000 + 20_000 * place for place in (0, 1, -1, 2, -2, 0, 1, -1, 2, -2))


def make_benches(folder: Path) -> str:
    """The page of two benches: one of six subjects takes 20 % longer, one 40 % less."""
    names = ("paged", "sdpa", "naive", "prefill", "append", "norm-fused")
    changes = {"paged": 1.2, "sdpa": 0.6}
    files: list[Path] = []
    for side, machine in (("before", "macOS 26.1"), ("after", "macOS 26.3")):
        rows: list[BenchRow] = []
        for name in names:
            factor = changes.get(name, 1.0) if side == "after" else 1.0
            samples = tuple(factor * sample for sample in QUICK)
            micro = Timing(samples, 1, summarize(samples))
            rows.append(BenchRow(name, "decode", "measured", micro=micro))
        environment = {"machine": {"chip": "Apple M4 Max", "os": machine}, "tracekit": "0.1.0"}
        files.append(folder / f"bench-{side}.json")
        save(Bench(environment, Shape(), {"warmup": 3}, rows), files[-1])
    return runs.compare_paths(files[:1], files[1:]).render_page()


def make_ab(_: Path) -> str:
    """The page of `bench ab`: two numbers of two programs, of which the second became worse."""
    changes = tuple(
        Change(
            *(metric, "tokens/s", Better.HIGHER, 100.0, 92.0, verdict, -0.08, -0.09, -0.07),
            deciding=True,
            paired=True,
            measured=-0.08,
            reason=reason,
        )
        for metric, verdict, reason in (
            ("decode_rate", Verdict.WORSE, "slower by 8 % (7 % … 9 %), beyond your limit of 3 %"),
            ("prefill_rate", Verdict.UNCLEAR, "it may be as much as 9 % slower"),
        )
    )
    compared = Comparison(
        before=("./main-old -m model.gguf",),
        after=("./main-new -m model.gguf",),
        verdict=Verdict.WORSE,
        reason="decode_rate is slower by 8 % (7 % … 9 %), beyond your limit of 3 %",
        changes=changes,
        findings=(),
        kernels=(),
        environment=(
            Difference(
                "command", "./main-old -m model.gguf", "./main-new -m model.gguf", Weight.MARKED
            ),
        ),
        conditions=(),
        order=Order.ALTERNATING,
        notes=("20 of 24 pairs count; during 4 other processes had more than 15 % of the cores.",),
    )
    return render_comparison(compared, [], [], redact=str)


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
    "benches": make_benches,
    "bench ab": make_ab,
}
"""Each takes the folder of all pages, and returns a page. A real trace comes from the corpus."""
