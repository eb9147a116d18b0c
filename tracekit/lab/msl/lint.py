"""Judge the address spaces of a Metal kernel by clang, on a machine without Metal.

clang's C++ for OpenCL has the address spaces of Metal under other names, and refuses to mix
them. It lacks Metal's library: a header declares it, and a name that the header lacks is
distinguished from a mistake.
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

    Words unknown to clang become blanks, so that the line and column of a message are those of
    the text. Threadgroup variables, which OpenCL would allow in the kernel itself only, become
    references into threadgroup memory.
    """
    code = without_comments(text)
    # OpenCL wants a value for a constant; any value will do
    code = _CONSTANT.sub(lambda match: "= {}" + blank(match[0])[4:], code)
    for pattern in (_ATTRIBUTE, _DIRECTIVE):
        code = pattern.sub(lambda match: blank(match[0]), code)
    code = _DECLARED.sub(lambda match: _make_references(code, match, file), code)
    instantiation = ""
    if template and not re.search(rf"decltype\(\s*{re.escape(function)}\s*<", code):
        instantiation = f"template decltype({function}<{template}>) {function}<{template}>;"
    return f'#line 1 "{file}"\n{code}\n{instantiation}'


def prelude(text: str) -> str:
    """Return the text to put before a kernel: Metal's library and MLX's.

    Names that the kernel defines itself are left out.
    """
    code = without_comments(text)
    own_names = [name for name in _OWN_NAMES if _defines(code, name)]
    lines = [f"#define TRACEKIT_OWN_{name}" for name in own_names]
    lines.append((_DECLARATIONS / "metal.hpp").read_text())
    lines.append((_DECLARATIONS / "mlx.hpp").read_text())
    # `float4(a, b)`, which C++ for OpenCL lacks
    lines += [
        f"#define {name}(...) tracekit_vector<{name}>(__VA_ARGS__)" for name in _vector_names()
    ]
    return "\n".join(lines)


def _defines(code: str, name: str) -> bool:
    """Return whether a text defines a struct or a function of a name."""
    definition = rf"\b(?:struct\s+{name}\b|{name}\s*\([^()]*\)\s*\{{)"
    return re.search(definition, code) is not None


def _vector_names() -> Iterator[str]:
    for scalar in _SCALARS.split():
        for lanes in (2, 3, 4):
            yield f"{scalar}{lanes}"
            yield f"packed_{scalar}{lanes}"


def _make_references(text: str, match: re.Match[str], file: str) -> str:
    """Turn `threadgroup float a[4], b;` into references, and go on in the same column."""
    kind = match["type"]
    names = match["names"].replace("\n", " ")
    references = ""
    for name, sizes in _DECLARATOR.findall(names):
        references += (
            f"threadgroup {kind} TRACEKIT_NAMED (&{name}){sizes} = "
            f"tracekit_threadgroup<{kind}{sizes}>(); "
        )
    begin = text.rfind("\n", 0, match.end()) + 1
    end = text.find("\n", match.end())
    if text[begin:].lstrip().startswith("#") or text[begin:end].endswith("\\"):
        return references  # a macro must stay on its line
    line = text.count("\n", 0, match.end()) + 1
    indent = " " * (match.end() - begin)
    return f'{references}\n#line {line} "{file}"\n{indent}'


OLDEST = 14
NEWEST = 40


_ARGUMENTS = (
    "-x",
    "cl",
    "-cl-std=clc++2021",
    "-target",
    "spir64",
    "-cl-no-stdinc",
    "-fsyntax-only",
    # neither pointers without an address space nor double: Metal has none of them
    "-Xclang",
    "-cl-ext=-all,+cl_khr_fp16",
    "-w",
    "-fno-caret-diagnostics",
    "-ferror-limit=20",
    "-",
)
_KERNEL = "<kernel>"
_OWN = "<tracekit>"
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
    """A message of clang about one place; lines and columns count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Lint:
    """The judgement of clang on a kernel.

    `defects` are complaints that Metal would make as well. `unknown` ones may be due to names and
    conversions that the declarations of Metal's library lack: clang could not judge these lines.
    """

    defects: tuple[Complaint, ...]
    unknown: tuple[Complaint, ...]


def lint(text: str, function: str = "", template: str = "") -> Lint:
    """Check the address spaces and the syntax of a Metal text; its includes are left out.

    A `function` template is instantiated with the arguments of `template`; without an
    instantiation, a template is checked in part only.
    """
    clang = find_clang()
    program = as_opencl(text, function, template, _KERNEL)
    complaints = _complaints(clang, text, program)
    missing = any(_UNKNOWN.search(complaint.message) for complaint in complaints)
    defects: list[Complaint] = []
    unknown: list[Complaint] = []
    for complaint in complaints:
        if _certain(complaint, text, missing=missing):
            defects.append(complaint)
        else:
            unknown.append(complaint)
    return Lint(tuple(defects), tuple(unknown))


def find_clang() -> str:
    """Return the first clang on the PATH that distinguishes address spaces.

    Raise ToolError if there is none. The result of a test holds until the program file changes.
    """
    failures: list[str] = []
    versions = range(NEWEST, OLDEST - 1, -1)
    for name in ("clang", *(f"clang-{number}" for number in versions)):
        path = which(name)
        if path is not None:
            reason = _why_unfit(path)
            if not reason:
                return path
            failures.append(f"{path}: {reason}")
    message = "There is no clang here to check address spaces with."
    if failures:
        message = f"No clang here can check address spaces ({'; '.join(failures)})."
    raise ToolError(
        message,
        hint=f"Install LLVM's clang {OLDEST} or later, such as the package clang-19 of Debian.",
    )


def _certain(complaint: Complaint, text: str, *, missing: bool) -> bool:
    """Return whether Metal would complain as well.

    A complaint may also come from `missing` names of Metal's library.
    """
    message = complaint.message
    line_count = text.count("\n") + 1
    if not 1 <= complaint.line <= line_count:
        return False
    if "default address space" in message:
        # clang gives a temporary object no address space, and then no method; Metal does
        return False
    if _MIXED.search(message):
        return True
    return not missing and _BROKEN.match(message) is not None


def _why_unfit(clang: str) -> str:
    """Return why this clang cannot judge, or "" if it can."""
    try:
        return _test_clang(clang, Path(clang).stat().st_mtime_ns)
    except ToolError as error:  # as one of time, which is forgotten
        return error.message


@cache
def _test_clang(clang: str, _changed: int) -> str:
    good_complaints = _complaints(clang, "", f'#line 1 "{_KERNEL}"\n{_GOOD}')
    bad_complaints = _complaints(clang, "", f'#line 1 "{_KERNEL}"\n{_BAD}')
    if good_complaints:
        return good_complaints[0].message
    if not bad_complaints:
        return "it accepts a device pointer to threadgroup memory"
    return ""


def _complaints(clang: str, text: str, program: str) -> tuple[Complaint, ...]:
    """Return the errors of a text as OpenCL, each once, in Metal's words, with its reason.

    Raises ToolError if clang does not judge at all.
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
            last_error = Complaint(0, 0, message)
            if file == _KERNEL:
                last_error = Complaint(int(line), int(column), message)
            complaints.setdefault(last_error)
        elif last_error is not None and last_error in complaints and "candidate" in message:
            del complaints[last_error]
            words = f"{last_error.message} ({message})"
            complaints.setdefault(Complaint(last_error.line, last_error.column, words))
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
