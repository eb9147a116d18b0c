"""`bench run` and `bench tune`: implementations, or launches of one, measured in turns."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit import lab
from tracekit.base import (
    InterruptedRunError,
    ToolError,
    UsageError,
    documents,
    files,
    outputs,
    units,
)
from tracekit.cli import answers, console, options
from tracekit.cli.options import flag, option
from tracekit.workload import parameters

Suite = Annotated[str, option("NAME", "attention, cache, norm, layers, training or all.")]
Against = Annotated[str | None, option("NAME", "Compare with this one, such as sdpa.")]
Threshold = Annotated[
    float, option("SHARE", "Least change that matters, with --against.", min=0, max=10)
]
Output = Annotated[
    Path | None, option("FILE", "Write all samples: .json, or a .csv.", "--output", "-o")
]
BenchmarkJson = Annotated[
    Path | None, option("FILE", "Write the form of pytest-benchmark.", "--benchmark-json")
]
Transposes = Annotated[bool, flag("--transposes", "List the transposes of a call.")]
CounterFiles = Annotated[
    list[Path] | None,
    option("FILE", "Xcode's counters of a frame capture of the subject.", "--counters"),
]
BenchList = Annotated[bool, flag("--list", "List the subjects, and measure nothing.")]
Budget = Annotated[float, option("SECONDS", "Time for each subject.", min=0.001)]
TuneOutput = Annotated[
    Path | None, option("FILE.json", "Write all samples as JSON.", "--output", "-o")
]
LaunchBudget = Annotated[float, option("SECONDS", "Time for each launch.", min=0.001)]
MaxBlocks = Annotated[
    int | None,
    typer.Option(min=1, max=65536, help="Blocks a sequence has.  [default: as many as it uses]"),
]


def run(
    *,
    suite: Suite = "all",
    subject: options.Subjects = None,
    against: Against = None,
    threshold: Threshold = 0.03,
    output: Output = None,
    benchmark_json: BenchmarkJson = None,
    counters: CounterFiles = None,
    transposes: Transposes = False,
    json: options.Json = False,
    list_: BenchList = False,
    force: options.Force = False,
    budget: Budget = 4.0,
    warmup: options.WarmupCalls = 3,
    repetitions: options.Samples = 100,
    batch: parameters.Batch = 16,
    q_heads: parameters.QHeads = 16,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 128,
    block_size: parameters.BlockSize = 32,
    active_blocks: parameters.ActiveBlocks = 32,
    max_blocks: MaxBlocks = None,
    dtype: parameters.Dtype = "float16",
    ragged: parameters.Ragged = False,
    queries: options.Queries = 512,
    rows: options.Rows = 16,
    dims: options.Dims = 2048,
    out_dims: options.OutDims = 2048,
    experts: options.Experts = 8,
    top_k: options.TopK = 2,
    seed: parameters.Seed = 0,
) -> None:
    """Measure kernels and the implementations that they replace.

    Subjects of one family do the same work on the same inputs, interleaved, so that drift affects
    all alike. micro is the time of a call in a chain; macro is the time of a step, which gives
    tokens/s. Times are by the host's clock; on a Mac with PyObjC, tracekit's own kernels have GPU
    time as well. Samples taken while other processes filled the cores are marked and do not count.
    With --against, each subject has the verdict that `compare` would give.

    Exit code 0: all were measured; 3: a subject failed, the others were measured; 130: stopped,
    and the samples so far are written.
    """
    names = list(subject or ())
    if against:
        names.append(against)
    lab.chosen(suite, names)
    if list_:
        _list(suite, json=json)
        return
    if output is not None:
        lab.document.check_writable(output)
    if benchmark_json is not None:
        files.require_writable(benchmark_json)
    shape = lab.Shape(
        batch, q_heads, kv_heads, head_dim, block_size, active_blocks, max_blocks, dtype, ragged,
        queries, rows, dims, out_dims, seed, experts, top_k,
    )  # fmt: skip
    written_files = list(filter(None, (output, benchmark_json)))
    with outputs.writing(written_files, force=force):
        effort = lab.Effort(warmup, repetitions, budget)
        subjects = tuple(subject or ())
        counter_files = tuple(map(str, counters or ()))
        settings = lab.Settings(
            suite, subjects, against, effort, threshold, counter_files, transposes
        )
        _bench(shape, settings, output, benchmark_json, json=json)


def tune(
    *,
    output: TuneOutput = None,
    json: options.Json = False,
    force: options.Force = False,
    budget: LaunchBudget = 2.0,
    warmup: options.WarmupCalls = 3,
    repetitions: options.Samples = 100,
    batch: parameters.Batch = 16,
    q_heads: parameters.QHeads = 16,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 128,
    block_size: parameters.BlockSize = 32,
    active_blocks: parameters.ActiveBlocks = 32,
    max_blocks: MaxBlocks = None,
    dtype: parameters.Dtype = "float16",
    ragged: parameters.Ragged = False,
    seed: parameters.Seed = 0,
) -> None:
    """Measure which launch of the paged kernel is fastest for a shape.

    `tracekit bench chip` shows the launch that tracekit chooses by itself.
    """
    if output is not None:
        if output.suffix == ".csv":
            raise UsageError(
                "`bench tune` writes JSON only.", hint="Name a file that ends in .json."
            )
        lab.document.check_writable(output)
    shape = lab.Shape(
        batch, q_heads, kv_heads, head_dim, block_size, active_blocks, max_blocks, dtype, ragged,
        seed=seed,
    )  # fmt: skip
    written_files: list[Path] = []
    if output:
        written_files = [output]
    with outputs.writing(written_files, force=force):
        effort = lab.Effort(warmup, repetitions, budget)
        _tune(shape, effort, output, json=json)


def _list(suite: str, *, json: bool) -> None:
    entries = lab.chosen(suite)
    cells = [(entry.name, entry.suite, entry.family, entry.summary) for entry in entries]
    if json:
        subjects = tuple(answers.ListedSubject(*row) for row in cells)
        console.show_json(answers.SubjectList(subjects))
        return
    console.table(("subject", "suite", "family", "description"), cells)


def _bench(
    shape: "lab.Shape",
    settings: "lab.Settings",
    output: Path | None,
    benchmark_json: Path | None,
    *,
    json: bool,
) -> None:
    chosen_names = [*settings.subjects]
    seconds = settings.effort.budget * len(lab.chosen(settings.suite, chosen_names))
    console.announce(f"measures for about {units.span(seconds)}, after its preparation", seconds)
    with console.progress("bench") as progress:
        done = lab.run_bench(shape, settings, progress=progress)
    if json:
        console.show_json(lab.document.bench_document(done))
    else:
        _show(done)
    if output is not None:
        lab.document.save(done, output)
        console.show_written(output)
    if benchmark_json is not None:
        lab.document.save_for_pytest(done, benchmark_json)
        console.show_written(benchmark_json)
    _end(done, output)


def _show(done: "lab.document.Bench") -> None:
    from tracekit.lab.bench import words

    for title, (columns, rows) in words.families(done):
        console.measurements(title, columns, rows)
    for remark in words.remarks(done):
        console.show_hint(remark)
    console.show_warnings(list(words.warnings(done)))


def _end(done: "lab.document.Bench", output: Path | None) -> None:
    """Raise the error of an interruption or of failures, once all is shown and written."""
    if done.interrupted:
        hint = "Nothing was measured before."
        if any(row.micro for row in done.rows):
            hint = ""
            if output is not None:
                hint = f"The samples so far are in {output}."
        raise InterruptedRunError("The bench was interrupted.", hint=hint)
    if done.failures:
        failed_names = ", ".join(done.failures)
        raise ToolError(
            f"{len(done.failures)} of {len(done.rows)} subjects failed: {failed_names}.",
            hint="The warnings above say why.",
        )


def _tune(shape: "lab.Shape", effort: "lab.Effort", output: Path | None, *, json: bool) -> None:
    from tracekit.lab.bench import words

    with console.progress("tune") as progress:
        done = lab.tune(shape, effort, progress=progress)
    if json:
        console.show_json(lab.tuning_document(done))
    else:
        title, (columns, rows) = words.ranking(done)
        console.measurements(title, columns, rows)
        for remark in words.tuning_remarks(done):
            console.show_hint(remark)
    if output is not None:
        documents.save(output, lab.tuning_document(done))
        console.show_written(output)
    if done.interrupted:
        raise InterruptedRunError("The sweep was interrupted; launches may be missing.")
    if not done.ranked:
        raise ToolError("No launch could be measured.", hint="The lines above say why.")
