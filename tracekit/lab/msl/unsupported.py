"""The constructs of Metal that cannot run on a CPU, each refused with its place."""

import re

from tracekit.base import UsageError
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.signature import BUILTINS

# Patterns of constructs, each with the word for them in an error.
_UNSUPPORTED = {
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
# The attributes in [[ ]] that a kernel may have.
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
_SYSTEM_HEADER = re.compile(
    r"<(?:metal_\w+|simd/[\w.]+|metal\w*|MetalPerformancePrimitives/[\w.]+|TargetConditionals\.h)>"
)


def refuse_unsupported(code: str, original: str, kernel: KernelText) -> None:
    """Raise UsageError for the first construct that cannot run here.

    `code` is the text without strings, `original` has them.
    """
    if "/*" in code:
        refuse_place(kernel, code, code.index("/*"), "a comment begins that never ends")
    for pattern, feature in _UNSUPPORTED.items():
        feature_match = re.search(pattern, code)
        if feature_match:
            words = f"{feature} cannot be run on a CPU ({feature_match[0].strip()})"
            refuse_place(kernel, code, feature_match.start(), words)
    for match in re.finditer(r"\[\[([^\[\]]*)\]\]", code):
        for word in re.findall(r"(\w+)\s*(?:\([^()]*\))?", match[1]):
            if word not in _ATTRIBUTES:
                refuse_place(kernel, code, match.start(), f"the attribute {word!r} is not known")
    for match in _INCLUDE.finditer(original):
        header = match[1].strip()
        if not _SYSTEM_HEADER.match(header):
            message = f"{header} is included, and not found"
            hint = "Name its folder with --include, or give one text with all that is needed."
            refuse_place(kernel, code, match.start(), message, hint=hint)


def refuse_place(
    kernel: KernelText, code: str, offset: int, message: str, *, hint: str = ""
) -> None:
    """Raise UsageError for a place of a text, with its file, line and column."""
    line_in_text = code.count("\n", 0, offset) + 1
    file, line = kernel.locate_line(line_in_text)
    column = offset - code.rfind("\n", 0, offset)
    raise UsageError(f"{file}:{line}:{column}: {message}.", hint=hint)
