"""The machine's own C++ compiler: finding it, its flags, its messages in the kernel's own lines."""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tracekit.base import ToolError
from tracekit.lab.msl.edits import Edited, Kernel

_PLACE = re.compile(r"\b0\.(metal|call|end):(\d+)(?::(\d+))?")
_MOST_LINES = 12


def compiler_words(words: str, kernel: Kernel, text: Edited) -> str:
    """Tell what a compiler said: its errors, each with the kernel's line, and the first notes."""
    lines = [
        line.replace("error: ", "").replace("fatal ", "")
        for line in words.splitlines()
        if re.search(r"\berror: |: note: |undefined reference", line)
    ]
    return located("\n".join((lines or words.splitlines())[:_MOST_LINES]), kernel, text)


def located(words: str, kernel: Kernel, text: Edited) -> str:
    """Put the names of files and the kernel's own columns in, and show the first such line."""
    shown = ""

    def place(found: re.Match[str]) -> str:
        nonlocal shown
        if found[1] == "call":
            return f"{kernel.file}, where the kernel is called"
        if found[1] == "end":
            return f"{kernel.file}, its end"
        line = int(found[2])
        column = text.column(line, int(found[3] or 1))
        file, own = kernel.where(line)
        shown = shown or _excerpt(kernel.text, line, column, own)
        return f"{file}:{own}:{column}" if found[3] else f"{file}:{own}"

    return _PLACE.sub(place, words) + shown


def _excerpt(text: str, line: int, column: int, shown_as: int) -> str:
    lines = text.split("\n")
    if line > len(lines):
        return ""
    number, content = f"{shown_as:5}", lines[line - 1].replace("\t", " ").rstrip()
    return f"\n{number} | {content}\n{' ' * len(number)} | {' ' * (column - 1)}^"


SHIM = Path(__file__).parent / "shim"
_NAMES = ("g++", "clang++", "c++", *(f"clang++-{version}" for version in range(22, 15, -1)))
_PATIENCE = 300  # s, for one file
_FLAGS = (
    *("-std=c++20", "-fPIC", "-pthread", "-w", "-fvisibility=hidden", "-U_FORTIFY_SOURCE"),
    *("-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-fno-math-errno"),
    *("-fno-stack-protector", "-ftabstop=1"),
)
_HINT = (
    "Run `xcode-select --install`."
    if sys.platform == "darwin"
    else "Install g++ 12 (on arm64 13) or clang 16, or newer."
)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: the program, and the first line that it says of itself.

    `arguments` come before all others, as in `ccache g++`, where they name the compiler.
    """

    path: str
    version: str
    arguments: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """What every file is compiled with."""
        probes = ("-fstack-clash-protection",) if sys.platform == "linux" else ()
        is_clang = "clang" in self.version
        plain = "-fno-caret-diagnostics" if is_clang else "-fno-diagnostics-show-caret"
        # every half operation rounded, where the compiler would keep floats in between
        rounding: tuple[str, ...] = ()
        if platform.machine() in {"x86_64", "AMD64"}:
            major = re.search(r"\) (\d+)\.", self.version)
            if is_clang:
                rounding = ("-Xclang", "-ffloat16-excess-precision=none")
            elif major and int(major[1]) >= 13:  # noqa: PLR2004
                rounding = ("-fexcess-precision=16",)
        return (*self.arguments, *_FLAGS, plain, *probes, *_machine_flags(), *rounding)

    def run(self, *arguments: str, folder: Path | None = None, given: str = "") -> str:
        """Compile, with files named as in `folder`; return what it wrote."""
        argv = [self.path, *self.flags, f"-I{SHIM}", *arguments]
        done = ran(argv, given, folder=folder)
        if done.returncode != 0:
            words = (done.stderr + done.stdout).strip()
            raise ToolError(words or f"{self.path} ended with status {done.returncode}, silently.")
        return done.stdout


def ran(
    argv: list[str], given: str = "", *, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a compiler to its end, with messages in English; raise ToolError if it cannot be run."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            argv, input=given, cwd=folder, env=environment, capture_output=True, check=False,
            timeout=_PATIENCE, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{argv[0]} took more than {_PATIENCE} s for a kernel.") from error
    except OSError as error:
        raise ToolError(f"{argv[0]} cannot be run: {error.strerror or error}.") from error


def find_compiler() -> Compiler:
    """Return the compiler of the variable CXX, or the first on PATH."""
    asked, *arguments = _command_of(os.environ.get("CXX", "").strip())
    names = (asked,) if asked else _NAMES
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        wanted = f"the C++ compiler {asked!r}" if asked else "a C++ compiler"
        raise ToolError(
            f"Running Metal kernels on a CPU takes {wanted}, and there is none on PATH.", hint=_HINT
        )
    path = Path(found).absolute()  # it is started in another folder
    return _known(str(path), tuple(arguments), path.stat().st_mtime_ns)


def _command_of(text: str) -> list[str]:
    """Part CXX into a program and its first arguments; a program's path may have spaces."""
    if not text or shutil.which(text):
        return [text]
    try:
        return shlex.split(text) or [text]
    except ValueError:  # a quote that is not closed
        return [text]


@cache
def _known(path: str, arguments: tuple[str, ...], _changed: int) -> Compiler:
    said = ran([path, *arguments, "--version"])
    if said.returncode != 0:
        words = said.stderr.strip() or f"status {said.returncode}"
        raise ToolError(f"{path} does not say its version: {words}.", hint=_HINT)
    return Compiler(path, said.stdout.partition("\n")[0].strip(), arguments)


@cache
def _machine_flags() -> tuple[str, ...]:
    """Use what this processor has for halves and fused operations: without, they are slow."""
    try:
        words = Path("/proc/cpuinfo").read_text(errors="replace").split()
    except OSError:
        return ()
    return tuple(f"-m{name}" for name in ("f16c", "fma", "avx2") if name in words)
