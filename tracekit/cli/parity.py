"""`parity`: paged attention against dense attention, and both against float64."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli import options

if TYPE_CHECKING:
    from tracekit.lab.parity.compare import Parity

Quick = Annotated[bool, typer.Option("--quick", help="Only the short grid.")]
Emulate = Annotated[bool, typer.Option("--emulate", help="Run the Metal kernels on the CPU.")]
Cases = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="NAME", help="Only this case; may be given again."),
]
Subjects = Annotated[
    list[str] | None,
    typer.Option("--subject", metavar="NAME", help="Only this one; may be given again."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all errors as JSON.")
]
Listed = Annotated[bool, typer.Option("--list", help="List the cases, and run none.")]
ParityJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
ParitySeed = Annotated[int, typer.Option(min=0, help="Seed of all contents.")]


def parity(
    *,
    quick: Quick = False,
    emulate: Emulate = False,
    case: Cases = None,
    subject: Subjects = None,
    seed: ParitySeed = 0,
    output: Output = None,
    json: ParityJson = False,
    list_: Listed = False,
    force: options.Force = False,
) -> None:
    """Check paged against dense attention.

    Both are compared with float64 over a fixed grid of shapes, types and lengths, and paged with
    dense attention. Whatever lies past the end of a sequence is not a number there. The Metal
    kernels run where there is Metal, and with --emulate on any CPU with a C++ compiler.

    Exit code 0: all within bounds; 1: a bound is exceeded; 130: stopped.
    """
    from tracekit.base.outputs import writing
    from tracekit.cli import console
    from tracekit.lab.parity.cases import GRID, named
    from tracekit.lab.parity.compare import run_parity
    from tracekit.lab.parity.document import document
    from tracekit.lab.parity.implementations import available, chosen
    from tracekit.workload.calls import backend

    cases = named(case) if case else tuple(one for one in GRID if one.quick or not quick)
    if list_:
        console.table(("case", "lengths"), [(one.name, str(one.lens)) for one in cases])
        return
    chosen_ones = chosen(subject or [], emulate=emulate)
    with writing(_files(output), force=force):
        with console.progress("parity") as progress:
            done = run_parity(
                cases,
                chosen_ones,
                backend=backend(),
                seed=seed,
                emulate=emulate,
                progress=progress,
            )
        if json:
            console.show_json(document(done))
        else:
            _show(done, kernels=any(one.kernel for one in available(emulate=emulate)))
        if output is not None:
            _save(done, output)
    _end(done)


def _show(done: "Parity", *, kernels: bool) -> None:
    from tracekit.base.tolerances import NORM
    from tracekit.cli import console
    from tracekit.lab.parity.document import COLUMNS, repeat, rows

    cases = len({one.case for one in done.outcomes})
    console.measurements(f"parity: {cases} cases, MLX on the {done.backend}", COLUMNS, rows(done))
    console.show_hint(f"Errors are relative: {NORM}.")
    if not kernels:
        console.show_hint("The Metal kernels did not run: there is no Metal. --emulate runs them.")
    if done.worst is not None:
        console.show_hint(f"Nearest to its bound: {repeat(done.worst, done)}")


def _files(output: Path | None) -> list[Path]:
    from tracekit.base.errors import UsageError

    if output is not None and output.suffix != ".json":
        raise UsageError(
            f"--output writes JSON; {output} ends in something else.",
            hint="Name a file that ends in .json.",
        )
    return [] if output is None else [output]


def _save(done: "Parity", output: Path) -> None:
    from tracekit.base.recording import save
    from tracekit.cli import console
    from tracekit.lab.parity.document import document

    save(output, document(done))
    console.show_written(output)


def _end(done: "Parity") -> None:
    from tracekit.base.errors import InterruptedRunError
    from tracekit.cli import console
    from tracekit.lab.parity.document import error_words, repeat

    for one in done.breaches:
        apart = f", {error_words(one.apart)} from dense" if one.apart is not None else ""
        told = one.failure or f"error {error_words(one.error)}{apart}; bound {one.bound:g}"
        console.show_warnings([f"{one.subject} on {one.case}: {told}"])
    if done.breaches and done.worst is not None:
        console.show_error("A bound is exceeded.", f"Repeat it: {repeat(done.worst, done)}")
        raise typer.Exit(1)
    if done.interrupted:
        raise InterruptedRunError("Parity was interrupted; cases are missing.")
