"""The command `verify-kernel`: a kernel of a file, a check of one's own, or what is shipped."""

import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracekit.cli import kernel_options
from tracekit.cli.signatures import FileCommand, brought, signed

if TYPE_CHECKING:
    from tracekit.lab.msl.statistics import Order
    from tracekit.lab.verification.check import Declared
    from tracekit.lab.verification.metal_file import Launch
    from tracekit.lab.verification.subject import Subject
    from tracekit.lab.verification.verdict import Verification

_METAL, _PYTHON, _ALL = ".metal", ".py", "all"
_OF_METAL = (
    *("function", "template", "buffer", "grid", "threadgroup", "threadgroup_memory"),
    *("constant", "define", "include", "expect", "bound"),
)


def verify_kernel(
    context: typer.Context,
    subject: kernel_options.FileOrName,
    *,
    order: kernel_options.OrderName = "all",
    seed: kernel_options.Seed = 0,
    lenient: kernel_options.Lenient = False,
    patience: kernel_options.Patience = 60.0,
    json: kernel_options.Json = False,
    function: kernel_options.Function = "",
    template: kernel_options.Template = "",
    buffer: kernel_options.Buffers = None,
    grid: kernel_options.Grid = "",
    threadgroup: kernel_options.Threadgroup = "",
    threadgroup_memory: kernel_options.ThreadgroupMemory = None,
    constant: kernel_options.Constants = None,
    define: kernel_options.Defines = None,
    include: kernel_options.Includes = None,
    expect: kernel_options.Expected = None,
    bound: kernel_options.Bound = None,
    **parameters: Any,
) -> None:
    """Run a Metal kernel on the CPU and judge it.

    The kernel is compiled as C++ and runs on this machine, thread by thread: once with every
    access to device memory watched, then in three orders of threads, which must all give the
    same bits. FILE.py has a function marked @check, which says what must come out; its
    parameters are options. Of a FILE.metal the options below say what is launched. Exit code 1
    is a defect, 3 that there is no compiler, or that it failed.
    """
    from tracekit.lab.msl.statistics import Order
    from tracekit.lab.verification.metal_file import Launch

    _require_fitting(subject, context)
    launch = Launch(
        *(function, template, tuple(buffer or ()), grid, threadgroup),
        *(tuple(threadgroup_memory or ()), tuple(constant or ()), tuple(define or ())),
        *(tuple(expect or ()), bound, lenient, patience, tuple(include or ())),
    )
    orders = tuple(Order) if order == _ALL else (Order(order),)
    subjects = _subjects(subject, launch, _given(context, parameters), seed)
    if _show(_verified(subjects, orders), as_json=json):
        raise typer.Exit(1)


def with_parameters(arguments: Sequence[str]) -> FileCommand:
    """Return the command, with the options of the check that a command line names."""
    declared = _named(arguments)
    if declared is None:
        return _with_options([])
    taken = inspect.signature(verify_kernel).parameters
    owner = f"the check {declared.name}"
    return _with_options(brought(declared.make, owner, declared.file, taken))


def _named(arguments: Sequence[str]) -> "Declared | None":
    """Return the check that a command line names, before it is parsed."""
    if not arguments:
        return None
    from tracekit.lab.msl.emulation import emulation
    from tracekit.lab.verification.check import load, shipped_check, shipped_names

    for word in arguments:
        if word in shipped_names():
            return load(shipped_check(word))
        if word.endswith(_PYTHON) and not word.startswith("-"):
            with emulation():  # kernels made at its top are to run here
                return load(Path(word))
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
    from tracekit.base.errors import UsageError

    if subject.endswith(_METAL):
        return
    for name in _OF_METAL:
        if _stands(name, context):
            raise UsageError(
                f"--{name.replace('_', '-')} is for a FILE.metal; {subject} says itself what is "
                "launched.",
            )


def _subjects(
    subject: str, launch: "Launch", given: dict[str, Any], seed: int
) -> "Iterator[Subject]":
    """Return everything that is to be verified, made when its turn comes."""
    from tracekit.lab.verification.check import shipped_check, shipped_names
    from tracekit.lab.verification.emulated import check_subjects
    from tracekit.lab.verification.metal_file import metal_subject

    how: Any = {"lenient": launch.lenient, "patience": launch.patience}
    if subject.endswith(_METAL):
        yield metal_subject(Path(subject), launch, seed)
    elif subject.endswith(_PYTHON):
        yield from check_subjects(Path(subject), given, seed, **how)
    else:
        for name in shipped_names() if subject == _ALL else (subject,):
            yield from check_subjects(shipped_check(name), given, seed, **how)


def _verified(subjects: "Iterable[Subject]", orders: "Sequence[Order]") -> "Iterator[Verification]":
    from tracekit.cli import console
    from tracekit.lab.verification.shown import case
    from tracekit.lab.verification.verify import verify

    for one in subjects:
        with console.progress(case(one.name, one.parameters)):
            found = verify(one, orders)
        yield found


def _show(found: "Iterator[Verification]", *, as_json: bool) -> bool:
    """Show verifications as they come, one alone in full; say whether there is a defect."""
    from tracekit.cli import console
    from tracekit.lab.verification.shown import in_full, in_short
    from tracekit.lab.verification.verify import NOT_PROVEN

    if as_json:
        everything = list(found)
        console.show_json({"verifications": everything, "not_proven": NOT_PROVEN})
        return any(one.defects for one in everything)
    first = list(islice(found, 2))
    wrong = False
    for one in chain(first, found):
        for line in in_full(one) if len(first) == 1 else in_short(one):
            console.show_line(line)
        wrong = wrong or bool(one.defects)
    console.show_line("Not proven:")
    for line in NOT_PROVEN:
        console.show_line(f"  {line}")
    return wrong
