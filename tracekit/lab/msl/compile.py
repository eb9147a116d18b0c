"""Turn a kernel into a program: rewrite it as C++, compile it on this machine, and cache it."""

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

from tracekit.base import KernelError, ToolError, UsageError
from tracekit.base import files as base_files
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
    engine = make_engine(compiler)

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


def make_engine(compiler: Compiler) -> Path:
    """Return the object file of the engine, which is compiled once and linked to every kernel."""
    source = str(SHIM / "engine.cpp")
    return make_once(
        "o", "engine", compiler, lambda path: compiler.run("-O2", "-c", source, "-o", str(path))
    )


_DIRECTIVE = re.compile(r"[ \t]*#")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_LEFT_OUT = re.compile(r"[ \t]*#[ \t]*(?:include|import|pragma|line)\b")
_MARK = "tracekit_line_"


def with_live_lines(kernel: KernelText, compiler: Compiler) -> KernelText:
    """Make the lines blank that `#if` and its kin leave out, as the compiler does not see them."""
    if not _CONDITION.search(kernel.text):
        return kernel
    lines = without_comments(kernel.text).split("\n")
    plain_lines = set(_find_plain_lines(lines))
    marked_lines = list(lines)
    for number in plain_lines:
        marked_lines[number] = f"{_MARK}{number}"
    preprocessed_text = _preprocess("\n".join(marked_lines), compiler)
    if not preprocessed_text:
        return kernel  # compiling it will fail too, and report why at its place
    written_numbers = re.findall(rf"{_MARK}(\d+)", preprocessed_text)
    live_lines = {int(number) for number in written_numbers}
    for number in plain_lines - live_lines:
        lines[number] = blank(lines[number])
    return replace(kernel, text="\n".join(lines))


def expand_macros(kernel: KernelText, compiler: Compiler) -> str:
    """Return the text with its macros replaced; "" if the preprocessor refuses it."""
    lines = without_comments(kernel.text).split("\n")
    for number, line in enumerate(lines):
        if _LEFT_OUT.match(line):
            lines[number] = ""
    return _preprocess("\n".join(lines), compiler)


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
    """Return the folder of compiled kernels: below TRACEKIT_CACHE, or in the user's cache."""
    return base_files.notes_folder() / "kernels"


def make_once(kind: str, text: str, compiler: Compiler, make: Callable[[Path], object]) -> Path:
    """Return a file that `make` writes for a text at the path that it gets; it is made once.

    The name depends on the text, the header files, the compiler and its flags.
    """
    parts = [text, _shim_text(), compiler.path, compiler.version, " ".join(compiler.flags)]
    content = "\0".join(parts).encode()
    digest = hashlib.sha256(content).hexdigest()
    path = cache_folder() / f"{digest[:40]}.{kind}"
    if path.exists():
        with suppress(OSError):
            path.touch()
        return path
    with tempfile.TemporaryDirectory(prefix="tracekit-kernel-") as folder:
        new_file = Path(folder) / path.name
        make(new_file)
        with base_files.replacing(path) as file:
            file.write(new_file.read_bytes())
            file.flush()
            os.fsync(file.fileno())  # a file that was cut off could end the process that loads it
    _remove_unused(path.parent)
    return path


def _remove_unused(folder: Path) -> None:
    oldest = time.time() - _CACHED_FOR
    for entry in folder.iterdir():
        with suppress(OSError):
            if entry.stat().st_mtime < oldest:
                entry.unlink()


@cache
def _shim_text() -> str:
    shim_files = sorted(SHIM.iterdir())
    files = [path for path in shim_files if path.is_file()]
    return "\0".join(f"{path.name}\0{path.read_text()}" for path in files)


def unit(
    original: KernelText, *, checked: bool, expand: Callable[[KernelText], str]
) -> tuple[str, tuple[Parameter, ...], Edited]:
    """Return the C++ file of a kernel, its parameters, and its rewritten text.

    `expand` replaces macros if the kernel is not found without.
    """
    kernel, declarations = _resolve_kernel(original, expand)
    code = rewritten(kernel, checked=checked)
    require_constants(kernel)
    parameters = parameters_of(declarations, kernel.function, kernel.file)
    _require_buffer_numbers(parameters, kernel)
    body = _body(code.text, _call(kernel, parameters))
    lines = ['#include "prelude.hpp"', *body, ""]
    return "\n".join(lines), parameters, code


def _require_buffer_numbers(parameters: Sequence[Parameter], kernel: KernelText) -> None:
    numbers = sorted(parameter.index for parameter in parameters if parameter.kind == "buffer")
    is_repeated = len(set(numbers)) < len(numbers)
    is_too_large = any(number >= MOST_BUFFERS for number in numbers)
    if is_repeated or is_too_large:
        raise UsageError(
            f"{kernel.file}: buffers are numbered {', '.join(map(str, numbers))}; "
            f"each needs a number of its own, below {MOST_BUFFERS}."
        )


def _resolve_kernel(
    kernel: KernelText, expand: Callable[[KernelText], str]
) -> tuple[KernelText, str]:
    """Find the function behind a host name, and the code that declares it."""
    code = without_comments(kernel.text)
    instance = _instance(code, kernel.function)
    if _needs_expansion(code, kernel, instance):
        code = expand(kernel) or code
        instance = _instance(code, kernel.function)
    if instance is None or kernel.template:
        return kernel, code
    instantiated_kernel = replace(
        kernel, function=instance.function, template=instance.template, name=kernel.file
    )
    return instantiated_kernel, code


def _needs_expansion(code: str, kernel: KernelText, instance: Instance | None) -> bool:
    """Return whether macros hide the kernel, or are template arguments of its instance."""
    if instance is None:
        return kernel.function not in kernels_of(code)
    words = set(re.findall(r"\w+", instance.template))
    return not words.isdisjoint(_macros(code))


def _instance(code: str, name: str) -> Instance | None:
    for instance in instances_of(code):
        if instance.host_name != name:
            continue
        if instance.template or instance.function != name:
            return instance
    return None


def _body(text: str, calls: Sequence[str]) -> list[str]:
    macros = sorted(_macros(text))
    head = "namespace kernel_0 { using namespace metal; using namespace mlx_prelude;"
    tail = ["}"]
    # a text that adds to Metal's own namespace must be outside all others
    if re.search(r"^\s*namespace\s+metal\b", text, re.MULTILINE):
        head = "using namespace metal;"
        tail = []
    return [
        *(f'#pragma push_macro("{name}")' for name in macros),
        head,
        '#line 1 "0.metal"',
        text,
        '#line 1 "0.end"',
        *tail,
        *calls,  # template arguments may be macros of the text
        *(f'#undef {name}\n#pragma pop_macro("{name}")' for name in macros),
    ]


def _macros(text: str) -> set[str]:
    return set(re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", text, re.MULTILINE))


def _call(kernel: KernelText, parameters: Sequence[Parameter]) -> list[str]:
    function = kernel.function
    if kernel.template:
        function = f"{kernel.function}<{kernel.template}>"
    values: list[str] = []
    descriptions: list[str] = []
    for index, parameter in enumerate(parameters):
        kind = f"tracekit::type_at_t<{index}, tracekit_types>"
        values.append(_argument(parameter, kind))
        descriptions.append(f"tracekit::description<{kind}>")
    return [
        "namespace kernel_0 {",
        '#line 1 "0.call"',
        "struct called_0 {",
        f"using tracekit_types = decltype(tracekit::types_of(&{function}));",
        '#line 1 "0.call"',
        f"static void tracekit_body() {{ {function}({', '.join(values)}); }}",
        "static constexpr tracekit::Parameter tracekit_parameters[] =",
        f"{{{', '.join(descriptions) or '{}'}}};",
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
