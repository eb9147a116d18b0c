"""From kernels to programs: rewritten, compiled by the machine's C++ compiler, kept."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tracekit.base.errors import KernelError, ToolError
from tracekit.lab.msl.compiler import SHIM, Compiler, find_compiler
from tracekit.lab.msl.kept import kept, load
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.messages import compiler_words
from tracekit.lab.msl.preprocessed import expanded, with_live_lines
from tracekit.lab.msl.program import Program, processors
from tracekit.lab.msl.unit import ENTRY, Unit, extends_metal, unit

_IN_ONE_UNIT = 16  # beyond, a second processor gains more than the header files cost


def compile_kernel(
    kernel: Kernel, *, checked: bool = False, compiler: str | None = None
) -> Program:
    """Compile one kernel for this processor, or take it from the cache.

    Args:
        kernel: What to compile.
        checked: Check every access to a buffer and count its bytes.
        compiler: A C++ compiler, by name or path: g++ 12 or clang 16, or newer. By default that
            of the variable CXX, or the first on PATH.

    Raises:
        KernelError: The compiler refuses the kernel; its words, with the kernel's own places.
        ToolError: There is no compiler, or it cannot be run.
        UsageError: The text uses what this engine does not know, or has no such function.
    """
    return compile_kernels([kernel], checked=checked, compiler=compiler)[0]


def compile_kernels(
    kernels: Sequence[Kernel], *, checked: bool = False, compiler: str | None = None
) -> list[Program]:
    """Compile many kernels at once: several to a library, libraries on all processors.

    Kernels of one text that differ in template arguments alone cost least. Arguments and errors
    are those of `compile_kernel`.
    """
    found = find_compiler(compiler)
    live = [with_live_lines(kernel, found) for kernel in kernels]
    groups = _shared_out(live)
    units = [
        unit(
            [live[at] for at in group], checked=checked,
            expand=lambda kernel: expanded(kernel, found),
        )
        for group in groups
    ]  # fmt: skip
    engine = _engine(found)

    def compiled(made: Unit, group: Sequence[int]) -> list[Program]:
        return _compiled(made, [kernels[at] for at in group], found, engine)

    with ThreadPoolExecutor(max_workers=processors()) as pool:
        made = pool.map(compiled, units, groups)
        programs = {
            at: program
            for group, some in zip(groups, made, strict=True)
            for at, program in zip(group, some, strict=True)
        }
    return [programs[at] for at in range(len(kernels))]


def _shared_out(kernels: Sequence[Kernel]) -> list[list[int]]:
    """Share kernels out to units, those of one text side by side."""
    alone = [[at] for at, kernel in enumerate(kernels) if extends_metal(kernel.text)]
    order = [at for at in range(len(kernels)) if [at] not in alone]
    order.sort(key=lambda at: (kernels[at].text, at))
    units = max(1, -(-len(order) // _IN_ONE_UNIT))
    if len(order) > 3:  # noqa: PLR2004 - fewer are made faster by one
        units = max(units, min(processors(), len(order) // 2))
    size = max(1, -(-len(order) // units))
    return [*alone, *(order[start : start + size] for start in range(0, len(order), size))]


def _compiled(
    made: Unit, kernels: Sequence[Kernel], compiler: Compiler, engine: Path
) -> list[Program]:
    path = kept(
        "so", made.text, compiler, lambda path: _compile(made, kernels, compiler, engine, path)
    )
    library = load(path)
    return [
        Program(
            kernel, parameters, library, library.entry(ENTRY.format(at)), made.files[text][1],
            number=text, checked=made.checked,
        )
        for at, (kernel, parameters, text) in enumerate(
            zip(kernels, made.parameters, made.texts, strict=True)
        )
    ]  # fmt: skip


def _engine(compiler: Compiler) -> Path:
    """Return the engine, which is compiled once and linked to every kernel."""

    def make(path: Path) -> None:
        compiler.run("-O2", "-c", str(SHIM / "engine.cpp"), "-o", str(path), folder=path.parent)

    return kept("o", "engine", compiler, make)


def _compile(
    made: Unit, kernels: Sequence[Kernel], compiler: Compiler, engine: Path, path: Path
) -> None:
    source = path.with_suffix(".cpp")
    source.write_text(made.text)
    optimized = "-O2" if made.checked else "-O1"  # checks are small functions to be inlined
    files = [source.name, str(engine), "-o", path.name]
    try:
        compiler.run(optimized, "-shared", *files, folder=path.parent)
    except ToolError as error:
        texts = {
            text: (kernel, made.files[text][1])
            for kernel, text in zip(kernels, made.texts, strict=True)
        }
        names = ", ".join(dict.fromkeys(name for name, _ in made.files))
        words = compiler_words(error.message, texts)
        raise KernelError(
            f"{compiler.path} cannot compile {names}:\n{words}",
            hint="A CPU's compiler reads the text as C++; Metal's own may say it otherwise.",
        ) from error
