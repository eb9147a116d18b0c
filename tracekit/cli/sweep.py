"""`bench sweep`: one subject over sizes of a parameter, with its cliffs."""

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
    redaction,
    units,
)
from tracekit.cli import console, options
from tracekit.cli.options import option
from tracekit.workload import parameters

SubjectName = Annotated[str, typer.Argument(metavar="SUBJECT", help="As in `bench run --list`.")]
Sizes = Annotated[str, option("LIST", "1:64, 8:512:8, or 1,2,4,8.")]
Over = Annotated[
    str | None,
    option("NAME", "The parameter: batch, queries, rows ….  [default: by subject]"),
]
Against = Annotated[str | None, option("NAME", "Find where this one becomes quicker, or slower.")]
Threshold = Annotated[
    float, option("SHARE", "Least step beyond the work's that matters.", min=0, max=10)
]
Html = Annotated[Path | None, option("FILE", "Write a page with the picture.")]
Output = Annotated[Path | None, option("FILE.json", "Write all samples as JSON.", "--output", "-o")]
Budget = Annotated[float, option("SECONDS", "Time for each size.", min=0.001)]


def sweep(
    subject: SubjectName,
    *,
    sizes: Sizes,
    over: Over = None,
    against: Against = None,
    threshold: Threshold = 0.05,
    output: Output = None,
    html: Html = None,
    json: options.Json = False,
    force: options.Force = False,
    budget: Budget = 1.0,
    warmup: options.WarmupCalls = 3,
    repetitions: options.Samples = 100,
    batch: parameters.Batch = 16,
    q_heads: parameters.QHeads = 16,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 128,
    block_size: parameters.BlockSize = 32,
    active_blocks: parameters.ActiveBlocks = 32,
    dtype: parameters.Dtype = "float16",
    queries: options.Queries = 512,
    rows: options.Rows = 16,
    dims: options.Dims = 2048,
    out_dims: options.OutDims = 2048,
    experts: options.Experts = 8,
    top_k: options.TopK = 2,
    seed: parameters.Seed = 0,
) -> None:
    """Measure a subject over many sizes, and find cliffs.

    A rise is a size whose unit of work takes longer than that of the next smaller size. A drop is
    a size whose call takes less time than that of the next smaller one. Both are cliffs. Of 100
    curves without any, at most one has a false one.

    Exit code 0: all sizes were measured; 3: some were not; 130: stopped, and the samples so far
    are written.
    """
    names = [subject]
    if against is not None and against != subject:
        names.append(against)
    subjects = [lab.chosen("all", [name])[0] for name in names]
    plan = lab.sweep.measurement.SweepPlan(
        subject=subject,
        parameter=lab.sweep.measurement.choose_parameter(subjects[0], over),
        sizes=lab.sweep.measurement.parse_sizes(sizes),
        shape=lab.Shape(
            batch, q_heads, kv_heads, head_dim, block_size, active_blocks, None, dtype,
            queries=queries, rows=rows, dims=dims, out_dims=out_dims, seed=seed,
            experts=experts, top_k=top_k,
        ),
        against=against,
        threshold=threshold,
    )  # fmt: skip
    if output is not None and output.suffix != ".json":
        raise UsageError("`bench sweep` writes JSON only.", hint="Name a file that ends in .json.")
    written_files = list(filter(None, (output, html)))
    with outputs.writing(written_files, force=force):
        seconds = budget * len(plan.sizes) * len(subjects)
        planned = units.span(max(1.0, seconds))
        console.announce(f"measures for about {planned}", seconds)
        with console.progress("sweep") as progress:
            effort = lab.Effort(warmup, repetitions, budget)
            done = lab.sweep.measurement.measure_sweep(plan, subjects, effort, progress=progress)
        if output is not None:
            documents.save(output, lab.sweep.measurement.sweep_document(done))
        if html is not None:
            _write_page(done, html)
    if json:
        console.show_json(lab.sweep.measurement.sweep_document(done))
    else:
        _show(done)
    for path in written_files:
        console.show_written(path)
    _end(done)


def _write_page(done: "lab.sweep.measurement.SweepDocument", html: Path) -> None:
    from tracekit.cli.sweep_page import render_sweep

    page = render_sweep(done, redact=redaction.own_redaction())
    files.write_whole(html, page.encode())


def _show(done: "lab.sweep.measurement.SweepDocument") -> None:
    for curve in done.curves:
        title, columns, rows = lab.sweep.words.table(done, curve)
        if rows:
            console.measurements(title, columns, rows)
    for sentence in (*lab.sweep.words.findings(done), *lab.sweep.words.remarks(done)):
        console.show_hint(sentence)
    console.show_warnings(list(lab.sweep.words.warnings(done)))


def _end(done: "lab.sweep.measurement.SweepDocument") -> None:
    """Raise the error of an interruption or of sizes that failed, once all is shown."""
    if done.interrupted:
        raise InterruptedRunError("The sweep was interrupted; sizes may be missing.")
    failures = 0
    for curve in done.curves:
        failures += len(curve.points) - len(lab.sweep.words.series(curve))
    if failures:
        sizes = len(done.curves[0].points) * len(done.curves)
        raise ToolError(
            f"{failures} of {sizes} sizes were not measured.",
            hint="The warnings above say why.",
        )
