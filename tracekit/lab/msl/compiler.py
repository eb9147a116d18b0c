"""Find and run the machine's own C++ compiler, and show its messages in the kernel's own lines."""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tracekit.base import ToolError
from tracekit.lab.msl.edits import Edited, KernelText

_PLACE = re.compile(r"\b0\.(metal|call|end):(\d+)(?::(\d+))?")
_MOST_LINES = 12


def compiler_words(words: str, kernel: KernelText, text: Edited) -> str:
    """Return the errors of a compiler, each with the kernel's line, and the first notes."""
    lines = words.splitlines()
    messages: list[str] = []
    for line in lines:
        if re.search(r"\berror: |: note: |undefined reference", line):
            message = line.replace("error: ", "").replace("fatal ", "")
            messages.append(message)
    shown_lines = messages or lines
    return translate_places("\n".join(shown_lines[:_MOST_LINES]), kernel, text)


def translate_places(words: str, kernel: KernelText, text: Edited) -> str:
    """Put in the names of files and the kernel's own columns; append an excerpt of the first."""
    shown = ""

    def place(match: re.Match[str]) -> str:
        nonlocal shown
        part, line_text, column_text = match.groups()
        if part == "call":
            return f"{kernel.file}, where the kernel is called"
        if part == "end":
            return f"{kernel.file}, its end"
        line = int(line_text)
        column = text.column(line, int(column_text or 1))
        file, file_line = kernel.locate_line(line)
        shown = shown or _excerpt(kernel.text, line, column, file_line)
        if column_text:
            return f"{file}:{file_line}:{column}"
        return f"{file}:{file_line}"

    return _PLACE.sub(place, words) + shown


def _excerpt(text: str, line: int, column: int, shown_as: int) -> str:
    lines = text.split("\n")
    if line > len(lines):
        return ""
    number = f"{shown_as:5}"
    written_line = lines[line - 1]
    content = written_line.replace("\t", " ").rstrip()
    margin = " " * len(number)
    indent = " " * (column - 1)
    return f"\n{number} | {content}\n{margin} | {indent}^"


SHIM = Path(__file__).parent / "shim"
_NEWEST = 40  # of the versioned names to look for
_GCC = ("g++", *(f"g++-{version}" for version in range(_NEWEST, 8, -1)))
_CLANG = ("clang++", *(f"clang++-{version}" for version in range(_NEWEST, 8, -1)))
# On a Mac g++ is Apple's clang, and a GNU one is there for something else.
_FAMILIES = (_CLANG, _GCC, ("c++",)) if sys.platform == "darwin" else (_GCC, _CLANG, ("c++",))
_IS_X86 = platform.machine() in {"x86_64", "AMD64"}
# _Float16 in C++ is in g++ since 12, on arm64 since 13; -ffloat16-excess-precision in clang since
# 16, which Apple numbers 15.
_OLDEST = {"g++": 12 if _IS_X86 else 13, "clang": 16, "Apple clang": 15}
_PATIENCE = 300  # s, for one file
_FLAGS = (
    "-std=c++20",
    "-fPIC",
    "-pthread",
    "-w",
    "-fvisibility=hidden",
    "-U_FORTIFY_SOURCE",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-stack-protector",
    "-ftabstop=1",
)
_HINT = (
    "Install the command line tools of Xcode 15 or newer: `xcode-select --install`."
    if sys.platform == "darwin"
    else f"Install g++ {_OLDEST['g++']} or clang {_OLDEST['clang']}, or newer."
)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: the program, and the first line of its `--version`.

    `arguments` come before all others, as in `ccache g++`: they name the compiler.
    """

    path: str
    version: str
    arguments: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """A key of the oldest versions that will do; other compilers take the flags of g++."""
        match = re.search(r"(Apple )?clang", self.version)
        if match is None:
            return "g++"
        return match[0]

    @property
    def major(self) -> int | None:
        """The number of the version; None if the compiler reports it in another form."""
        match = re.search(r"(?:clang version |\) )(\d+)\b", self.version)
        if match is None:
            return None
        return int(match[1])

    @property
    def is_too_old(self) -> bool:
        """Whether it is known that it cannot compile rewritten kernels."""
        return self.major is not None and self.major < _OLDEST[self.kind]

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags for every file."""
        is_clang = self.kind != "g++"
        flags = [*self.arguments, *_FLAGS]
        if is_clang:
            flags.append("-fno-caret-diagnostics")
        else:
            flags.append("-fno-diagnostics-show-caret")
        if sys.platform == "linux":
            flags.append("-fstack-clash-protection")
        flags += _machine_flags()
        # every half operation rounded, although the compiler would keep floats in between
        if _IS_X86 and is_clang:
            flags += ["-Xclang", "-ffloat16-excess-precision=none"]
        elif _IS_X86 and self.major and self.major >= 13:  # noqa: PLR2004
            flags.append("-fexcess-precision=16")
        return tuple(flags)

    def run(self, *arguments: str, folder: Path | None = None, stdin: str = "") -> str:
        """Compile, with files named as in `folder`; return the output."""
        argv = [self.path, *self.flags, f"-I{SHIM}", *arguments]
        done = run_compiler(argv, stdin, folder=folder)
        if done.returncode != 0:
            words = (done.stderr + done.stdout).strip()
            raise ToolError(words or f"{self.path} ended with status {done.returncode}, silently.")
        return done.stdout


class UnfinishedRunError(ToolError):
    """A compiler did not start or took too long: its next run may be better."""


def run_compiler(
    argv: list[str], stdin: str = "", *, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a compiler to its end, with messages in English.

    Raises UnfinishedRunError if it does not start, or takes too long.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            argv, input=stdin, cwd=folder, env=environment, capture_output=True, check=False,
            timeout=_PATIENCE, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        message = f"{argv[0]} took more than {_PATIENCE} s for a kernel."
        raise UnfinishedRunError(message) from error
    except OSError as error:
        message = f"{argv[0]} cannot be run: {error.strerror or error}."
        raise UnfinishedRunError(message) from error


def find_compiler() -> Compiler:
    """Return the compiler of the variable CXX, or the newest on PATH.

    Raises ToolError if there is none, or none that is new enough.
    """
    command = os.environ.get("CXX", "").strip()
    if command:
        return _asked_for(command)
    compiler = next(usable_compilers(), None)
    if compiler is not None:
        return compiler
    refusals: list[str] = []
    for family in _FAMILIES:
        for path in _on_path(family):
            reason = _refusal(path)
            if reason:
                refusals.append(reason)
    if refusals:
        reasons = "; ".join(refusals)
        raise ToolError(f"No C++ compiler on PATH can run Metal kernels: {reasons}.", hint=_HINT)
    raise ToolError(_missing("a C++ compiler"), hint=_HINT)


def usable_compilers() -> Iterator[Compiler]:
    """Yield the compilers on PATH that are new enough: one kind after the other, newest first."""
    for family in _FAMILIES:
        usable = [_examine(path) for path in _on_path(family) if not _refusal(path)]
        yield from sorted(usable, key=lambda compiler: -(compiler.major or 0))


def _asked_for(command: str) -> Compiler:
    """Return the compiler of a command such as `clang++-19` or `ccache g++`."""
    program, *arguments = _command_of(command)
    path = shutil.which(program)
    if path is None:
        raise ToolError(_missing(f"the C++ compiler {program!r}"), hint=_HINT)
    compiler = _examine(path, *arguments)
    if compiler.is_too_old:
        raise ToolError(
            f"CXX names a compiler too old for Metal kernels: {_age(compiler)}.", hint=_HINT
        )
    return compiler


def _missing(compiler: str) -> str:
    return f"Running Metal kernels on a CPU takes {compiler}, and there is none on PATH."


def _on_path(names: Iterable[str]) -> list[str]:
    """Return the paths of programs, each program once under the first of its names."""
    paths: dict[str, str] = {}
    for name in reversed(list(names)):
        path = shutil.which(name)
        if path:
            paths[os.path.realpath(path)] = path
    return list(reversed(paths.values()))


def _refusal(path: str) -> str:
    """Return why a compiler cannot be used, or ""."""
    try:
        compiler = _examine(path)
    except ToolError as error:
        return error.message.removesuffix(".")
    if compiler.is_too_old:
        return f"{_age(compiler)}, which is too old"
    return ""


def _age(compiler: Compiler) -> str:
    return f"{compiler.path} is {compiler.version!r}"


def _command_of(text: str) -> list[str]:
    """Split CXX into a program and its first arguments; a program's path may have spaces."""
    if shutil.which(text):
        return [text]
    try:
        return shlex.split(text) or [text]
    except ValueError:  # a quote that is not closed
        return [text]


def _examine(program: str, *arguments: str) -> Compiler:
    path = Path(program).absolute()  # it is started in another folder
    return _version_of(str(path), arguments, path.stat().st_mtime_ns)


@cache
def _version_of(path: str, arguments: tuple[str, ...], _changed: int) -> Compiler:
    answer = run_compiler([path, *arguments, "--version"])
    if answer.returncode != 0:
        reason = answer.stderr.strip() or f"status {answer.returncode}"
        raise ToolError(f"{path} does not say its version: {reason}.", hint=_HINT)
    first_line = answer.stdout.partition("\n")[0]
    return Compiler(path, first_line.strip(), arguments)


@cache
def _machine_flags() -> tuple[str, ...]:
    """Use the processor's instructions for halves and fused operations: without, they are slow."""
    try:
        words = Path("/proc/cpuinfo").read_text(errors="replace").split()
    except OSError:
        return ()
    return tuple(f"-m{name}" for name in ("f16c", "fma", "avx2") if name in words)
