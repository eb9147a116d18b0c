"""From a kernel to a program: written as C++, compiled by this machine's compiler, and cached."""

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from tracekit.base import KernelError, ToolError, UsageError, notes_folder, replacing
from tracekit.lab.msl.compiler import SHIM, Compiler, compiler_words, find_compiler
from tracekit.lab.msl.edits import Edited, KernelText, blank, without_comments
from tracekit.lab.msl.program import ENTRY, MOST_BUFFERS, KernelProgram, Library
from tracekit.lab.msl.rewrite import rewritten
from tracekit.lab.msl.signature import (
    Instance,
    Parameter,
    instances_of,
    kernels_of,
    parameters_of,
    require_constants,
)


def compile_kernel(kernel: KernelText, *, checked: bool = False) -> KernelProgram:
    """Compile one kernel for this processor, or take it from the cache.

    If `checked`, every access to a buffer is checked and its bytes are counted. The compiler is
    that of the variable CXX or the newest on PATH: g++ 12 (on arm64 13) or clang 16, or newer.
    """
    compiler = find_compiler()
    text, parameters, code = unit(
        with_live_lines(kernel, compiler),
        checked=checked,
        expand=lambda kernel_text: expand_macros(kernel_text, compiler),
    )
    # compiled once, and linked to every kernel
    source = str(SHIM / "engine.cpp")
    engine = make_once(
        "o", "engine", compiler, lambda path: compiler.run("-O2", "-c", source, "-o", str(path))
    )

    def make(path: Path) -> None:
        file = path.with_suffix(".cpp")
        file.write_text(text)
        optimized = "-O2" if checked else "-O1"  # checks are small functions to be inlined
        files = [file.name, str(engine), "-o", path.name]
        try:
            compiler.run(optimized, "-shared", *files, folder=path.parent)
        except ToolError as error:
            words = compiler_words(error.message, kernel, code)
            raise KernelError(
                f"{compiler.path} cannot compile {kernel.file}:\n{words}",
                hint="A CPU's compiler reads the text as C++; Metal's own may say it otherwise.",
            ) from error

    path = make_once("so", text, compiler, make)
    try:
        library = Library(path)
    except OSError as error:
        hint = "Remove the file; it is made again. Is its folder one that programs may run from?"
        raise ToolError(f"{path} cannot be loaded: {error}.", hint=hint) from error
    return KernelProgram(kernel, parameters, library, code, checked=checked)


_DIRECTIVE = re.compile(r"[ \t]*#")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_LEFT_OUT = re.compile(r"[ \t]*#[ \t]*(?:include|import|pragma|line)\b")
_MARK = "tracekit_line_"


def with_live_lines(kernel: KernelText, compiler: Compiler) -> KernelText:
    """Make blank what `#if` and its kin leave out, so that nobody judges what nobody compiles."""
    if not _CONDITION.search(kernel.text):
        return kernel
    lines = without_comments(kernel.text).split("\n")
    plain_lines = set(_find_plain_lines(lines))
    marked = (
        f"{_MARK}{line_number}" if line_number in plain_lines else line
        for line_number, line in enumerate(lines)
    )
    preprocessed_text = _preprocess("\n".join(marked), compiler)
    if not preprocessed_text:
        return kernel  # compiling it will fail too, and say why at its place
    dead_lines = plain_lines - {
        int(number) for number in re.findall(rf"{_MARK}(\d+)", preprocessed_text)
    }
    text = [
        blank(line) if line_number in dead_lines else line for line_number, line in enumerate(lines)
    ]
    return replace(kernel, text="\n".join(text))


def expand_macros(kernel: KernelText, compiler: Compiler) -> str:
    """Return the text with its macros replaced; "" where the preprocessor refuses it."""
    lines = without_comments(kernel.text).split("\n")
    source = "\n".join("" if _LEFT_OUT.match(line) else line for line in lines)
    return _preprocess(source, compiler)


def _find_plain_lines(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines that decide nothing: no conditions, no macros."""
    continues = False
    for line_number, line in enumerate(lines):
        is_directive = continues or bool(_DIRECTIVE.match(line) and not _LEFT_OUT.match(line))
        continues = is_directive and line.endswith("\\")
        if not is_directive:
            yield line_number


def _preprocess(source: str, compiler: Compiler) -> str:
    with suppress(ToolError):
        return _run_preprocessor(source, compiler)
    return ""


@lru_cache(maxsize=256)
def _run_preprocessor(source: str, compiler: Compiler) -> str:
    macros = str(SHIM / "prelude.hpp")
    return compiler.run("-x", "c++", "-E", "-P", "-imacros", macros, "-", stdin=f"{source}\n")


_CACHED_FOR = 30 * 24 * 3600  # s without use


def cache_folder() -> Path:
    """Return where compiled kernels are: below TRACEKIT_CACHE, or in the user's cache."""
    return notes_folder() / "kernels"


def make_once(kind: str, text: str, compiler: Compiler, make: Callable[[Path], object]) -> Path:
    """Return the file that `make` writes of a text, at a path that it is given; made once.

    The name holds all that it depends on: the text, the header files, the compiler, its flags.
    """
    parts = [text, _shim_text(), compiler.path, compiler.version, " ".join(compiler.flags)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = cache_folder() / f"{digest[:40]}.{kind}"
    if path.exists():
        with suppress(OSError):
            path.touch()
        return path
    with tempfile.TemporaryDirectory(prefix="tracekit-kernel-") as folder:
        new_file = Path(folder) / path.name
        make(new_file)
        with replacing(path) as file:
            file.write(new_file.read_bytes())
            file.flush()
            os.fsync(file.fileno())  # what was cut off could end the process that loads it
    oldest = time.time() - _CACHED_FOR
    for entry in path.parent.iterdir():
        with suppress(OSError):
            if entry.stat().st_mtime < oldest:
                entry.unlink()
    return path


@cache
def _shim_text() -> str:
    return "\0".join(
        f"{path.name}\0{path.read_text()}" for path in sorted(SHIM.iterdir()) if path.is_file()
    )


def unit(
    original: KernelText, *, checked: bool, expand: Callable[[KernelText], str]
) -> tuple[str, tuple[Parameter, ...], Edited]:
    """Return the C++ file of a kernel, its parameters, and its text as rewritten.

    `expand` replaces macros where the kernel is not found without.
    """
    kernel, declarations = _resolve_kernel(original, expand)
    code = rewritten(kernel, checked=checked)
    require_constants(kernel)
    parameters = parameters_of(declarations, kernel.function, kernel.file)
    numbers = [parameter.index for parameter in parameters if parameter.kind == "buffer"]
    if len(set(numbers)) < len(numbers) or any(number >= MOST_BUFFERS for number in numbers):
        raise UsageError(
            f"{kernel.file}: buffers are numbered {', '.join(map(str, sorted(numbers)))}; "
            f"each needs a number of its own, below {MOST_BUFFERS}."
        )
    lines = ['#include "prelude.hpp"', *_body(code.text, _call(kernel, parameters)), ""]
    return "\n".join(lines), parameters, code


def _resolve_kernel(
    kernel: KernelText, expand: Callable[[KernelText], str]
) -> tuple[KernelText, str]:
    """Find the function behind a host name, and the code that declares it."""
    code = without_comments(kernel.text)
    instance = _instance(code, kernel.function)
    is_there = instance is not None or kernel.function in kernels_of(code)
    if not is_there or (instance and set(re.findall(r"\w+", instance.template)) & _macros(code)):
        code = expand(kernel) or code
        instance = _instance(code, kernel.function)
    if instance is None or kernel.template:
        return kernel, code
    return replace(
        kernel, function=instance.function, template=instance.template, name=kernel.file
    ), code


def _instance(code: str, name: str) -> Instance | None:
    candidates = (instance for instance in instances_of(code) if instance.host_name == name)
    return next(
        (instance for instance in candidates if instance.template or instance.function != name),
        None,
    )


def _body(text: str, calls: Sequence[str]) -> list[str]:
    macros = sorted(_macros(text))
    # a text that adds to Metal's own namespace stands in no other
    extends_metal = re.search(r"^\s*namespace\s+metal\b", text, re.MULTILINE) is not None
    namespace_head = "namespace kernel_0 { using namespace metal; using namespace mlx_prelude;"
    return [
        *(f'#pragma push_macro("{name}")' for name in macros),
        "using namespace metal;" if extends_metal else namespace_head,
        '#line 1 "0.metal"',
        text,
        '#line 1 "0.end"',
        *(() if extends_metal else ("}",)),
        *calls,  # template arguments may be macros of the text
        *(f'#undef {name}\n#pragma pop_macro("{name}")' for name in macros),
    ]


def _macros(text: str) -> set[str]:
    return set(re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", text, re.MULTILINE))


def _call(kernel: KernelText, parameters: Sequence[Parameter]) -> list[str]:
    function = f"{kernel.function}<{kernel.template}>" if kernel.template else kernel.function
    kind = "tracekit::type_at_t<{}, tracekit_types>"
    values = [
        _argument(parameter, kind.format(index)) for index, parameter in enumerate(parameters)
    ]
    described = [f"tracekit::description<{kind.format(index)}>" for index in range(len(parameters))]
    return [
        "namespace kernel_0 {",
        '#line 1 "0.call"',
        "struct called_0 {",
        f"using tracekit_types = decltype(tracekit::types_of(&{function}));",
        '#line 1 "0.call"',
        f"static void tracekit_body() {{ {function}({', '.join(values)}); }}",
        "static constexpr tracekit::Parameter tracekit_parameters[] =",
        f"{{{', '.join(described) or '{}'}}};",
        "}; }",
        '#line 1 "unit"',
        f'extern "C" __attribute__((visibility("default"))) const tracekit::Entry {ENTRY} =',
        "{kernel_0::called_0::tracekit_body, kernel_0::called_0::tracekit_parameters};",
    ]


def _argument(parameter: Parameter, kind: str) -> str:
    if parameter.kind == "builtin":
        return f"tracekit::at_{parameter.builtin}<{kind}>()"
    if parameter.kind == "threadgroup":
        return f"tracekit::threadgroup_parameter<{kind}>({parameter.index})"
    return f"tracekit::argument<{kind}>({parameter.index})"
