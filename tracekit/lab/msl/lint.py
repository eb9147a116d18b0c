"""Judge the address spaces and the types of a Metal kernel by clang, without Metal.

clang's C++ for OpenCL has the address spaces of Metal under other names, and refuses to mix
them. It lacks Metal's library: a header declares it, and a name that the header lacks is
distinguished from a mistake. `metal_rules` has further rules, for constructs that OpenCL allows.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from shutil import which

from tracekit.base import ToolError
from tracekit.lab.msl.compiler import UnfinishedRunError, run_compiler
from tracekit.lab.msl.edits import blank, without_comments
from tracekit.lab.msl.metal_rules import Complaint, expand, find_refusals, measure_threadgroup

_DECLARATIONS = Path(__file__).parent / "opencl"
_SCALARS = "bool char uchar short ushort int uint long ulong half float bfloat"
_OWN_NAMES = ("Limits", "complex64_t", "ceildiv", "log1p", "elem_to_loc")

# `#include <metal_stdlib>`
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|import|line|pragma)\b[^\n]*", re.MULTILINE)
# `[[function_constant(0)]]` of `constant bool has_mask [[function_constant(0)]];`
_CONSTANT = re.compile(r"\[\[\s*function_constant\s*\([^()]*\)\s*\]\](?=\s*;)")
# `[[buffer(0)]]`
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.DOTALL)
# `threadgroup float tile[4], sum;`, with a type such as `metal::vec<T, 4>`
_DECLARED = re.compile(
    r"\bthreadgroup\s+"
    r"(?P<type>(?!alignas)(?:unsigned\s+|volatile\s+)*[\w:]+(?:\s*<[^;<>()]*(?:<[^<>]*>[^;<>]*)?>)?)"
    r"\s+(?P<names>\w+\s*(?:\[[^;\[\]]*\]\s*)*(?:,\s*\w+\s*(?:\[[^;\[\]]*\]\s*)*)*);"
)
# `tile[4], ` of these names
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
    code = "\n".join(map(_with_inexact_literals, code.split("\n")))
    code = _DECLARED.sub(lambda match: _make_references(code, match, file), code)
    instantiation = ""
    if template and not re.search(rf"decltype\(\s*{re.escape(function)}\s*<", code):
        instantiation = f"template decltype({function}<{template}>) {function}<{template}>;"
    return f'#line 1 "{file}"\n{code}\n{instantiation}'


# `constexpr`, `static_assert`, or a line of the preprocessor
_EVALUATED = re.compile(r"\b(?:constexpr|static_assert)\b|^\s*#")
# `2.5` of `2.5f`, `1.` of `1.e-3`
_LITERAL = re.compile(r"(?<![\w.])(\d*)\.(\d*)(?=(?:[eE][-+]?\d+)?[fF]?(?![\w.]))")


def _with_inexact_literals(line: str) -> str:
    """Change the values of floats, except in lines in which the compiler computes with them."""
    if _EVALUATED.search(line):
        return line
    return _LITERAL.sub(_make_inexact, line)


def _make_inexact(literal: re.Match[str]) -> str:
    """Return a literal as long as another one that no float holds exactly.

    clang is silent about a constant that a bfloat holds exactly; Metal refuses it all the same.
    """
    integer, fraction = literal.groups()
    if fraction:
        return f"{integer}.{fraction[:-1]}3"
    if integer:
        return f"{integer[:-1]}.3"
    return literal[0]


def prelude(text: str, *, has_bfloat: bool = True) -> str:
    """Return the text to put before a kernel: Metal's library and MLX's.

    Names that the kernel defines itself are left out. Without bfloat, 16 bits take its place.
    """
    code = without_comments(text)
    own_names = [name for name in _OWN_NAMES if _defines(code, name)]
    lines = [f"#define TRACEKIT_OWN_{name}" for name in own_names]
    if has_bfloat:
        lines.append("#define TRACEKIT_BFLOAT __bf16")
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
            f"tracekit_threadgroup<{kind}{sizes}, sizeof({kind}{sizes})>(); "
        )
    begin = text.rfind("\n", 0, match.end()) + 1
    end = text.find("\n", match.end())
    if text[begin:].lstrip().startswith("#") or text[begin:end].endswith("\\"):
        return references  # a macro must stay on its line
    line = text.count("\n", 0, match.end()) + 1
    indent = " " * (match.end() - begin)
    return f'{references}\n#line {line} "{file}"\n{indent}'


# Versions of clang that are looked for under names such as clang-19; the oldest one is required.
OLDEST = 14
NEWEST = 40


_ARGUMENTS = (
    "-x",
    "cl",
    "-cl-std=clc++2021",
    "-cl-no-stdinc",
    "-fsyntax-only",
    # neither pointers without an address space nor double: Metal has none of them
    "-Xclang",
    "-cl-ext=-all,+cl_khr_fp16",
    "-Wno-everything",
    "-Wimplicit-float-conversion",  # which finds a float that becomes a bfloat
    "-Wdeprecated-declarations",  # which names each threadgroup variable and its bytes
    "-fno-caret-diagnostics",
    "-ferror-limit=20",
    "-",
)
_WITH_BFLOAT = "x86_64-linux-gnu"  # a target that has the type
_WITHOUT_BFLOAT = "spir64"
_KERNEL = "<kernel>"
_OWN = "<tracekit>"
# Messages of clang 19, each with a sample:
# <kernel>:1:60: error: assigning '__local float *__private' to '__global float *' changes address …
_MESSAGE = re.compile(r"^(<\w+>):(\d+):(\d+): (?:fatal )?(error|note|warning): (.*)$", re.MULTILINE)
_SPACES = {
    "__global": "device",
    "__local": "threadgroup",
    "__constant": "constant",
    "__private": "thread",
}
# use of undeclared identifier 'undeclared'; unknown type name 'foo_t'
_UNKNOWN = re.compile(
    r"use of undeclared identifier|unknown type name|no template named|no type named"
    r"|no member named '\w+' in namespace|invalid conversion between ext-vector|undefined template"
)
# assigning 'threadgroup float *thread' to 'device float *' changes address space of pointer
_MIXED = re.compile(
    r"address space|use of type 'double'"
    r"|'[^']*\b(?:device|threadgroup|constant|thread)\b[^']*[*&\[]"
)
# expected ';' after expression
_BROKEN = re.compile(
    r"expected |extraneous |unterminated |missing |invalid suffix|unmatched |indirection requires"
)
# implicit conversion loses floating-point precision: 'device float' to 'bfloat' (aka '__bf16')
_TO_BFLOAT = re.compile(r"implicit conversion .*loses.* to '[^']*(?:__bf16|bfloat)")
_IMPLICIT = "a float becomes a bfloat without a conversion: write `bfloat(…)`"
_COMPUTED = "a bfloat takes the result of arithmetic in float: whether Metal converts it is unknown"
# Clang warns that 'tracekit_threadgroup<float[4], 16UL>' is deprecated.
_SHARED = re.compile(r"'tracekit_threadgroup<.*, (\d+)U?L*>' is deprecated", re.DOTALL)
# in instantiation of function template specialization 'g<float>' requested here
_INSTANTIATION = re.compile(r"in instantiation of function template specialization '(.*)' request")
_NARROWING = "void f(device float* a, device bfloat* b) { b[0] = a[0]; }"
_GOOD = "void f(device float* a, threadgroup float* b) { b[0] = a[0]; }"
_BAD = "void f(device float* a, threadgroup float* b) { a = b; }"


@dataclass(frozen=True)
class Lint:
    """The judgement on a kernel.

    `defects` are complaints that Metal would make as well. `unknown` ones may be due to names and
    conversions that the declarations of Metal's library lack, or concern some versions of Metal.
    """

    defects: tuple[Complaint, ...]
    unknown: tuple[Complaint, ...]


@dataclass
class ClangMessages:
    """The messages of clang about one program.

    `narrowed` are implicit conversions to bfloat. `shared` has the line, the instantiation and the
    bytes of each threadgroup variable.
    """

    complaints: dict[Complaint, None] = field(default_factory=dict[Complaint, None])
    narrowed: dict[Complaint, None] = field(default_factory=dict[Complaint, None])
    shared: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    instantiation: str = ""  # that clang named last


def lint(text: str, function: str = "", template: str = "") -> Lint:
    """Check the address spaces, the types and the syntax of a Metal text, without its includes.

    A `function` template is instantiated with the arguments of `template`; without an
    instantiation, a template is checked in part only.
    """
    clang = find_clang()
    program = as_opencl(text, function, template, _KERNEL)
    messages = _judge(clang, text, program)
    missing = any(_UNKNOWN.search(complaint.message) for complaint in messages.complaints)
    expanded = expand(clang, text)
    defects: list[Complaint] = []
    unknown: list[Complaint] = []
    for complaint in messages.complaints:
        if _certain(complaint, text, missing=missing):
            defects.append(complaint)
        else:
            unknown.append(complaint)
    for complaint in messages.narrowed:
        if complaint.message == _COMPUTED:
            unknown.append(complaint)
        else:
            defects.append(complaint)
    refusals, doubts = find_refusals(expanded)
    defects += refusals
    defects += measure_threadgroup(expanded, messages.shared)
    unknown += doubts
    return Lint(tuple(dict.fromkeys(defects)), tuple(dict.fromkeys(unknown)))


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
    good = _judge(clang, "", f'#line 1 "{_KERNEL}"\n{_GOOD}')
    bad = _judge(clang, "", f'#line 1 "{_KERNEL}"\n{_BAD}')
    if good.complaints:
        return next(iter(good.complaints)).message
    if not bad.complaints:
        return "it accepts a device pointer to threadgroup memory"
    return ""


@cache
def _has_bfloat(clang: str, _changed: int) -> bool:
    """Return whether this clang tells a bfloat from other types; those before 17 do not.

    Raises UnfinishedRunError if it did not answer, which is forgotten.
    """
    program = f'#line 1 "{_KERNEL}"\n{_NARROWING}'
    try:
        messages = _run_clang(clang, "", program, has_bfloat=True)
    except UnfinishedRunError:
        raise
    except ToolError:
        return False
    return not messages.complaints and len(messages.narrowed) == 1


def _judge(clang: str, text: str, program: str) -> ClangMessages:
    """Return the messages about a text as OpenCL; raise ToolError if clang does not judge."""
    has_bfloat = _has_bfloat(clang, Path(clang).stat().st_mtime_ns)
    return _run_clang(clang, text, program, has_bfloat=has_bfloat)


def _run_clang(clang: str, text: str, program: str, *, has_bfloat: bool) -> ClangMessages:
    target = _WITH_BFLOAT if has_bfloat else _WITHOUT_BFLOAT
    declarations = prelude(text, has_bfloat=has_bfloat)
    source = f'#line 1 "{_OWN}"\n{declarations}\n{program}'
    done = run_compiler([clang, "-target", target, *_ARGUMENTS], source)
    if done.returncode != 0 and not _MESSAGE.search(done.stderr):
        failure = " ".join(done.stderr.split())[:300]
        raise ToolError(f"{clang} ended with {done.returncode}: {failure or 'no word'}")
    return _read_messages(done.stderr)


def _read_messages(stderr: str) -> ClangMessages:
    """Return each message once, in Metal's words, an error with its reason.

    Notes follow the error or warning that they explain. An error outside the kernel's own text has
    line and column 0. Of the notes of an error, the first one that names a candidate is its reason.
    """
    messages = ClangMessages()
    last_error: Complaint | None = None  # the one that the next notes explain
    for file, line, column, kind, raw_message in _MESSAGE.findall(stderr):
        message = re.sub("|".join(_SPACES), lambda word: _SPACES[word[0]], raw_message)
        if kind == "warning":
            last_error = None
            if file == _KERNEL:
                _note_warning(messages, int(line), int(column), message)
        elif kind == "error":
            last_error = Complaint(0, 0, message)
            if file == _KERNEL:
                last_error = Complaint(int(line), int(column), message)
            messages.complaints.setdefault(last_error)
        elif last_error is not None and last_error in messages.complaints:
            if "candidate" in message:
                del messages.complaints[last_error]
                explained = replace(last_error, message=f"{last_error.message} ({message})")
                messages.complaints.setdefault(explained)
                last_error = None
        else:
            _note_instantiation(messages, message)
    return messages


def _note_warning(messages: ClangMessages, line: int, column: int, message: str) -> None:
    shared = _SHARED.match(message)
    if shared is not None:
        messages.shared.append((line, messages.instantiation, int(shared[1])))
    elif _TO_BFLOAT.match(message):
        is_computed = "when assigning computation result" in message
        complaint = Complaint(line, column, _COMPUTED if is_computed else _IMPLICIT)
        messages.narrowed.setdefault(complaint)


def _note_instantiation(messages: ClangMessages, message: str) -> None:
    """Note which instantiation the last variable belongs to; clang says so at the first one."""
    instantiation = _INSTANTIATION.match(message)
    if instantiation is not None and messages.shared:
        messages.instantiation = instantiation[1]
        line, _, size = messages.shared[-1]
        messages.shared[-1] = (line, instantiation[1], size)


def excerpt(text: str, complaints: Iterable[Complaint]) -> Iterator[str]:
    """Yield lines that show each place: the line of the text, then a caret below its column."""
    lines = text.splitlines()
    for complaint in complaints:
        yield f"{complaint.line}:{complaint.column}: {complaint.message}"
        if 0 < complaint.line <= len(lines):
            line = lines[complaint.line - 1]
            yield f"  {line}"
            text_before = line[: complaint.column - 1]
            yield "  " + re.sub(r"[^\t]", " ", text_before) + "^"
