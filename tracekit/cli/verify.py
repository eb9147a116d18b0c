"""`verify-kernel` and `parity`: kernels checked without a Mac, paged attention against dense."""

import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracekit import base, lab, workload
from tracekit.base import InterruptedRunError, UsageError, save, writing
from tracekit.cli import console, options
from tracekit.cli.options import FileCommand, brought, signed

FileOrName = Annotated[
    str, typer.Argument(metavar="FILE|NAME", help="FILE.metal, FILE.py, a shipped kernel, or all.")
]
OrderName = Annotated[
    Literal["all", "ascending", "descending", "random"],
    typer.Option("--order", help="Order in which threads run."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of inputs and of the random order.")]
Function = Annotated[
    str, typer.Option(metavar="NAME", help="FILE.metal: the kernel.  [default: the only one]")
]
Template = Annotated[
    str, typer.Option(metavar="ARGS", help='FILE.metal: template arguments: "float16_t, 128".')
]
Buffers = Annotated[
    list[str] | None,
    typer.Option(
        "--buffer",
        metavar="NAME=WHAT",
        help="FILE.metal: q=float16[16,128], n=int32=7, t=int32[8]=0:64, x=FILE.npy.",
    ),
]
Grid = Annotated[str, typer.Option(metavar="X,Y,Z", help="FILE.metal: threads to launch.")]
Threadgroup = Annotated[
    str, typer.Option(metavar="X,Y,Z", help="FILE.metal: threads of a threadgroup.")
]
ThreadgroupMemory = Annotated[
    list[str] | None,
    typer.Option(metavar="INDEX=BYTES", help="FILE.metal: memory of [[threadgroup(INDEX)]]."),
]
Constants = Annotated[
    list[str] | None,
    typer.Option("--constant", metavar="INDEX=VALUE", help="FILE.metal: function constant."),
]
Defines = Annotated[
    list[str] | None,
    typer.Option("--define", metavar="NAME=TEXT", help="FILE.metal: macro before the text."),
]
Includes = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="FOLDER", help="FILE.metal: where its #include files lie."),
]
Expected = Annotated[
    list[str] | None,
    typer.Option("--expect", metavar="NAME=FILE.npy", help="FILE.metal: the expected contents."),
]
Bound = Annotated[
    float | None,
    typer.Option(
        min=0, help="FILE.metal: error allowed, relative.  [default: 1e-5, 2e-3, 2e-2 by dtype]"
    ),
]
Patience = Annotated[
    float,
    typer.Option(min=0.001, metavar="SECONDS", help="Longest time of a launch: some never end."),
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient", help="Allow some lanes to skip a simdgroup operation, as Metal does."
    ),
]


Quick = Annotated[bool, typer.Option("--quick", help="Only the short grid.")]
Emulate = Annotated[bool, typer.Option("--emulate", help="Run the Metal kernels on the CPU.")]
Cases = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="NAME", help="Only this case; may be given again."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all errors as JSON.")
]
Listed = Annotated[bool, typer.Option("--list", help="List the cases, and run none.")]
ParitySeed = Annotated[int, typer.Option(min=0, help="Seed of all contents.")]


def parity(
    *,
    quick: Quick = False,
    emulate: Emulate = False,
    case: Cases = None,
    subject: options.Subjects = None,
    seed: ParitySeed = 0,
    output: Output = None,
    json: options.Json = False,
    list_: Listed = False,
    force: options.Force = False,
) -> None:
    """Check paged against dense attention.

    Both are compared with float64 over a fixed grid of shapes, types and lengths, and with each
    other. Memory past the end of a sequence is NaN. The Metal kernels run on a Mac, and with
    --emulate on any CPU with a C++ compiler.

    Exit code 0: all within bounds; 1: a bound is exceeded; 130: stopped.
    """
    cases = lab.named(case) if case else tuple(one for one in lab.GRID if one.quick or not quick)
    if list_:
        console.table(("case", "lengths"), [(one.name, str(one.lens)) for one in cases])
        return
    chosen_ones = lab.chosen_implementations(subject or [], emulate=emulate)
    with writing(_files(output), force=force):
        with console.progress("parity") as progress:
            done = lab.run_parity(
                cases,
                chosen_ones,
                backend=workload.backend(),
                seed=seed,
                emulate=emulate,
                progress=progress,
            )
        if json:
            console.show_json(lab.parity_document(done))
        else:
            _show(
                done,
                kernels=any(
                    implementation.kernel for implementation in lab.available(emulate=emulate)
                ),
            )
        if output is not None:
            _save(done, output)
    _end(done)


def _show(done: "lab.Parity", *, kernels: bool) -> None:
    cases = len({outcome.case for outcome in done.outcomes})
    console.measurements(
        f"parity: {cases} cases, MLX on the {done.backend}", lab.COLUMNS, lab.rows(done)
    )
    console.show_hint(f"Errors are relative: {base.NORM}.")
    if not kernels:
        console.show_hint("The Metal kernels did not run: there is no Metal. --emulate runs them.")
    if done.worst is not None:
        console.show_hint(f"Nearest to its bound: {lab.repeat(done.worst, done)}")


def _files(output: Path | None) -> list[Path]:
    if output is not None and output.suffix != ".json":
        raise UsageError(
            f"--output writes JSON; {output} ends in something else.",
            hint="Name a file that ends in .json.",
        )
    return [] if output is None else [output]


def _save(done: "lab.Parity", output: Path) -> None:
    save(output, lab.parity_document(done))
    console.show_written(output)


def _end(done: "lab.Parity") -> None:
    for breach in done.breaches:
        apart = f", {lab.error_words(breach.apart)} from dense" if breach.apart is not None else ""
        why = (
            breach.failure
            or f"error {lab.error_words(breach.error)}{apart}; bound {breach.bound:g}"
        )
        console.show_warnings([f"{breach.subject} on {breach.case}: {why}"])
    if done.breaches and done.worst is not None:
        console.show_error("A bound is exceeded.", f"Repeat it: {lab.repeat(done.worst, done)}")
        raise typer.Exit(1)
    if done.interrupted:
        raise InterruptedRunError("Parity was interrupted; cases are missing.")


_METAL, _PYTHON, _ALL = ".metal", ".py", "all"
_OF_METAL = (
    *("function", "template", "buffer", "grid", "threadgroup", "threadgroup_memory"),
    *("constant", "define", "include", "expect", "bound"),
)


def verify_kernel(
    context: typer.Context,
    subject: FileOrName,
    *,
    order: OrderName = "all",
    seed: Seed = 0,
    lenient: Lenient = False,
    patience: Patience = 60.0,
    json: options.Json = False,
    function: Function = "",
    template: Template = "",
    buffer: Buffers = None,
    grid: Grid = "",
    threadgroup: Threadgroup = "",
    threadgroup_memory: ThreadgroupMemory = None,
    constant: Constants = None,
    define: Defines = None,
    include: Includes = None,
    expect: Expected = None,
    bound: Bound = None,
    **parameters: Any,
) -> None:
    """Run a Metal kernel on the CPU and judge it.

    The kernel is compiled as C++ and runs on this machine, thread by thread: once with every access
    to device memory checked, then in three orders of threads, which must all give the same bits.
    FILE.py has a function marked @check, which gives the expected result; its parameters are
    options. For a FILE.metal the options below say what is launched. Exit code 1: a defect; 3:
    there is no compiler, or it failed.
    """
    _require_fitting(subject, context)
    launch = lab.Launch(
        *(function, template, tuple(buffer or ()), grid, threadgroup),
        *(tuple(threadgroup_memory or ()), tuple(constant or ()), tuple(define or ())),
        *(tuple(expect or ()), bound, lenient, patience, tuple(include or ())),
    )
    orders = tuple(lab.Order) if order == _ALL else (lab.Order(order),)
    subjects = _subjects(subject, launch, _given(context, parameters), seed)
    if _show_verifications(_verified(subjects, orders), as_json=json):
        raise typer.Exit(1)


def with_parameters(arguments: Sequence[str]) -> FileCommand:
    """Return the command, with the options of the check that a command line names."""
    declared = _named(arguments)
    if declared is None:
        return _with_options([])
    taken = inspect.signature(verify_kernel).parameters
    owner = f"the check {declared.name}"
    return _with_options(brought(declared.make, owner, declared.file, taken))


def _named(arguments: Sequence[str]) -> "lab.Declared | None":
    """Return the check that a command line names, before it is parsed."""
    if not arguments:
        return None

    for word in arguments:
        if word in lab.shipped_names():
            return lab.load(lab.shipped_check(word))
        if word.endswith(_PYTHON) and not word.startswith("-"):
            with lab.emulation():  # kernels made at its top are to run here
                return lab.load(Path(word))
    return None


def _with_options(added: Sequence[inspect.Parameter]) -> FileCommand:
    @functools.wraps(verify_kernel)
    def wrapper(*args: Any, **values: Any) -> None:
        verify_kernel(*args, **values)

    own = inspect.signature(verify_kernel, eval_str=True).parameters.values()
    return signed(wrapper, [*(one for one in own if one.kind is not one.VAR_KEYWORD), *added])


def _given(context: typer.Context, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return those of a check's parameters that stand on the command line."""
    return {name: value for name, value in parameters.items() if _stands(name, context)}


def _stands(name: str, context: typer.Context) -> bool:
    """Tell whether an option stands on the command line; else it has its default."""
    return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"


def _require_fitting(subject: str, context: typer.Context) -> None:
    """Refuse options that say what to launch where a check says it."""
    if subject.endswith(_METAL):
        return
    for name in _OF_METAL:
        if _stands(name, context):
            raise UsageError(
                f"--{name.replace('_', '-')} is for a FILE.metal; {subject} says itself what is "
                "launched.",
            )


def _subjects(
    subject: str, launch: "lab.Launch", given: dict[str, Any], seed: int
) -> "Iterator[lab.Subject]":
    """Return everything that is to be verified, made when its turn comes."""
    how: Any = {"lenient": launch.lenient, "patience": launch.patience}
    if subject.endswith(_METAL):
        yield lab.metal_subject(Path(subject), launch, seed)
    elif subject.endswith(_PYTHON):
        yield from lab.check_subjects(Path(subject), given, seed, **how)
    else:
        for name in lab.shipped_names() if subject == _ALL else (subject,):
            yield from lab.check_subjects(lab.shipped_check(name), given, seed, **how)


def _verified(
    subjects: "Iterable[lab.Subject]", orders: "Sequence[lab.Order]"
) -> "Iterator[lab.Verification]":
    for subject in subjects:
        with console.progress(lab.case(subject.name, subject.parameters)):
            found = lab.verify(subject, orders)
        yield found


def _show_verifications(found: "Iterator[lab.Verification]", *, as_json: bool) -> bool:
    """Show verifications as they come, one alone in full; say whether there is a defect."""
    if as_json:
        everything = list(found)
        console.show_json({"verifications": everything, "not_proven": lab.NOT_PROVEN})
        return any(one.defects for one in everything)
    first = list(islice(found, 2))
    wrong = False
    for one in chain(first, found):
        for line in lab.in_full(one) if len(first) == 1 else lab.in_short(one):
            console.show_line(line)
        wrong = wrong or bool(one.defects)
    console.show_line("Not proven:")
    for line in lab.NOT_PROVEN:
        console.show_line(f"  {line}")
    return wrong
