"""A Metal text as C++: the same lines, traceable columns, buffers that know their bounds.

Metal needs `void f(device T*)` beside `void f(threadgroup T*)`, and constructors for each address
space that an object may lie in. To C++ they are one function, written twice.

Most of what C++ does not know becomes blanks of the same length; what needs other words is an
edit. Everything else is left to the C++ compiler and the header files in `shim`.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from tracekit.base import UsageError
from tracekit.lab.msl.edits import (
    Edit,
    Edited,
    KernelText,
    blank,
    edited,
    without_comments,
    without_strings,
)
from tracekit.lab.msl.signature import BUILTINS, closing, with_constants

_UNKNOWN = {
    r"\btexture\w*\s*<|\bdepth\w*\s*<\s*(?:float|half)": "textures",
    r"\bsampler\b": "samplers",
    r"\bsimdgroup_async_copy|\bsimdgroup_event\b|\b__metal_simdgroup\w*": "asynchronous copies",
    r"\bimageblock\b": "imageblocks",
    r"\b(?:visible|intersection)_function_table\b": "function tables",
    r"\braytracing::": "ray tracing",
    r"\bmpp::|\btensor\s*<|\bcooperative_tensor\b": "tensors",
    r"\bcommand_buffer\b|\bcompute_command\b": "commands from the GPU",
    r"\bstage_in\b": "stage_in",
    r"\batomic_(?:flag|signal_fence)\b": "this atomic",
    r"\b(?:vertex|fragment)\s+\w+\s+\w+\s*\(": "functions of the graphics pipeline",
    r"\bgoto\b": "goto",
    r"\bmetal::os_log\b|(?<!::)\bos_log\s+\w+\s*\(": "logging",
}  # fmt: skip
_ATTRIBUTES = BUILTINS | {
    *("buffer", "threadgroup", "function_constant", "host_name", "kernel", "user", "id"),
    *("max_total_threads_per_threadgroup", "maybe_unused", "nodiscard", "fallthrough"),
    *("likely", "unlikely", "deprecated", "clang", "unroll"),
}
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import)[ \t]*([^\n]*)", re.MULTILINE)
_SYSTEM = re.compile(
    r"<(?:metal_\w+|simd/[\w.]+|metal\w*|MetalPerformancePrimitives/[\w.]+|TargetConditionals\.h)>"
)


def refuse_unknown(code: str, original: str, kernel: KernelText) -> None:
    """Raise UsageError for the first thing that cannot be run here; `original` has its strings."""
    if "/*" in code:
        _refuse(kernel, code, code.index("/*"), "a comment begins that never ends")
    for pattern, what in _UNKNOWN.items():
        if found := re.search(pattern, code):
            words = f"{what} cannot be run on a CPU ({found[0].strip()})"
            _refuse(kernel, code, found.start(), words)
    for found in re.finditer(r"\[\[([^\[\]]*)\]\]", code):
        for word in re.findall(r"(\w+)\s*(?:\([^()]*\))?", found[1]):
            if word not in _ATTRIBUTES:
                _refuse(kernel, code, found.start(), f"the attribute {word!r} is not known")
    for found in _INCLUDE.finditer(original):
        if not _SYSTEM.match(found[1].strip()):
            _refuse(
                kernel, code, found.start(), f"{found[1].strip()} is included, and not found",
                hint="Name its folder with --include, or give one text with all that is needed.",
            )  # fmt: skip


def _refuse(kernel: KernelText, code: str, offset: int, what: str, *, hint: str = "") -> None:
    file, line = kernel.where(code.count("\n", 0, offset) + 1)
    column = offset - code.rfind("\n", 0, offset)
    raise UsageError(f"{file}:{line}:{column}: {what}.", hint=hint)


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_SCOPE = re.compile(r"\b(?:namespace|struct|class|union|enum|extern)\b[^()=]*$")
_SPECIALIZED = re.compile(
    r"\b(?:struct|class)\s+\w+\s*<[^{};]*\b(?:device|threadgroup|thread|constant)\b[^{};]*$"
)
_FOR_ALL = re.compile(r"template\s*<\s*>(?!\s*(?:struct|class)\b)")
_IN_CLASS = re.compile(r"\b(?:struct|class)\b[^;{}()]*$")
_SPACES = re.compile(r"\b(?:device|threadgroup|thread|constant|const)\b(?!\s*\()")
_ENDS = re.compile(r"[{};]")

_AFTER_PARAMETERS = re.compile(r"\)\s*(?:const\s+)?$")


def says_where_this_lies(code: str, start: int) -> bool:
    """Say whether the address space that starts there belongs to a member function."""
    return _AFTER_PARAMETERS.search(code[max(0, start - 40) : start]) is not None


def repeated_overloads(code: str, *, checked: bool) -> Iterator[tuple[int, int]]:
    """Yield from where to where a function is the same as one before but for address spaces.

    Where two bodies differ both stay, and the compiler will refuse the second. `template <>` of a
    member is left out too: an overload does the same, and g++ before 14 knows no other way. In a
    `checked` text pointers to device memory are a type of their own.
    """
    seen: dict[tuple[int, str], str] = {}
    code = _DIRECTIVE.sub(lambda directive: blank(directive[0]), code)
    for scope, start, opening, end in _definitions(code):
        head = code[start:opening]
        member = _FOR_ALL.match(head)
        if member and _IN_CLASS.search(code[:scope]):
            yield start, start + member.end()
        types = ", ".join(_erased_type(part, checked) for part in re.split(r"[(),]", head))
        key, body = (scope, types), _erased(code[opening:end])
        if set("(<") & set(head) and seen.get(key) == body:
            yield start, end
        seen.setdefault(key, body)


def _definitions(code: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield scope, start, opening brace and end of what a namespace or a class defines.

    That is functions, and templates specialized for a type with an address space.
    """
    scopes, start, at = [0], 0, 0
    while found := _ENDS.search(code, at):
        at = found.end()
        head = code[start : found.start()]
        if found[0] == "{" and (not _SCOPE.search(head) or _SPECIALIZED.search(head)):
            end = closing(code, found.start())
            if end < 0:
                return
            if head.count("(") > head.count(")"):  # a default argument
                at = end + 1
                continue
            blanks = len(head) - len(head.lstrip())
            yield scopes[-1], start + blanks, found.start(), end + 1
            at = end + 1
        elif found[0] == "{":
            scopes.append(found.start())
        elif found[0] == "}" and len(scopes) > 1:
            scopes.pop()
        start = at


def _erased(code: str) -> str:
    return " ".join(_SPACES.sub(" ", code).split())


def _erased_type(words: str, checked: bool) -> str:
    """Return a parameter, or what stands before them, so that two of one type are equal."""
    if not set("*&") & set(words):
        return _erased(words)
    is_const = re.search(r"\b(?:const|constant)\b", words) is not None
    is_checked = "*" in words and re.search(r"\b(?:device|constant)\b", words) is not None
    return f"{is_const} {checked and is_checked} {_erased(words)}"


_TYPE = (
    r"(?:(?:unsigned|signed)\s+)?[\w:]+(?:\s*<(?:[^;<>()]|\([^()]*\)|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
)
_POINTER = re.compile(
    r"(?P<first>(?:\b(?:const|volatile|static)\s+)*)\b(?P<space>device|constant)\s+"
    rf"(?P<second>(?:(?:const|volatile)\s+)*)(?P<type>(?!const\b|constexpr\b){_TYPE})"
    r"(?P<third>(?:\s+const)?)\s*\*(?P<tail>(?:\s*\b(?:__restrict__|__restrict|restrict)\b)*)"
)
# `constant int sizes[3]` as a parameter is a pointer, too
_ARRAY = re.compile(
    r"(?<=[(,])(?P<lead>\s*)(?P<first>(?:\b(?:const|volatile|static)\s+)*)"
    r"\b(?P<space>device|constant)\s+(?P<second>(?:(?:const|volatile)\s+)*)"
    rf"(?P<type>(?!const\b|constexpr\b){_TYPE})(?P<third>(?:\s+const)?)"
    r"\s+(?P<name>\w+)\s*\[[^\[\]]*\](?=\s*(?:[,)]|\[\[))"
)
_REFERENCE = re.compile(rf"\s*(?:const\s+|constexpr\s+|volatile\s+)*{_TYPE}(?:\s+const)?\s*&")
_NAME = re.compile(r"\s*(?:const\s+)?(\w+)")


def checked_pointers(code: str, kernel: KernelText) -> Iterator[Edit]:
    """Yield the edits that make every pointer into a buffer a checked one.

    A use of `device` that is neither a pointer nor a reference is refused.
    """
    names: set[str] = set()
    covered: list[tuple[int, int]] = []
    for found in _POINTER.finditer(code):
        name = _NAME.match(code, found.end())
        if name:
            names.add(name[1])
        kind = "auto" if found["type"] == "auto" else _pointer(found)
        yield Edit(found.start(), found.end(), kind)
        yield from _cast(code, found)
        covered.append(found.span())
    for found in _ARRAY.finditer(code):
        names.add(found["name"])
        yield Edit(found.start(), found.end(), f"{_pointer(found)} {found['name']}")
        covered.append(found.span())
    for found in re.finditer(r"\bdevice\b(?!\s*\()", code):
        is_pointer = any(start <= found.start() < end for start, end in covered)
        is_qualifier = says_where_this_lies(code, found.start())
        if not (is_pointer or is_qualifier or _REFERENCE.match(code, found.end())):
            hint = "Run it unchecked, or write it as a pointer `device T*`."
            what = "this use of `device` cannot be checked"
            _refuse(kernel, code, found.start(), what, hint=hint)
    yield from _addresses(code, names)
    yield from _values(code)


def _pointer(found: re.Match[str]) -> str:
    qualifiers = found["first"] + found["second"] + found["third"]
    is_const = found["space"] == "constant" or "const" in qualifiers
    static = "static " if "static" in qualifiers else ""
    kind = " ".join(found["type"].split())
    return f"{static}tracekit::pointer<{'const ' if is_const else ''}{kind}>"


def _cast(code: str, found: re.Match[str]) -> Iterator[Edit]:
    """Turn `reinterpret_cast<device T*>(x)` into a cast that a class can have."""
    start = max(0, found.start() - 80)
    before = re.search(r"\breinterpret_cast\s*<\s*$", code[start : found.start()])
    after = re.match(r"\s*(?:const\s*)?>", code[found.end() :])
    if before and after:
        yield Edit(start + before.start(), found.start(), "(")
        yield Edit(found.end(), found.end() + after.end(), ")")


def _addresses(code: str, names: set[str]) -> Iterator[Edit]:
    """Turn `&p[i]` into `(p+(i))`: an element of a const buffer is a value without an address."""
    for found in re.finditer(r"(?<=[=(,{\[?:|!<>+*/;-])\s*&\s*(\w+)\s*(\[)", code):
        end = closing(code, found.start(2))
        if found[1] in names and end > 0 and not re.match(r"\s*(?:\[|\.|->)", code[end + 1 :]):
            sign = code.index("&", found.start())
            yield Edit(sign, sign + 1, "(")
            yield Edit(found.start(2), found.start(2) + 1, "+(")
            yield Edit(end, end + 1, "))")


def checked_indices(code: str, names: Iterable[str]) -> Iterator[Edit]:
    """Check every index into an array of these names: `a[i]` becomes `a[within(a, i)]`."""
    words = "|".join(sorted(set(names)))
    for found in re.finditer(rf"(?<![\w.>])(?:{words})\s*(?=\[(?!\[))", code) if words else ():
        array, opening = found[0].strip(), found.end()
        before = code[max(0, found.start() - 20) : found.start()]
        end_too = ", true" if re.search(r"(?:[=(,{\[?:;]|\breturn)\s*&\s*$", before) else ""
        while opening > 0:
            end = closing(code, opening)
            if end < 0:
                break
            yield Edit(opening + 1, opening + 1, f"tracekit::within({array}, ")
            yield Edit(end, end, f"{end_too})")
            array += "[0]"
            following = re.compile(r"\s*\[").match(code, end + 1)
            opening = following.end() - 1 if following else 0


def _values(code: str) -> Iterator[Edit]:
    """Turn `auto x = p[i];` into one that takes the value, not the way to it."""
    for found in re.finditer(r"(?<!constexpr )(?<!constexpr const )\bauto\s+\w+\s*=(?!=)", code):
        end = code.find(";", found.end())
        first = code[found.end() : end]
        is_plain = "{" not in first and "\n#" not in first
        if end > 0 and is_plain and first.count("(") == first.count(")"):
            yield Edit(found.end(), found.end(), "tracekit::value(")
            yield Edit(end, end, ")")


_SHARED = re.compile(
    r"\bthreadgroup\s+(?:alignas\s*\([^()]*\)\s*)?"
    r"(?P<type>(?:(?:volatile|unsigned|signed|typename)\s+)*[\w:]+"
    r"(?:\s*<(?:[^;<>]|<[^;<>]*>)*>(?:::\w+)*)?)"
    r"\s+(?P<names>\w+\s*(?:\[[^;]*?\]\s*)*(?:,\s*\w+\s*(?:\[[^;]*?\]\s*)*)*);"
)
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*)*)(?:,\s*)?")
_SWIZZLE = re.compile(r"(?<=[\w)\]])(\s*\.\s*)([xyzw]{2,4}|[rgba]{2,4})\b(?!\s*\()")
_FLOAT = re.compile(
    r"(?<![\w.])(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])"
)
_IGNORED = re.compile(r"\[\[[^\[\]]*\]\]|\bkernel\b(?=\s+void\b)")
_INSTANCE = re.compile(r"\btemplate\s*\[\[(?:[^;\"]|\"[^\"\n]*\")*;")
_BFLOAT = re.compile(r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:bf|BF)\b")
_FILLED = re.compile(
    r"\b(?P<name>\w+)\s*\[(?P<size>[^\[\];{}]+)\](?P<is>\s*=\s*\{\s*"
    r"\[\s*0\s*\.\.\.(?P<last>[^\[\];{}]+)\]\s*=\s*(?P<value>[^;{},]+)\}\s*;)"
)
_LEFT_OUT = re.compile(r"^[ \t]*#[ \t]*(?:include|import|pragma)\b[^\n]*", re.MULTILINE)
_POINTER_REWRITE = re.compile(
    r"\s*(?:const\s+|volatile\s+|unsigned\s+)*[\w:]+(?:\s*<(?:[^;<>]|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
    r"(?:\s+const|\s+volatile)*\s*(?:[*&]|\(\s*[*&])|\s*[*&]"
)
_LETTERS = {letter: str(i) for word in ("xyzw", "rgba") for i, letter in enumerate(word)}


def rewritten(kernel: KernelText, *, checked: bool) -> Edited:
    """Return the kernel's text as C++."""
    text = without_comments(kernel.text)
    refuse_unknown(without_strings(text), text, kernel)
    for left_out in (_INSTANCE, _LEFT_OUT):
        text = left_out.sub(lambda found: blank(found[0]), text)
    for start, end in repeated_overloads(without_strings(text), checked=checked):
        text = text[:start] + blank(text[start:end]) + text[end:]
    code = without_strings(text)
    edits = [
        *with_constants(code, kernel),
        *_shared(code),
        *_swizzles(code, checked=checked),
        *_filled_arrays(code),
        *_bfloats(code),
        *(Edit(found.end(), found.end(), "f") for found in _FLOAT.finditer(code)),
    ]
    if checked:
        edits += checked_pointers(code, kernel)
        edits += checked_indices(
            code,
            (
                name
                for found in _SHARED.finditer(code)
                for name, sizes in _DECLARATOR.findall(found["names"])
                if sizes
            ),
        )
    replaced = {at for edit in edits for at in range(edit.start, edit.end)}
    return edited(_blank_words(text, code, replaced, kernel), edits)


def _shared(code: str) -> Iterator[Edit]:
    number = 0
    for found in _SHARED.finditer(code):
        made = ""
        for name, sizes in _DECLARATOR.findall(found["names"]):
            kind = f"{found['type']}{sizes}".replace("\n", " ").strip()
            made += f"auto& {name} = tracekit::shared<{kind}>({number}); "
            number += 1
        yield Edit(found.start(), found.end(), made.rstrip())


def _swizzles(code: str, *, checked: bool) -> Iterator[Edit]:
    fields = _fields(code)
    patterns = [_SWIZZLE]
    if checked:
        patterns.append(re.compile(r"(?<=\])(\s*\.\s*)([xyzwrgba])\b(?!\s*\()"))
    for pattern in patterns:
        for found in pattern.finditer(code):
            if found[2] not in fields:
                tag = ", ".join(_LETTERS[letter] for letter in found[2])
                yield Edit(found.start(), found.end(), f"[metal::swizzle<{tag}>]")


def _bfloats(code: str) -> Iterator[Edit]:
    for found in _BFLOAT.finditer(code):
        number = found[1] if set(".eE") & set(found[1]) else f"{found[1]}.0"
        yield Edit(*found.span(), f"metal::bfloat({number}f)")


def _filled_arrays(code: str) -> Iterator[Edit]:
    """Fill `T a[N] = {[0 ... N - 1] = x};` element by element: clang knows this, g++ does not."""
    for found in _FILLED.finditer(code):
        size, last = ("".join(found[word].split()) for word in ("size", "last"))
        if last == f"{size}-1":
            loop = f"; for (auto& tracekit_one : {found['name']}) tracekit_one = {found['value']};"
            yield Edit(*found.span("is"), loop)


def _fields(code: str) -> set[str]:
    """Return every word in a struct of the text: its fields are no swizzles."""
    return {
        word
        for found in re.finditer(r"\b(?:struct|union|class)\s+\w*[^;{}()]*\{([^{}]*)\}", code)
        for word in re.findall(r"\w+", found[1])
    }


def _blank_words(text: str, code: str, replaced: Collection[int], kernel: KernelText) -> str:
    """Blank attributes and address spaces; `constant` becomes `const` where there is none."""
    made = list(text)
    for found in re.finditer(_IGNORED, code):
        made[found.start() : found.end()] = blank(found[0])
    for found in re.finditer(r"\b(?:device|threadgroup|thread|constant)\b(?!\s*\()", code):
        if found.start() in replaced:
            continue
        is_qualifier = says_where_this_lies(code, found.start())
        is_shared = found[0] == "threadgroup" and not is_qualifier
        if is_shared and not _POINTER_REWRITE.match(code, found.end()):
            # it would silently become private to each thread
            hint = (
                "Write `threadgroup T name[N];`, or a pointer or reference to threadgroup memory."
            )
            what = "this use of `threadgroup` is not understood"
            _refuse(kernel, code, found.start(), what, hint=hint)
        beside = f"{code[max(0, found.start() - 80) : found.start()]}|{code[found.end() :][:80]}"
        is_const = re.search(r"\bconst(?:expr)?\s+\||\|\s+const(?:expr)?\b", beside)
        is_constant = found[0] == "constant" and not is_qualifier
        new = "const" if is_constant and not is_const else ""
        made[found.start() : found.end()] = new.ljust(len(found[0]))
    return "".join(made)
