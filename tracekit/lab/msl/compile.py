"""From kernels to programs: rewritten, compiled by the machine's C++ compiler, kept."""

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from tracekit.base import KernelError, RecordingError, ToolError, notes_folder, replacing
from tracekit.lab.msl.compiler import SHIM, Compiler, compiler_words, find_compiler
from tracekit.lab.msl.edits import blank, without_comments
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.library import Library
from tracekit.lab.msl.program import Program
from tracekit.lab.msl.unit import ENTRY, unit

_DIRECTIVE = re.compile(r"[ \t]*#")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_LEFT_OUT = re.compile(r"[ \t]*#[ \t]*(?:include|import|pragma|line)\b")
_MARK = "tracekit_line_"


def with_live_lines(kernel: Kernel, compiler: Compiler) -> Kernel:
    """Make blank what `#if` and its kin leave out, so that nobody judges what nobody compiles."""
    if not _CONDITION.search(kernel.text):
        return kernel
    lines = without_comments(kernel.text).split("\n")
    source = "\n".join(_marked(lines))
    try:
        said = _preprocessed(source, _defines(kernel), compiler)
    except ToolError:
        return kernel  # compiling it will fail too, and say why at its place
    live = {int(number) for number in re.findall(rf"{_MARK}(\d+)", said)}
    plain = dict(_plain(lines))
    text = [line if at in live or at not in plain else blank(line) for at, line in enumerate(lines)]
    return replace(kernel, text="\n".join(text))


def expanded(kernel: Kernel, compiler: Compiler) -> str:
    """Return the text with its macros replaced; "" where the preprocessor refuses it."""
    lines = without_comments(kernel.text).split("\n")
    source = "\n".join("" if _LEFT_OUT.match(line) else line for line in lines)
    try:
        return _preprocessed(source, _defines(kernel), compiler)
    except ToolError:
        return ""


def _marked(lines: list[str]) -> Iterator[str]:
    plain = dict(_plain(lines))
    for at, line in enumerate(lines):
        yield f"{_MARK}{at}" if at in plain else line


def _plain(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that decide nothing: no conditions, no macros."""
    continues = False
    for at, line in enumerate(lines):
        is_directive = continues or bool(_DIRECTIVE.match(line) and not _LEFT_OUT.match(line))
        continues = is_directive and line.endswith("\\")
        if not is_directive:
            yield at, line


def _defines(kernel: Kernel) -> str:
    return "".join(
        f"#undef {name.partition('(')[0]}\n#define {name} {value}\n"
        for name, value in kernel.defines.items()
    )


@lru_cache(maxsize=256)
def _preprocessed(source: str, defines: str, compiler: Compiler) -> str:
    return compiler.preprocess(f"{defines}\n{source}\n")


_KEPT_FOR = 30 * 24 * 3600  # s without use


def cache_folder() -> Path:
    """Return where compiled kernels are kept: below TRACEKIT_CACHE, or in the user's cache."""
    return notes_folder() / "kernels"


def kept(kind: str, text: str, compiler: Compiler, make: Callable[[Path], None]) -> Path:
    """Return the file that `make` makes of `text`, made once.

    The name holds all that the content depends on: the text, the header files, the compiler, its
    flags. A file that is damaged is made again.

    Args:
        kind: Ending of the file: "so" or "o".
        text: What is compiled.
        compiler: By which compiler.
        make: Writes the file at a path that it is given.

    Raises:
        ToolError: The compiler refuses.
    """
    key = hashlib.sha256("\0".join([text, *_circumstances(compiler)]).encode()).hexdigest()[:40]
    path = cache_folder() / f"{key}.{kind}"
    if _is_whole(path):
        _note_use(path)
        return path
    with tempfile.TemporaryDirectory(prefix="tracekit-kernel-") as folder:
        made = Path(folder) / path.name
        make(made)
        content = made.read_bytes()
    try:
        _keep(path, content)
    except RecordingError:
        path = _place_of_this_process() / path.name
        _keep(path, content)
    return path


def load(path: Path) -> Library:
    """Load a library.

    Raises:
        ToolError: The system refuses it.
    """
    try:
        return Library(path)
    except OSError as error:
        raise ToolError(
            f"The compiled kernel {path} cannot be loaded: {error}.",
            hint="Remove the file; it is made again. Is its folder one that programs may run from?",
        ) from error


def _note_use(path: Path) -> None:
    with suppress(OSError):
        os.utime(path)
        os.utime(_sum_of(path))


def _forget_unused(folder: Path) -> None:
    """Remove what was not used for a month: a changed kernel leaves its old library behind."""
    oldest = time.time() - _KEPT_FOR
    for path in folder.iterdir():
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _keep(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)
    with replacing(_sum_of(path)) as file:
        file.write(hashlib.sha256(content).hexdigest().encode())
    _forget_unused(path.parent)


def _sum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _is_whole(path: Path) -> bool:
    """Loading a library that was cut off can end the process, so it is read first."""
    try:
        content, wanted = path.read_bytes(), _sum_of(path).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    return hashlib.sha256(content).hexdigest() == wanted


def _circumstances(compiler: Compiler) -> tuple[str, ...]:
    return (_shim_text(), compiler.path, compiler.version, " ".join(compiler.flags))


@cache
def _shim_text() -> str:
    return "\0".join(
        f"{path.name}\0{path.read_text()}" for path in sorted(SHIM.iterdir()) if path.is_file()
    )


@cache
def _place_of_this_process() -> Path:
    """Serve where the cache cannot be written; the system clears it."""
    return Path(tempfile.mkdtemp(prefix="tracekit-kernels-"))


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
    found = find_compiler(compiler)
    made = unit(
        with_live_lines(kernel, found), checked=checked, expand=lambda one: expanded(one, found)
    )
    engine = _engine(found)

    def make(path: Path) -> None:
        source = path.with_suffix(".cpp")
        source.write_text(made.text)
        optimized = "-O2" if checked else "-O1"  # checks are small functions to be inlined
        files = [source.name, str(engine), "-o", path.name]
        try:
            found.run(optimized, "-shared", *files, folder=path.parent)
        except ToolError as error:
            words = compiler_words(error.message, kernel, made.code)
            raise KernelError(
                f"{found.path} cannot compile {kernel.file}:\n{words}",
                hint="A CPU's compiler reads the text as C++; Metal's own may say it otherwise.",
            ) from error

    library = load(kept("so", made.text, found, make))
    return Program(
        kernel, made.parameters, library, library.entry(ENTRY), made.code, checked=checked
    )


def _engine(compiler: Compiler) -> Path:
    """Return the engine, which is compiled once and linked to every kernel."""

    def make(path: Path) -> None:
        compiler.run("-O2", "-c", str(SHIM / "engine.cpp"), "-o", str(path), folder=path.parent)

    return kept("o", "engine", compiler, make)
