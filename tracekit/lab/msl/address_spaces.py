"""A Metal text as C++ for OpenCL: the same lines and columns, the same address spaces."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tracekit.lab.msl.edits import without_comments

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
    plain = _ATTRIBUTE.sub(_blank, _CONSTANT.sub(_initialised, _without_comments(text)))
    plain = _DIRECTIVE.sub(_blank, plain)
    plain = _DECLARED.sub(lambda found: _referred(plain, found, file), plain)
    return f'#line 1 "{file}"\n{plain}\n{_instance(plain, function, template)}'


def prelude(text: str, defines: Mapping[str, str]) -> str:
    """Return what must stand before the text: Metal's library and MLX's, without its own names."""
    plain = _without_comments(text)
    own = [name for name in _OWN_NAMES if _defines(plain, name)]
    parts = [
        *(f"#define TRACEKIT_OWN_{name}" for name in own),
        (_DECLARATIONS / "metal.hpp").read_text(),
        (_DECLARATIONS / "mlx.hpp").read_text(),
        *_constructors(),
        *(f"#define {name} {value}" for name, value in defines.items()),
    ]
    return "\n".join(parts)


def _defines(plain: str, name: str) -> bool:
    """Say whether the text has a type or a function of that name, with its body."""
    return bool(re.search(rf"\b(?:struct\s+{name}\b|{name}\s*\([^()]*\)\s*\{{)", plain))


def _constructors() -> Iterator[str]:
    """Return macros for `float4(a, b)`, which C++ for OpenCL lacks."""
    for scalar in _SCALARS.split():
        for lanes in (2, 3, 4):
            for name in (f"{scalar}{lanes}", f"packed_{scalar}{lanes}"):
                yield f"#define {name}(...) tracekit_vector<{name}>(__VA_ARGS__)"


def _without_comments(text: str) -> str:
    return without_comments(text, as_blanks=_blank_bytes)


def _blank(found: re.Match[str]) -> str:
    return _blank_bytes(found[0])


def _blank_bytes(piece: str) -> str:
    """Return as many blanks as `piece` has bytes, which clang counts; line ends stay."""
    return re.sub(r"(?:[^\n\\]|\\(?!\n))+", lambda line: " " * len(line[0].encode()), piece)


def _initialised(found: re.Match[str]) -> str:
    """Give a function constant a value: OpenCL wants one, and no matter which."""
    return "= {}" + _blank(found)[4:]


def _referred(text: str, found: re.Match[str], file: str) -> str:
    """Turn `threadgroup float a[4], b;` into references, and go on in the same column."""
    kind, names = found["type"], found["names"].replace("\n", " ")
    made = "".join(
        f"threadgroup {kind} TRACEKIT_NAMED (&{name}){sizes} = "
        f"tracekit_threadgroup<{kind}{sizes}>(); "
        for name, sizes in _DECLARATOR.findall(names)
    )
    begin, end = text.rfind("\n", 0, found.end()) + 1, text.find("\n", found.end())
    if text[begin:].lstrip().startswith("#") or text[begin:end].endswith("\\"):
        return made  # a macro must stay on its line
    line = text.count("\n", 0, found.end()) + 1
    column = len(text[begin : found.end()].encode())
    return f'{made}\n#line {line} "{file}"\n{" " * column}'


def _instance(text: str, function: str, template: str) -> str:
    there = re.search(rf"decltype\(\s*{re.escape(function)}\s*<", text)
    if not template or there:
        return ""
    return f"template decltype({function}<{template}>) {function}<{template}>;"
