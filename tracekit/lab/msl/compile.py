"""From kernels to programs: rewritten, compiled by this machine's C++ compiler, and cached."""

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
from tracekit.lab.msl.edits import Kernel, blank, without_comments
from tracekit.lab.msl.program import Library, Program
from tracekit.lab.msl.unit import ENTRY, define_lines, unit


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
    # compiled once, and linked to every kernel
    source = str(SHIM / "engine.cpp")
    engine = cached(
        "o", "engine", found, lambda path: found.run("-O2", "-c", source, "-o", str(path))
    )

    def make(path: Path) -> None:
        file = path.with_suffix(".cpp")
        file.write_text(made.text)
        optimized = "-O2" if checked else "-O1"  # checks are small functions to be inlined
        files = [file.name, str(engine), "-o", path.name]
        try:
            found.run(optimized, "-shared", *files, folder=path.parent)
        except ToolError as error:
            words = compiler_words(error.message, kernel, made.code)
            raise KernelError(
                f"{found.path} cannot compile {kernel.file}:\n{words}",
                hint="A CPU's compiler reads the text as C++; Metal's own may say it otherwise.",
            ) from error

    path = cached("so", made.text, found, make)
    try:
        library = Library(path, ENTRY)
    except OSError as error:
        raise ToolError(
            f"The compiled kernel {path} cannot be loaded: {error}.",
            hint="Remove the file; it is made again. Is its folder one that programs may run from?",
        ) from error
    return Program(kernel, made.parameters, library, made.code, checked=checked)


_DIRECTIVE = re.compile(r"[ \t]*#")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_LEFT_OUT = re.compile(r"[ \t]*#[ \t]*(?:include|import|pragma|line)\b")
_MARK = "tracekit_line_"


def with_live_lines(kernel: Kernel, compiler: Compiler) -> Kernel:
    """Make blank what `#if` and its kin leave out, so that nobody judges what nobody compiles."""
    if not _CONDITION.search(kernel.text):
        return kernel
    lines = without_comments(kernel.text).split("\n")
    plain = set(_plain(lines))
    marked = (f"{_MARK}{at}" if at in plain else line for at, line in enumerate(lines))
    try:
        said = _preprocessed("\n".join(marked), define_lines(kernel), compiler)
    except ToolError:
        return kernel  # compiling it will fail too, and say why at its place
    left_out = plain - {int(number) for number in re.findall(rf"{_MARK}(\d+)", said)}
    text = [blank(line) if at in left_out else line for at, line in enumerate(lines)]
    return replace(kernel, text="\n".join(text))


def expanded(kernel: Kernel, compiler: Compiler) -> str:
    """Return the text with its macros replaced; "" where the preprocessor refuses it."""
    lines = without_comments(kernel.text).split("\n")
    source = "\n".join("" if _LEFT_OUT.match(line) else line for line in lines)
    try:
        return _preprocessed(source, define_lines(kernel), compiler)
    except ToolError:
        return ""


def _plain(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines that decide nothing: no conditions, no macros."""
    continues = False
    for at, line in enumerate(lines):
        is_directive = continues or bool(_DIRECTIVE.match(line) and not _LEFT_OUT.match(line))
        continues = is_directive and line.endswith("\\")
        if not is_directive:
            yield at


@lru_cache(maxsize=256)
def _preprocessed(source: str, defines: str, compiler: Compiler) -> str:
    return compiler.preprocess(f"{defines}\n{source}\n")


_CACHED_FOR = 30 * 24 * 3600  # s without use


def cache_folder() -> Path:
    """Return where compiled kernels are: below TRACEKIT_CACHE, or in the user's cache."""
    return notes_folder() / "kernels"


def cached(kind: str, text: str, compiler: Compiler, make: Callable[[Path], object]) -> Path:
    """Return the file that `make` writes of a text, at a path that it is given; made once.

    The name holds all that the content depends on: the text, the header files, the compiler, its
    flags. A file that is damaged is made again.
    """
    parts = [text, _shim_text(), compiler.path, compiler.version, " ".join(compiler.flags)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = cache_folder() / f"{digest[:40]}.{kind}"
    if _is_whole(path):
        with suppress(OSError):
            os.utime(path)
            os.utime(_sum_of(path))
        return path
    with tempfile.TemporaryDirectory(prefix="tracekit-kernel-") as folder:
        made = Path(folder) / path.name
        make(made)
        content = made.read_bytes()
    try:
        _save(path, content)
    except RecordingError:
        path = _folder_of_this_process() / path.name
        _save(path, content)
    return path


def _save(path: Path, content: bytes) -> None:
    """Write a file and its sum; remove what was not used for a month."""
    with replacing(path) as file:
        file.write(content)
    with replacing(_sum_of(path)) as file:
        file.write(hashlib.sha256(content).hexdigest().encode())
    oldest = time.time() - _CACHED_FOR
    for other in path.parent.iterdir():
        with suppress(OSError):
            if other.stat().st_mtime < oldest:
                other.unlink()


def _sum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _is_whole(path: Path) -> bool:
    """Loading a library that was cut off can end the process, so it is read first."""
    try:
        content, wanted = path.read_bytes(), _sum_of(path).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    return hashlib.sha256(content).hexdigest() == wanted


@cache
def _shim_text() -> str:
    return "\0".join(
        f"{path.name}\0{path.read_text()}" for path in sorted(SHIM.iterdir()) if path.is_file()
    )


@cache
def _folder_of_this_process() -> Path:
    """Serve where the cache cannot be written; the system clears it."""
    return Path(tempfile.mkdtemp(prefix="tracekit-kernels-"))
