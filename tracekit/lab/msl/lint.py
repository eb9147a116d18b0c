"""Address spaces of a Metal kernel, judged by clang where there is no Metal.

clang's C++ for OpenCL has the address spaces of Metal under other names, and refuses what mixes
them. What it has not is Metal's library: a header declares it, and a name that the header lacks
is distinguished from a mistake.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which

from tracekit.base import ToolError
from tracekit.lab.msl.compiler import run_compiler
from tracekit.lab.msl.edits import blank, without_comments

_DECLARATIONS = Path(__file__).parent / "opencl"
_SCALARS = "bool char uchar short ushort int uint long ulong half float bfloat"
_OWN_NAMES = ("Limits", "complex64_t", "ceildiv", "log1p", "elem_to_loc")

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|import|line|pragma)\b[^\n]*", re.MULTILINE)
_CONSTANT = re.compile(r"\[\[\s*function_constant\s*\([^()]*\)\s*\]\](?=\s*;)")
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.DOTALL)
_DECLARED = re.compile(
    r"\bthreadgroup\s+"
    r"(?P<type>(?!alignas)(?:unsigned\s+|volatile\s+)*[\w:]+(?:\s*<[^;<>()]*(?:<[^<>]*>[^;<>]*)?>)?)"
    r"\s+(?P<names>\w+\s*(?:\[[^;\[\]]*\]\s*)*(?:,\s*\w+\s*(?:\[[^;\[\]]*\]\s*)*)*);"
)
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[[^\[\]]*\]\s*)*)(?:,\s*)?")


def as_opencl(text: str, function: str, template: str, file: str) -> str:
    """Rewrite a Metal text so that clang's C++ for OpenCL can judge its address spaces.

    What clang cannot know becomes blanks, so that a message's line and column are the text's.
    Threadgroup variables, which OpenCL would allow in the kernel itself only, become references
    into threadgroup memory.
    """
    code = without_comments(text)
    # OpenCL wants a value of a constant, and no matter which
    code = _CONSTANT.sub(lambda match: "= {}" + blank(match[0])[4:], code)
    for pattern in (_ATTRIBUTE, _DIRECTIVE):
        code = pattern.sub(lambda match: blank(match[0]), code)
    code = _DECLARED.sub(lambda match: _make_references(code, match, file), code)
    there = re.search(rf"decltype\(\s*{re.escape(function)}\s*<", code)
    instantiation = f"template decltype({function}<{template}>) {function}<{template}>;"
    return f'#line 1 "{file}"\n{code}\n{instantiation if template and not there else ""}'


def prelude(text: str) -> str:
    """Return what must stand before the text: Metal's library and MLX's, without its own names."""
    code = without_comments(text)
    own_names = [
        name
        for name in _OWN_NAMES
        if re.search(rf"\b(?:struct\s+{name}\b|{name}\s*\([^()]*\)\s*\{{)", code)
    ]
    vectors = [
        f"{prefix}{scalar}{lanes}"
        for scalar in _SCALARS.split()
        for lanes in (2, 3, 4)
        for prefix in ("", "packed_")
    ]
    parts = [
        *(f"#define TRACEKIT_OWN_{name}" for name in own_names),
        (_DECLARATIONS / "metal.hpp").read_text(),
        (_DECLARATIONS / "mlx.hpp").read_text(),
        # `float4(a, b)`, which C++ for OpenCL lacks
        *(f"#define {name}(...) tracekit_vector<{name}>(__VA_ARGS__)" for name in vectors),
    ]
    return "\n".join(parts)


def _make_references(text: str, match: re.Match[str], file: str) -> str:
    """Turn `threadgroup float a[4], b;` into references, and go on in the same column."""
    kind, names = match["type"], match["names"].replace("\n", " ")
    references = "".join(
        f"threadgroup {kind} TRACEKIT_NAMED (&{name}){sizes} = "
        f"tracekit_threadgroup<{kind}{sizes}>(); "
        for name, sizes in _DECLARATOR.findall(names)
    )
    begin, end = text.rfind("\n", 0, match.end()) + 1, text.find("\n", match.end())
    if text[begin:].lstrip().startswith("#") or text[begin:end].endswith("\\"):
        return references  # a macro must stay on its line
    line = text.count("\n", 0, match.end()) + 1
    return f'{references}\n#line {line} "{file}"\n{" " * (match.end() - begin)}'


OLDEST, NEWEST = 14, 40
_ARGUMENTS = (
    *("-x", "cl", "-cl-std=clc++2021", "-target", "spir64", "-cl-no-stdinc", "-fsyntax-only"),
    # neither pointers without an address space nor double: Metal has none of them
    *("-Xclang", "-cl-ext=-all,+cl_khr_fp16"),
    *("-w", "-fno-caret-diagnostics", "-ferror-limit=20", "-"),
)
_KERNEL, _OWN = "<kernel>", "<tracekit>"
_SAID = re.compile(r"^(<\w+>):(\d+):(\d+): (?:fatal )?(error|note): (.*)$", re.MULTILINE)
_SPACES = {
    "__global": "device",
    "__local": "threadgroup",
    "__constant": "constant",
    "__private": "thread",
}
_UNKNOWN = re.compile(
    r"use of undeclared identifier|unknown type name|no template named|no type named"
    r"|no member named '\w+' in namespace|invalid conversion between ext-vector|undefined template"
)
_MIXED = re.compile(
    r"address space|use of type 'double'"
    r"|'[^']*\b(?:device|threadgroup|constant|thread)\b[^']*[*&\[]"
)
_BROKEN = re.compile(
    r"expected |extraneous |unterminated |missing |invalid suffix|unmatched |indirection requires"
)
_GOOD = "void f(device float* a, threadgroup float* b) { b[0] = a[0]; }"
_BAD = "void f(device float* a, threadgroup float* b) { a = b; }"


@dataclass(frozen=True)
class Complaint:
    """What clang says of one place; lines and columns count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Lint:
    """What clang says of a kernel.

    `defects` are what Metal would refuse as well. `unknown` may be due to names and conversions
    that the declarations of Metal's library lack: clang could not judge these lines.
    """

    defects: tuple[Complaint, ...]
    unknown: tuple[Complaint, ...]


def lint(text: str, function: str = "", template: str = "") -> Lint:
    """Check the address spaces and the syntax of a Metal text; its includes are left out.

    A `function` template is instantiated with the arguments of `template`; one that nobody
    instantiates is checked in part only.
    """
    clang = find_clang()
    program = as_opencl(text, function, template, _KERNEL)
    complaints = _complaints(clang, text, program)
    missing = any(_UNKNOWN.search(complaint.message) for complaint in complaints)
    defects = tuple(
        candidate for candidate in complaints if _certain(candidate, text, missing=missing)
    )
    return Lint(defects, tuple(candidate for candidate in complaints if candidate not in defects))


def find_clang() -> str:
    """Return the first clang on the PATH that tells address spaces apart.

    Raise ToolError where there is none. What is known of a program holds until its file changes.
    """
    tried: list[str] = []
    for name in ("clang", *(f"clang-{number}" for number in range(NEWEST, OLDEST - 1, -1))):
        path = which(name)
        if path is not None:
            reason = _why_unfit(path)
            if not reason:
                return path
            tried.append(f"{path}: {reason}")
    raise ToolError(
        f"No clang here can check address spaces ({'; '.join(tried)})."
        if tried
        else "There is no clang here to check address spaces with.",
        hint=f"Install LLVM's clang {OLDEST} or later, such as the package clang-19 of Debian.",
    )


def _certain(complaint: Complaint, text: str, *, missing: bool) -> bool:
    """Say whether Metal would complain as well, and not just what its library has be missed."""
    is_inside = 1 <= complaint.line <= text.count("\n") + 1
    sure = _MIXED.search(complaint.message) or (not missing and _BROKEN.match(complaint.message))
    # clang gives a temporary object no address space, and then no method; Metal does
    return is_inside and bool(sure) and "default address space" not in complaint.message


def _why_unfit(clang: str) -> str:
    """Return why this clang cannot judge, or "" if it can."""
    try:
        return _test_clang(clang, Path(clang).stat().st_mtime_ns)
    except ToolError as error:  # as one of time, which is forgotten
        return error.message


@cache
def _test_clang(clang: str, _changed: int) -> str:
    good, bad = (_complaints(clang, "", f'#line 1 "{_KERNEL}"\n{text}') for text in (_GOOD, _BAD))
    if good:
        return good[0].message
    return "" if bad else "it accepts a device pointer to threadgroup memory"


def _complaints(clang: str, text: str, program: str) -> tuple[Complaint, ...]:
    """Return the errors of a text as OpenCL, each once, in Metal's words; a reason goes with it.

    Where clang does not judge at all, that is a ToolError.
    """
    done = run_compiler([clang, *_ARGUMENTS], f'#line 1 "{_OWN}"\n{prelude(text)}\n{program}')
    if done.returncode != 0 and not _SAID.search(done.stderr):
        words = " ".join(done.stderr.split())[:300]
        raise ToolError(f"{clang} ended with {done.returncode}: {words or 'no word'}")
    complaints: dict[Complaint, None] = {}
    last_error: Complaint | None = None
    for file, line, column, kind, raw_message in _SAID.findall(done.stderr):
        message = re.sub("|".join(_SPACES), lambda word: _SPACES[word[0]], raw_message)
        if kind == "error":
            place = (int(line), int(column)) if file == _KERNEL else (0, 0)
            last_error = Complaint(*place, message)
            complaints.setdefault(last_error)
        elif last_error is not None and last_error in complaints and "candidate" in message:
            del complaints[last_error]
            complaints.setdefault(
                Complaint(last_error.line, last_error.column, f"{last_error.message} ({message})")
            )
            last_error = None
    return tuple(complaints)


def excerpt(text: str, complaints: Iterable[Complaint]) -> Iterator[str]:
    """Yield lines that show each place: the line of the text, then a caret below its column."""
    lines = text.splitlines()
    for complaint in complaints:
        yield f"{complaint.line}:{complaint.column}: {complaint.message}"
        if 0 < complaint.line <= len(lines):
            line = lines[complaint.line - 1]
            yield f"  {line}"
            yield "  " + re.sub(r"[^\t]", " ", line[: complaint.column - 1]) + "^"
