"""What Metal has and this engine has not: said at once, at its place, not by a compiler."""

import re

from tracekit.base.errors import UsageError
from tracekit.lab.msl.edits import placed
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.signature import BUILTINS

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


def refuse_unknown(code: str, original: str, kernel: Kernel) -> None:
    """Raise UsageError for the first thing in a text that cannot be run here.

    Args:
        code: The text with comments and strings made blank.
        original: The text with its strings.
        kernel: Whose text it is.
    """
    if "/*" in code:
        _refuse(kernel, code, code.index("/*"), "a comment begins that never ends")
    for pattern, what in _UNKNOWN.items():
        found = re.search(pattern, code)
        if found:
            _refuse(
                kernel,
                code,
                found.start(),
                f"{what} cannot be run on a CPU",
                words=found[0].strip(),
            )
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


def _refuse(
    kernel: Kernel, code: str, offset: int, what: str, *, words: str = "", hint: str = ""
) -> None:
    file, line, column = placed(kernel, code, offset)
    quoted = f" ({words})" if words else ""
    raise UsageError(f"{file}:{line}:{column}: {what}{quoted}.", hint=hint)
