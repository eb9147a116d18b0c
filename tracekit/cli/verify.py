"""`kernel verify` and `kernel parity`: kernels on a CPU, paged attention against dense."""

import functools
import inspect
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracekit import analysis, app, base, lab, nightly, workload
from tracekit.base import InterruptedRunError, UsageError, documents, outputs
from tracekit.cli import answers, console, options
from tracekit.cli.options import FileCommand, argument, collect_options, flag, option, set_signature

Quick = Annotated[bool, flag("--quick", "Only the short grid.")]
Emulate = Annotated[bool, flag("--emulate", "Run the Metal kernels on the CPU.")]
Case = Annotated[list[str] | None, option("NAME", "Only this case; may be given again.", "--case")]
ParitySeed = Annotated[int, typer.Option(min=0, help="Seed of all contents.")]
Output = Annotated[Path | None, option("FILE", "Write all errors as JSON.", "--output", "-o")]
ParityList = Annotated[bool, flag("--list", "List the cases, and run none.")]


def parity(
    *,
    quick: Quick = False,
    emulate: Emulate = False,
    case: Case = None,
    subject: options.Subjects = None,
    seed: ParitySeed = 0,
    output: Output = None,
    json: options.Json = False,
    list_: ParityList = False,
    force: options.Force = False,
) -> None:
    """Check paged against dense attention.

    Both are compared with float64 over a fixed grid of shapes, types and lengths, and with each
    other. Memory past the end of a sequence is NaN. The Metal kernels run on a Mac, and with
    --emulate on any CPU with a C++ compiler.

    Exit code 0: all within bounds; 1: a bound is exceeded; 130: stopped.
    """
    if case:
        cases = lab.parity.find_cases(case)
    else:
        cases = tuple(point for point in lab.parity.GRID if point.quick or not quick)
    if list_:
        case_rows = [(point.name, str(point.lens)) for point in cases]
        if json:
            case_entries = tuple(answers.ListedCase(*row) for row in case_rows)
            console.show_json(answers.CaseList(case_entries))
            return
        console.table(("case", "lengths"), case_rows)
        return
    if output is not None and output.suffix != ".json":
        raise UsageError(
            f"--output writes JSON; {output} ends in something else.",
            hint="Name a file that ends in .json.",
        )
    subjects = subject or []
    chosen = lab.parity.chosen_implementations(subjects, emulate=emulate)
    written_files: list[Path] = []
    if output:
        written_files = [output]
    with outputs.writing(written_files, force=force):
        with console.progress("parity") as progress:
            done = lab.parity.run_parity(
                cases, chosen, seed=seed, emulate=emulate, progress=progress
            )
        if json:
            console.show_json(lab.parity.parity_document(done))
        else:
            _show(done)
        if output is not None:
            documents.save(output, lab.parity.parity_document(done))
            console.show_written(output)
    _end(done)


def _show(done: "lab.parity.Parity") -> None:
    case_names = {outcome.case for outcome in done.outcomes}
    cases = len(case_names)
    parity_rows = lab.parity.rows(done)
    console.measurements(
        f"parity: {cases} cases, MLX on the {done.backend}",
        lab.parity.COLUMNS,
        parity_rows,
    )
    console.show_hint(f"Errors are relative: {base.tolerances.NORM}.")
    if not done.emulated and done.backend != "metal":
        console.show_hint("The Metal kernels did not run: there is no Metal. --emulate runs them.")
    if done.worst is not None:
        repetition = lab.parity.repeat(done.worst, done)
        console.show_hint(f"Nearest to its bound: {repetition}")


def _end(done: "lab.parity.Parity") -> None:
    for breach in done.breaches:
        difference = ""
        if breach.apart is not None:
            apart_text = lab.parity.error_words(breach.apart)
            difference = f", {apart_text} from dense"
        error_text = lab.parity.error_words(breach.error)
        error = f"error {error_text}{difference}; bound {breach.bound:g}"
        reason = breach.failure or error
        console.show_warnings([f"{breach.subject} on {breach.case}: {reason}"])
    if done.breaches and done.worst is not None:
        repetition = lab.parity.repeat(done.worst, done)
        console.show_error("A bound is exceeded.", f"Repeat it: {repetition}", 1)
        raise typer.Exit(1)
    if done.interrupted:
        raise InterruptedRunError("Parity was interrupted; cases are missing.")


_METAL = ".metal"
_PYTHON = ".py"
_ALL = "all"
_OF_METAL = (
    *("function", "template", "buffer", "grid", "threadgroup", "threadgroup_memory"),
    *("constant", "include", "expect", "bound"),
)


Subject = Annotated[str, argument("FILE|NAME", "FILE.metal, FILE.py, a shipped kernel, or all.")]
Order = Annotated[
    Literal["all", "ascending", "descending", "random"],
    typer.Option(help="Order in which threads run."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of inputs and of the random order.")]
Lenient = Annotated[
    bool, flag("--lenient", "Allow some lanes to skip a simdgroup operation, as Metal does.")
]
TimeLimit = Annotated[str, option("TIME", "Longest time of a launch: some never end.")]
Function = Annotated[str, option("NAME", "FILE.metal: the kernel.  [default: the only one]")]
Template = Annotated[str, option("ARGS", 'FILE.metal: template arguments: "float16_t, 128".')]
Buffer = Annotated[
    list[str] | None,
    option(
        "NAME=SPEC",
        "FILE.metal: q=float16[16,128], n=int32=7, t=int32[8]=0:64, x=FILE.npy.",
        "--buffer",
    ),
]
Grid = Annotated[str, option("X,Y,Z", "FILE.metal: threads to launch.")]
Threadgroup = Annotated[str, option("X,Y,Z", "FILE.metal: threads of a threadgroup.")]
ThreadgroupMemory = Annotated[
    list[str] | None, option("INDEX=BYTES", "FILE.metal: memory of [[threadgroup(INDEX)]].")
]
Constant = Annotated[
    list[str] | None, option("INDEX=VALUE", "FILE.metal: function constant.", "--constant")
]
Include = Annotated[
    list[str] | None, option("DIR", "FILE.metal: folder of its #include files.", "--include")
]
Expect = Annotated[
    list[str] | None, option("NAME=FILE.npy", "FILE.metal: the expected contents.", "--expect")
]
Bound = Annotated[
    float | None,
    typer.Option(
        min=0, help="FILE.metal: error allowed, relative.  [default: 1e-5, 2e-3, 2e-2 by dtype]"
    ),
]


Gate = Annotated[
    list[str] | None,
    option("EXPECTATIONS", "Such as 'threadgroup_memory<=16384, barriers_in_loops<=2'.", "--gate"),
]
GateJunit = Annotated[Path | None, option("FILE", "Write the gate as JUnit XML.", "--junit")]
GateSarif = Annotated[Path | None, option("FILE", "Write the gate as SARIF 2.1.0.", "--sarif")]
GateMarkdown = Annotated[Path | None, option("FILE", "Write the gate as Markdown.", "--markdown")]


Barriers = Annotated[bool, flag("--barriers", "Name each barrier that changes no result.")]


def verify_kernel(
    context: typer.Context,
    subject: Subject,
    *,
    gate: Gate = None,
    junit: GateJunit = None,
    sarif: GateSarif = None,
    markdown: GateMarkdown = None,
    barriers: Barriers = False,
    order: Order = "all",
    seed: Seed = 0,
    lenient: Lenient = False,
    time_limit: TimeLimit = "60s",
    json: options.Json = False,
    function: Function = "",
    template: Template = "",
    buffer: Buffer = None,
    grid: Grid = "",
    threadgroup: Threadgroup = "",
    threadgroup_memory: ThreadgroupMemory = None,
    constant: Constant = None,
    include: Include = None,
    expect: Expect = None,
    bound: Bound = None,
    **parameters: Any,
) -> None:
    """Run a Metal kernel on the CPU and judge it.

    The kernel is compiled as C++ and runs on this machine, thread by thread, in three orders of
    threads, which must all give the same bits; every access to device memory is checked first.
    FILE.py has a function marked @check, which gives the expected result; its parameters are
    options. For a FILE.metal, the options below define the launch.

    --barriers runs a kernel without a defect again without each of its barriers, one at a time, and
    names those whose absence changes no bit of this case in any order. Other cases may need them.

    --gate compares exact counts of each launch with expectations: threadgroup memory, barriers,
    bytes and operations a thread. docs/how-to/verify-a-kernel-without-a-mac.md lists them.

    Exit code 1: a defect, or not as expected; 3: there is no compiler, or it failed; 4: an expected
    count is missing.
    """

    def is_given(name: str) -> bool:
        return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"

    if not subject.endswith(_METAL):
        _refuse_launch_options(subject, list(filter(is_given, _OF_METAL)))
    launch = lab.LaunchWords(
        function,
        template,
        tuple(buffer or ()),
        grid,
        threadgroup,
        tuple(threadgroup_memory or ()),
        tuple(constant or ()),
        tuple(expect or ()),
        bound,
        lenient,
        workload.plan.seconds(time_limit),
        tuple(include or ()),
    )
    orders = tuple(lab.ThreadOrder)
    if order != _ALL:
        orders = (lab.ThreadOrder(order),)
    given_parameters = {name: value for name, value in parameters.items() if is_given(name)}

    choices = {"junit": junit, "sarif": sarif, "markdown": markdown}
    report_files = {name: file for name, file in choices.items() if file}
    expectations = app.gating.read_gate(gate or (), report_files)
    counted = app.gating.find_counted(expectations)

    def iter_verifications() -> Iterator[lab.verify.Verification]:
        with closing(_subjects(subject, launch, given_parameters, seed)) as subjects:
            for verified_case in subjects:
                with console.progress(verified_case.title):
                    verification = lab.verify.verify(
                        verified_case, orders, counted=counted, remove_barriers=barriers
                    )
                yield verification

    if expectations:
        _judge_gate(subject, expectations, iter_verifications(), report_files, as_json=json)
    elif _show_verifications(iter_verifications(), as_json=json):
        raise typer.Exit(1)


def _refuse_launch_options(subject: str, given_names: Sequence[str]) -> None:
    for name in given_names:
        option_name = name.replace("_", "-")
        raise UsageError(f"--{option_name} is for a FILE.metal; {subject} has its own launch.")


def _judge_gate(
    subject: str,
    expectations: "Sequence[analysis.dispatches.Expectation]",
    verifications: "Iterator[lab.verify.Verification]",
    report_files: dict[str, Path],
    *,
    as_json: bool,
) -> None:
    """Show verifications and their gate, and write its reports; exit by the worst of both."""
    with outputs.writing(list(report_files.values())):
        everything = list(verifications)
        check = app.gating.check_launches(subject, everything, expectations)
        report = app.checking.report_of(check, "launches")
        errors = nightly.notify.write_reports(report, report_files)
    has_defect = _show_verifications(iter(everything), as_json=as_json, check=check)
    if has_defect or check.outcome is nightly.Outcome.REGRESSION:
        console.show_warnings([error.message for error in errors])
        raise typer.Exit(1)
    if errors:
        raise errors[0]
    app.checking.require_recorded(check)


def with_parameters(arguments: Sequence[str]) -> FileCommand:
    """Return the command, with the options of the check that a command line names."""
    own_parameters = inspect.signature(verify_kernel, eval_str=True).parameters
    parameters = [
        parameter
        for parameter in own_parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    declared = _find_check(arguments)
    if declared is not None:
        owner = f"the check {declared.name}"
        parameters += collect_options(declared.make, owner, declared.file, own_parameters)

    @functools.wraps(verify_kernel)
    def wrapper(*args: Any, **values: Any) -> None:
        verify_kernel(*args, **values)

    return set_signature(wrapper, parameters)


def _find_check(arguments: Sequence[str]) -> "lab.shipped.Declared | None":
    """Return the check that a command line names, before it is parsed."""
    if not arguments:
        return None

    for word in arguments:
        shipped_names = lab.shipped.shipped_names()
        if word in shipped_names:
            return lab.shipped.shipped_check(word)
        if word.endswith(_PYTHON) and not word.startswith("-"):
            return lab.load(Path(word))
    return None


def _subjects(
    subject: str, launch: "lab.LaunchWords", given_parameters: dict[str, Any], seed: int
) -> "Generator[lab.verify.VerifiedCase]":
    """Yield everything that is to be verified, made when its turn comes."""
    if subject.endswith(_METAL):
        yield lab.metal_subject(Path(subject), launch, seed)
        return
    if subject.endswith(_PYTHON):
        checks = [lab.load(Path(subject))]
    elif subject == _ALL:
        checks = [lab.shipped.shipped_check(name) for name in lab.shipped.shipped_names()]
    else:
        checks = [lab.shipped.shipped_check(subject)]
    how: Any = {"lenient": launch.lenient, "patience": launch.patience}
    for check in checks:
        yield from lab.check_subjects(check, given_parameters, seed, **how)


@dataclass(frozen=True)
class VerifiedKernels:
    """The JSON of `tracekit kernel verify`; `not_proven` are sentences on its limits.

    `gate` has the answers to the expectations of --gate, if there are any.
    """

    verifications: "tuple[lab.verify.Verification, ...]"
    not_proven: tuple[str, ...]
    gate: "app.checking.CaptureCheck | None" = None
    format: int = 1


def _show_verifications(
    verifications: "Iterator[lab.verify.Verification]",
    *,
    as_json: bool,
    check: "app.checking.CaptureCheck | None" = None,
) -> bool:
    """Show verifications as they come, a single one in full; tell whether there is a defect."""
    if as_json:
        documents = tuple(verifications)
        console.show_json(VerifiedKernels(documents, tuple(lab.verify.NOT_PROVEN), check))
        return any(verification.defects for verification in documents)
    first_two = list(islice(verifications, 2))
    is_alone = len(first_two) == 1
    has_defect = False
    shown_verifications: list[lab.verify.Verification] = []
    for verification in chain(first_two, verifications):
        shown_verifications.append(verification)
        lines = verification.describe() if is_alone else verification.summarize()
        for line in lines:
            console.show_line(line)
        if verification.defects:
            has_defect = True
    for line in lab.verify.describe_barriers(shown_verifications):
        console.show_line(line)
    if check is not None:
        _show_gate(check)
    console.show_line("Not proven:")
    for line in lab.verify.NOT_PROVEN:
        console.show_line(f"  {line}")
    return has_defect


def _show_gate(check: "app.checking.CaptureCheck") -> None:
    console.show_line(check.verdict)
    for launch in check.dispatches:
        for answer in launch.expected:
            detail = ": ".join(filter(None, (answer.value, answer.note)))
            console.show_line(f"  {answer.state}  {answer.topic}  {detail}  ({launch.title})")
