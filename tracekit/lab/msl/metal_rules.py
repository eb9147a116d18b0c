"""Find constructs that Metal refuses and clang's C++ for OpenCL accepts.

The rules read text after the preprocessor: parts that `#if` leaves out are not judged, and macros
are expanded.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tracekit.lab.msl.compiler import run_compiler
from tracekit.lab.msl.edits import blank, without_comments, without_strings
from tracekit.lab.msl.signature import closing, split_parameters
from tracekit.workload import threadgroups


@dataclass(frozen=True)
class Complaint:
    """A message about one place; lines and columns count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class FunctionDefinition:
    """A function with a body, by its offsets in the code.

    `head` is the text before the name: attributes, specifiers and the result's type. `enclosing` is
    the struct that it belongs to, "" if it is free.
    """

    name: str
    head: str
    start: int
    opening: int
    body: int
    end: int
    enclosing: str

    @property
    def is_kernel(self) -> bool:
        """Whether the GPU starts it."""
        return re.search(r"\bkernel\b", self.head) is not None


_LEFT_OUT = re.compile(r"^[ \t]*#[ \t]*(?:include|import|pragma)\b[^\n]*", re.MULTILINE)
_MARKER = re.compile(r'# (\d+) "<stdin>"')
_CALLED = re.compile(r"(?:\boperator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]{1,3})|\b[A-Za-z_]\w*)\s*\(")
_CONTROL = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "alignof", "decltype"}
    | {"static_assert", "catch", "defined"}
)
_STRUCT = re.compile(r"\b(?:struct|class|union)\s+(?:alignas\s*\([^()]*\)\s*)?(\w+)[^;{}()=]*\{")
_AFTER_PARAMETERS = re.compile(
    r"\s*(?:(?:const|noexcept|override|final|thread|device|constant|threadgroup)\b\s*)*"
    r"(?:->\s*[\w:<>,\s*&]+?)?(?::[^;{}]*?(?:\{[^{}]*\}[^;{}]*?)*)?\{"
)
_PREPROCESSOR = (
    "-E",
    "-x",
    "c++",
    "-nostdinc",
    "-undef",
    "-w",
    "-D__METAL__=1",
    "-D__METAL_VERSION__=310",
    "-D__HAVE_BFLOAT__=1",
    "-",
)


@dataclass(frozen=True)
class ExpandedCode:
    """A Metal text without comments, strings and directives, each line at its original number."""

    original: str
    code: str

    @cached_property
    def functions(self) -> tuple[FunctionDefinition, ...]:
        """All functions that have a body, in their order."""
        return tuple(_find_functions(self.code))

    def complain(self, offset: int, message: str) -> Complaint:
        """Return a complaint about a word of the code, at its place in the original text."""
        line = self.code.count("\n", 0, offset) + 1
        word = re.match(r"\w+|.", self.code[offset:])
        lines = self.original.split("\n")
        column = 0
        if word is not None and line <= len(lines):
            found = re.search(rf"(?<!\w){re.escape(word[0])}(?!\w)", lines[line - 1])
            column = found.start() if found else 0
        return Complaint(line, column + 1, message)


def expand(clang: str, text: str) -> ExpandedCode:
    """Run clang's preprocessor over a Metal text."""
    code = without_comments(text)
    code = _LEFT_OUT.sub(lambda match: blank(match[0]), code)
    done = run_compiler([clang, *_PREPROCESSOR], code)
    lines = [""] * (text.count("\n") + 2)
    number = 0
    for line in done.stdout.split("\n"):
        marker = _MARKER.match(line)
        if marker is not None:
            number = int(marker[1])
        elif not line.startswith("# "):
            if 0 < number < len(lines):
                lines[number - 1] += line
            number += 1
    return ExpandedCode(text, without_strings("\n".join(lines)))


def _find_functions(code: str) -> Iterator[FunctionDefinition]:
    structs = [(match.end() - 1, match[1]) for match in _STRUCT.finditer(code)]
    bodies = [(start, closing(code, start), name) for start, name in structs]
    end_of_last = 0
    for match in _CALLED.finditer(code):
        name = match[0][:-1].strip()
        opening = match.end() - 1
        if match.start() < end_of_last or name in _CONTROL:
            continue
        close = closing(code, opening)
        after = _AFTER_PARAMETERS.match(code, close + 1)
        if close < 0 or after is None:
            continue
        head_start = max(code.rfind(letter, 0, match.start()) for letter in ";{}") + 1
        body = after.end() - 1
        end = closing(code, body)
        if end < 0:
            return
        enclosing = ""
        for start, stop, struct_name in bodies:
            if start < match.start() < stop:
                enclosing = struct_name
        head = code[head_start : match.start()]
        yield FunctionDefinition(name, head, match.start(), opening, body, end, enclosing)
        end_of_last = end


def find_refusals(expanded: ExpandedCode) -> tuple[list[Complaint], list[Complaint]]:
    """Return the constructs that Metal refuses, and those that some of its versions refuse."""
    refusals = [
        *_unplaced_parameters(expanded),
        *_unplaced_variables(expanded),
        *_misplaced_threadgroup(expanded),
        *_jumps(expanded),
    ]
    doubts = [*_recursion(expanded), *_thread_references(expanded)]
    return refusals, doubts


_SPACE = re.compile(r"\b(?:device|constant|threadgroup|thread|ray_data|object_data)\b")
_SCALARS = (
    r"(?:bool|char|uchar|short|ushort|int|uint|long|ulong|half|float|bfloat|size_t|ptrdiff_t"
    r"|u?int(?:8|16|32|64)_t|b?float16_t|complex64_t)"
)
_UNPLACED = "type must have explicit address space qualifier: "


def _unplaced_parameters(expanded: ExpandedCode) -> Iterator[Complaint]:
    """Find pointers and references among parameters that name no address space."""
    code = expanded.code
    for function in expanded.functions:
        close = closing(code, function.opening)
        for piece in split_parameters(code[function.opening + 1 : close]):
            declaration = re.sub(r"\[\[.*?\]\]|=.*", " ", piece, flags=re.DOTALL)
            declaration = _without_angles(declaration)
            sign = re.search(r"[*&]", re.sub(r"\[[^\[\]]*\]", " ", declaration))
            is_function = re.search(r"\)\s*\(", declaration) is not None
            if sign is None or is_function or _SPACE.search(declaration):
                continue
            name = re.search(r"(\w+)\W*$", re.sub(r"\[[^\[\]]*\]", " ", declaration))
            kind = "pointer" if sign[0] == "*" else "reference"
            offset = code.index(piece, function.opening)
            if name is not None:
                offset += piece.index(name[1])
            words = " ".join(declaration.split())
            yield expanded.complain(
                offset, f"{kind} {_UNPLACED}parameter `{words}` of {function.name}"
            )


def _without_angles(text: str) -> str:
    """Return a declaration without the arguments of its templates."""
    shorter = re.sub(r"<[^<>]*>", " ", text)
    while shorter != text:
        text = shorter
        shorter = re.sub(r"<[^<>]*>", " ", text)
    return text


def _unplaced_variables(expanded: ExpandedCode) -> Iterator[Complaint]:
    """Find declarations of pointers and references, with a plain type, that name no space."""
    own_types = [re.escape(match[1]) for match in _STRUCT.finditer(expanded.code)]
    types = "|".join([rf"{_SCALARS}[234]?", *own_types])
    declared = re.compile(
        rf"(?<=[;{{}}])\s*(?:(?:const|constexpr|static|volatile)\s+)*(?:{types})\b"
        rf"(?:\s+const)?\s*(?P<sign>[*&])\s*(?:const\s+)?(?P<name>\w+)\s*(?:=|;|\[)"
    )
    for match in declared.finditer(expanded.code):
        kind = "pointer" if match["sign"] == "*" else "reference"
        words = " ".join(match[0].split()).rstrip("=;[ ")
        yield expanded.complain(match.start("name"), f"{kind} {_UNPLACED}`{words}`")


_THREADGROUP = re.compile(
    r"\bthreadgroup\s+(?!alignas)(?:(?:unsigned|volatile|const)\s+)*"
    r"[\w:]+(?:\s*<[^;<>()]*(?:<[^<>]*>[^;<>]*)?>)?\s+(?P<name>\w+)\s*(?:\[[^;]*?\]\s*)*[;,=]"
)


def _misplaced_threadgroup(expanded: ExpandedCode) -> Iterator[Complaint]:
    """Find threadgroup variables that no kernel function declares."""
    for match in _THREADGROUP.finditer(expanded.code):
        name = match["name"]
        owner = _find_owner(expanded.functions, match.start())
        if owner is None:
            if not _is_parameter(expanded.code, match.start()):
                message = f"the threadgroup variable {name!r} is outside of a kernel function"
                yield expanded.complain(match.start("name"), message)
        elif match.start() > owner.body and not owner.is_kernel:
            message = f"{owner.name} declares the threadgroup variable {name!r} and is not a kernel"
            yield expanded.complain(match.start("name"), message)


def _find_owner(functions: Sequence[FunctionDefinition], offset: int) -> FunctionDefinition | None:
    for function in functions:
        if function.start <= offset <= function.end:
            return function
    return None


def _is_parameter(code: str, offset: int) -> bool:
    """Return whether an offset is within the parentheses of a declaration without a body."""
    start = max(code.rfind(letter, 0, offset) for letter in ";{}") + 1
    before = code[start:offset]
    return before.count("(") > before.count(")")


def _jumps(expanded: ExpandedCode) -> Iterator[Complaint]:
    for match in re.finditer(r"\bgoto\s+\w+\s*;", expanded.code):
        yield expanded.complain(match.start(), "Metal has no goto")


_RECURSION = "Metal's specification excludes recursive function calls"


def _recursion(expanded: ExpandedCode) -> Iterator[Complaint]:
    """Find functions that reach themselves by calls.

    Functions differ by their names and numbers of arguments. Calls that could be of one
    of several functions, calls with explicit template arguments and variadic functions are left
    out: they may end at compile time.
    """
    takers: defaultdict[str, list[tuple[range, FunctionDefinition]]] = defaultdict(list)
    for function in expanded.functions:
        takers[function.name].append((_argument_counts(expanded.code, function), function))
    calls: dict[int, set[int]] = {}
    functions: dict[int, FunctionDefinition] = {}
    for function in expanded.functions:
        functions[function.start] = function
        calls[function.start] = set(_calls_of(expanded.code, function, takers))
    for start, function in functions.items():
        if _reaches(calls, start):
            message = f"{function.name} calls itself: {_RECURSION}"
            yield expanded.complain(start, message)


def _argument_counts(code: str, function: FunctionDefinition) -> range:
    """Return the numbers of arguments that a function takes; none for a variadic one."""
    pieces = split_parameters(code[function.opening + 1 : closing(code, function.opening)])
    if any("..." in piece for piece in pieces) or function.name.startswith("operator"):
        return range(0)
    defaults = sum("=" in piece for piece in pieces)
    return range(len(pieces) - defaults, len(pieces) + 1)


def _calls_of(
    code: str,
    function: FunctionDefinition,
    takers: dict[str, list[tuple[range, FunctionDefinition]]],
) -> Iterator[int]:
    """Yield the starts of the functions that a function certainly calls."""
    body = code[function.body : function.end]
    for match in re.finditer(r"(?<![\w.:>])([A-Za-z_]\w*)\s*\(", body):
        opening = function.body + match.end() - 1
        close = closing(code, opening)
        if match[1] not in takers or close < 0:
            continue
        count = len(split_parameters(code[opening + 1 : close]))
        fitting = [taker for counts, taker in takers[match[1]] if count in counts]
        if len(fitting) == 1 and fitting[0].enclosing in {"", function.enclosing}:
            yield fitting[0].start


def _reaches(calls: dict[int, set[int]], start: int) -> bool:
    """Return whether a function reaches itself."""
    reached: set[int] = set()
    waiting = list(calls[start])
    while waiting:
        function = waiting.pop()
        if function == start:
            return True
        if function not in reached:
            reached.add(function)
            waiting += calls[function]
    return False


def _thread_references(expanded: ExpandedCode) -> Iterator[Complaint]:
    """Find members that return `thread T&` and do not say that the object is a thread's.

    Metal 4.1, of Xcode 27, wants the qualifier `thread` after the parameters.
    """
    code = expanded.code
    for function in expanded.functions:
        returns_reference = re.search(r"\bthread\b[\s\w:<>,]*&\s*$", function.head)
        is_static = re.search(r"\b(?:static|friend)\b", function.head)
        after = code[closing(code, function.opening) + 1 : function.body]
        is_qualified = re.search(r"\bthread\b", after)
        if function.enclosing and returns_reference and not (is_static or is_qualified):
            message = (
                f"{function.enclosing}::{function.name} returns `thread T&`: Metal 4.1 wants "
                "the qualifier `thread` after its parameters"
            )
            yield expanded.complain(function.start, message)


_ALIGNMENT = 16  # of a threadgroup variable


def measure_threadgroup(
    expanded: ExpandedCode, sizes: Iterable[tuple[int, str, int]]
) -> Iterator[Complaint]:
    """Find kernels whose threadgroup variables are larger than 32 KiB together.

    `sizes` has the line, the instantiation and the bytes of each variable.
    """
    kernels: dict[int, FunctionDefinition] = {}
    lines: defaultdict[tuple[int, str], defaultdict[int, int]]
    lines = defaultdict(lambda: defaultdict(int))
    for line, instantiation, size in sizes:
        owner = _find_owner(expanded.functions, _find_threadgroup(expanded.code, line))
        if owner is not None:
            kernels[owner.start] = owner
            lines[owner.start, instantiation][line] += -(-size // _ALIGNMENT) * _ALIGNMENT
    totals: defaultdict[int, int] = defaultdict(int)
    for (start, _), bytes_by_line in lines.items():
        # clang names a variable once if its size depends on no parameter of the template
        total = sum((lines.get((start, ""), {}) | bytes_by_line).values())
        totals[start] = max(totals[start], total)
    for start, total in totals.items():
        if total > threadgroups.MOST_BYTES:
            message = (
                f"the threadgroup variables of {kernels[start].name} take {total:,} bytes; "
                f"a threadgroup has {threadgroups.MOST_BYTES:,}"
            )
            yield expanded.complain(start, message)


def _find_threadgroup(code: str, line: int) -> int:
    """Return the offset of the word `threadgroup` in a line, or of the line's beginning."""
    start = 0
    for _ in range(line - 1):
        start = code.find("\n", start) + 1
    place = re.compile(r"\bthreadgroup\b").search(code, start)
    end = code.find("\n", start)
    if place is not None and place.start() < end:
        return place.start()
    return start
