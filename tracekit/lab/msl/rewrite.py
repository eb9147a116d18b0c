"""Rewrite a Metal text as C++: the same lines, traceable columns, buffers that know their bounds.

Metal needs both `void f(device T*)` and `void f(threadgroup T*)`, and constructors for each address
space that an object may lie in. To C++ they are one function, written twice.

Most of the words unknown to C++ become blanks of the same length; an edit replaces those that need
other words. Everything else is left to the C++ compiler and the header files in `shim`.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from tracekit.base import UsageError
from tracekit.lab.msl.edits import (
    Edit,
    Edited,
    KernelText,
    apply_edits,
    blank,
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
    "buffer",
    "threadgroup",
    "function_constant",
    "host_name",
    "kernel",
    "user",
    "id",
    "max_total_threads_per_threadgroup",
    "maybe_unused",
    "nodiscard",
    "fallthrough",
    "likely",
    "unlikely",
    "deprecated",
    "clang",
    "unroll",
}
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import)[ \t]*([^\n]*)", re.MULTILINE)
_SYSTEM = re.compile(
    r"<(?:metal_\w+|simd/[\w.]+|metal\w*|MetalPerformancePrimitives/[\w.]+|TargetConditionals\.h)>"
)


def refuse_unknown(code: str, original: str, kernel: KernelText) -> None:
    """Raise UsageError for the first construct that cannot run here.

    `code` is the text without strings, `original` has them.
    """
    if "/*" in code:
        _refuse(kernel, code, code.index("/*"), "a comment begins that never ends")
    for pattern, feature in _UNKNOWN.items():
        feature_match = re.search(pattern, code)
        if feature_match:
            words = f"{feature} cannot be run on a CPU ({feature_match[0].strip()})"
            _refuse(kernel, code, feature_match.start(), words)
    for match in re.finditer(r"\[\[([^\[\]]*)\]\]", code):
        for word in re.findall(r"(\w+)\s*(?:\([^()]*\))?", match[1]):
            if word not in _ATTRIBUTES:
                _refuse(kernel, code, match.start(), f"the attribute {word!r} is not known")
    for match in _INCLUDE.finditer(original):
        header = match[1].strip()
        if not _SYSTEM.match(header):
            message = f"{header} is included, and not found"
            hint = "Name its folder with --include, or give one text with all that is needed."
            _refuse(kernel, code, match.start(), message, hint=hint)


def _refuse(kernel: KernelText, code: str, offset: int, message: str, *, hint: str = "") -> None:
    line_in_text = code.count("\n", 0, offset) + 1
    file, line = kernel.locate_line(line_in_text)
    column = offset - code.rfind("\n", 0, offset)
    raise UsageError(f"{file}:{line}:{column}: {message}.", hint=hint)


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
    """Return whether the address space that starts there belongs to a member function."""
    text_before = code[max(0, start - 40) : start]
    return _AFTER_PARAMETERS.search(text_before) is not None


def repeated_overloads(code: str, *, checked: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of each function that equals an earlier one but for address spaces.

    If two bodies differ, both stay, and the compiler will refuse the second. `template <>` of a
    member is left out too: an overload does the same, and g++ before 14 knows no other way. In a
    `checked` text, pointers to device memory have a type of their own.
    """
    known_bodies: dict[tuple[int, str], str] = {}
    code = _DIRECTIVE.sub(lambda directive: blank(directive[0]), code)
    for scope, start, opening, end in _definitions(code):
        head = code[start:opening]
        member = _FOR_ALL.match(head)
        if member and _IN_CLASS.search(code[:scope]):
            yield start, start + member.end()
        parts = re.split(r"[(),]", head)
        types = ", ".join(_erased_type(part, checked) for part in parts)
        key = (scope, types)
        body = _erase_spaces(code[opening:end])
        has_parameters = "(" in head or "<" in head
        if has_parameters and known_bodies.get(key) == body:
            yield start, end
        known_bodies.setdefault(key, body)


def _definitions(code: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield scope, start, opening brace and end of each definition in a namespace or a class.

    Definitions are functions, and templates specialized for a type with an address space.
    """
    scopes = [0]
    start = 0
    position = 0
    while match := _ENDS.search(code, position):
        position = match.end()
        head = code[start : match.start()]
        if match[0] == "{" and (not _SCOPE.search(head) or _SPECIALIZED.search(head)):
            end = closing(code, match.start())
            if end < 0:
                return
            if head.count("(") > head.count(")"):  # a default argument
                position = end + 1
                continue
            blanks = len(head) - len(head.lstrip())
            yield scopes[-1], start + blanks, match.start(), end + 1
            position = end + 1
        elif match[0] == "{":
            scopes.append(match.start())
        elif match[0] == "}" and len(scopes) > 1:
            scopes.pop()
        start = position


def _erase_spaces(code: str) -> str:
    return " ".join(_SPACES.sub(" ", code).split())


def _erased_type(words: str, checked: bool) -> str:
    """Return a parameter, or the words before all parameters, with equal types made equal."""
    erased = _erase_spaces(words)
    if "*" not in words and "&" not in words:
        return erased
    is_const = re.search(r"\b(?:const|constant)\b", words) is not None
    is_checked = checked and "*" in words and re.search(r"\b(?:device|constant)\b", words)
    return f"{is_const} {bool(is_checked)} {erased}"


_TYPE = (
    r"(?:(?:unsigned|signed)\s+)?[\w:]+(?:\s*<(?:[^;<>()]|\([^()]*\)|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
)
_POINTER = re.compile(
    r"(?P<first>(?:\b(?:const|volatile|static)\s+)*)\b(?P<space>device|constant)\s+"
    rf"(?P<second>(?:(?:const|volatile)\s+)*)(?P<type>(?!const\b|constexpr\b){_TYPE})"
    r"(?P<third>(?:\s+const)?)\s*\*(?P<tail>(?:\s*\b(?:__restrict__|__restrict|restrict)\b)*)"
)
# `constant int sizes[3]` as a parameter is a pointer as well
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

    Raises UsageError for a use of `device` that is neither a pointer nor a reference.
    """
    names: set[str] = set()
    covered: list[tuple[int, int]] = []
    for match in _POINTER.finditer(code):
        name = _NAME.match(code, match.end())
        if name:
            names.add(name[1])
        kind = "auto" if match["type"] == "auto" else _pointer(match)
        yield Edit(match.start(), match.end(), kind)
        yield from _cast(code, match)
        covered.append(match.span())
    for match in _ARRAY.finditer(code):
        names.add(match["name"])
        pointer = f"{_pointer(match)} {match['name']}"
        yield Edit(match.start(), match.end(), pointer)
        covered.append(match.span())
    for match in re.finditer(r"\bdevice\b(?!\s*\()", code):
        are_covering = [start <= match.start() < end for start, end in covered]
        is_pointer = any(are_covering)
        is_qualifier = says_where_this_lies(code, match.start())
        if not (is_pointer or is_qualifier or _REFERENCE.match(code, match.end())):
            hint = "Run it unchecked, or write it as a pointer `device T*`."
            message = "this use of `device` cannot be checked"
            _refuse(kernel, code, match.start(), message, hint=hint)
    yield from _addresses(code, names)
    yield from _values(code)


def _pointer(match: re.Match[str]) -> str:
    qualifiers = match["first"] + match["second"] + match["third"]
    kind = " ".join(match["type"].split())
    if match["space"] == "constant" or "const" in qualifiers:
        kind = f"const {kind}"
    pointer = f"tracekit::pointer<{kind}>"
    if "static" in qualifiers:
        return f"static {pointer}"
    return pointer


def _cast(code: str, match: re.Match[str]) -> Iterator[Edit]:
    """Turn `reinterpret_cast<device T*>(x)` into a cast that a class can have."""
    start = max(0, match.start() - 80)
    text_before = code[start : match.start()]
    cast_head = re.search(r"\breinterpret_cast\s*<\s*$", text_before)
    cast_tail = re.match(r"\s*(?:const\s*)?>", code[match.end() :])
    if cast_head and cast_tail:
        cast_start = start + cast_head.start()
        yield Edit(cast_start, match.start(), "(")
        cast_end = match.end() + cast_tail.end()
        yield Edit(match.end(), cast_end, ")")


_ADDRESS = re.compile(r"(?<=[=(,{\[?:|!<>+*/;-])\s*&\s*(\w+)\s*(\[)")


def _addresses(code: str, names: set[str]) -> Iterator[Edit]:
    """Turn `&p[i]` into `(p+(i))`: an element of a const buffer is a value without an address."""
    for match in _ADDRESS.finditer(code):
        opening = match.start(2)
        end = closing(code, opening)
        if match[1] not in names or end <= 0:
            continue
        if re.match(r"\s*(?:\[|\.|->)", code[end + 1 :]):
            continue
        sign = code.index("&", match.start())
        yield Edit(sign, sign + 1, "(")
        yield Edit(opening, opening + 1, "+(")
        yield Edit(end, end + 1, "))")


def checked_indices(code: str, names: Iterable[str]) -> Iterator[Edit]:
    """Check every index into an array of these names: `a[i]` becomes `a[within(a, i)]`."""
    words = "|".join(sorted(set(names)))
    if not words:
        return
    for match in re.finditer(rf"(?<![\w.>])(?:{words})\s*(?=\[(?!\[))", code):
        preceding = code[max(0, match.start() - 20) : match.start()]
        takes_address = re.search(r"(?:[=(,{\[?:;]|\breturn)\s*&\s*$", preceding) is not None
        yield from _checked_dimensions(code, match, takes_address=takes_address)


def _checked_dimensions(code: str, match: re.Match[str], *, takes_address: bool) -> Iterator[Edit]:
    """Check each index after the name of an array; an address may be that of its end."""
    array = match[0].strip()
    tail = ", true)" if takes_address else ")"
    opening = match.end()
    while True:
        end = closing(code, opening)
        if end < 0:
            return
        yield Edit(opening + 1, opening + 1, f"tracekit::within({array}, ")
        yield Edit(end, end, tail)
        array += "[0]"
        following = re.compile(r"\s*\[").match(code, end + 1)
        if following is None:
            return
        opening = following.end() - 1


def _values(code: str) -> Iterator[Edit]:
    """Let `auto x = p[i];` take the value, not a reference to the element."""
    for match in re.finditer(r"(?<!constexpr )(?<!constexpr const )\bauto\s+\w+\s*=(?!=)", code):
        end = code.find(";", match.end())
        initializer = code[match.end() : end]
        is_plain = "{" not in initializer and "\n#" not in initializer
        if end > 0 and is_plain and initializer.count("(") == initializer.count(")"):
            yield Edit(match.end(), match.end(), "tracekit::value(")
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
    for pattern in (_INSTANCE, _LEFT_OUT):
        text = pattern.sub(lambda match: blank(match[0]), text)
    for start, end in repeated_overloads(without_strings(text), checked=checked):
        removed = blank(text[start:end])
        text = text[:start] + removed + text[end:]
    code = without_strings(text)
    edits = [
        *with_constants(code, kernel),
        *_rewrite_shared(code),
        *_swizzles(code, checked=checked),
        *_filled_arrays(code),
        *_bfloats(code),
        *_floats(code),
    ]
    if checked:
        edits += checked_pointers(code, kernel)
        edits += checked_indices(code, _shared_arrays(code))
    replaced: set[int] = set()
    for edit in edits:
        replaced.update(range(edit.start, edit.end))
    return apply_edits(_blank_words(text, code, replaced, kernel), edits)


def _shared_arrays(code: str) -> Iterator[str]:
    """Yield the names of the arrays in threadgroup memory."""
    for match in _SHARED.finditer(code):
        for name, sizes in _DECLARATOR.findall(match["names"]):
            if sizes:
                yield name


def _rewrite_shared(code: str) -> Iterator[Edit]:
    number = 0
    for match in _SHARED.finditer(code):
        references = ""
        for name, sizes in _DECLARATOR.findall(match["names"]):
            declaration = f"{match['type']}{sizes}"
            kind = declaration.replace("\n", " ").strip()
            references += f"auto& {name} = tracekit::shared<{kind}>({number}); "
            number += 1
        yield Edit(match.start(), match.end(), references.rstrip())


def _swizzles(code: str, *, checked: bool) -> Iterator[Edit]:
    fields = _fields(code)
    patterns = [_SWIZZLE]
    if checked:
        patterns.append(re.compile(r"(?<=\])(\s*\.\s*)([xyzwrgba])\b(?!\s*\()"))
    for pattern in patterns:
        for match in pattern.finditer(code):
            if match[2] not in fields:
                tag = ", ".join(_LETTERS[letter] for letter in match[2])
                yield Edit(match.start(), match.end(), f"[metal::swizzle<{tag}>]")


def _bfloats(code: str) -> Iterator[Edit]:
    for match in _BFLOAT.finditer(code):
        number = match[1]
        if number.isdecimal():
            number += ".0"
        yield Edit(*match.span(), f"metal::bfloat({number}f)")


def _floats(code: str) -> Iterator[Edit]:
    """Yield the edits that make a literal without suffix a float: Metal has no double."""
    for match in _FLOAT.finditer(code):
        yield Edit(match.end(), match.end(), "f")


def _filled_arrays(code: str) -> Iterator[Edit]:
    """Fill `T a[N] = {[0 ... N - 1] = x};` element by element: clang knows this, g++ does not."""
    for match in _FILLED.finditer(code):
        size = "".join(match["size"].split())
        last_index = "".join(match["last"].split())
        if last_index == f"{size}-1":
            loop = f"; for (auto& tracekit_one : {match['name']}) tracekit_one = {match['value']};"
            yield Edit(*match.span("is"), loop)


def _fields(code: str) -> set[str]:
    """Return every word in a struct of the text: its fields are not swizzles."""
    words: set[str] = set()
    for match in re.finditer(r"\b(?:struct|union|class)\s+\w*[^;{}()]*\{([^{}]*)\}", code):
        words.update(re.findall(r"\w+", match[1]))
    return words


def _blank_words(text: str, code: str, replaced: Collection[int], kernel: KernelText) -> str:
    """Blank attributes and address spaces; `constant` becomes `const` if there is none."""
    characters = list(text)
    for match in re.finditer(_IGNORED, code):
        characters[match.start() : match.end()] = blank(match[0])
    for match in re.finditer(r"\b(?:device|threadgroup|thread|constant)\b(?!\s*\()", code):
        if match.start() in replaced:
            continue
        is_qualifier = says_where_this_lies(code, match.start())
        is_shared = match[0] == "threadgroup" and not is_qualifier
        if is_shared and not _POINTER_REWRITE.match(code, match.end()):
            # it would silently become private to each thread
            hint = (
                "Write `threadgroup T name[N];`, or a pointer or reference to threadgroup memory."
            )
            message = "this use of `threadgroup` is not understood"
            _refuse(kernel, code, match.start(), message, hint=hint)
        is_constant = match[0] == "constant" and not is_qualifier
        new = "const" if is_constant and not _is_const(code, match) else ""
        padded = new.ljust(len(match[0]))
        characters[match.start() : match.end()] = padded
    return "".join(characters)


def _is_const(code: str, match: re.Match[str]) -> bool:
    """Return whether `const` or `constexpr` precedes or follows a word."""
    preceding = code[max(0, match.start() - 80) : match.start()]
    following = code[match.end() :][:80]
    surroundings = f"{preceding}|{following}"
    return re.search(r"\bconst(?:expr)?\s+\||\|\s+const(?:expr)?\b", surroundings) is not None
