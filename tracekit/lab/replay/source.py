"""The source of a recorded kernel: out of its capture, or a file that the user names."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from tracekit import tables
from tracekit.base import InputError, UsageError
from tracekit.lab.msl.edits import (
    KernelText,
    Origin,
    with_includes,
    without_comments,
    without_strings,
)
from tracekit.lab.msl.signature import instances_of, kernels_of
from tracekit.lab.verification.metal_file import LaunchWords, read_constants, read_kernel

_HINT = (
    "Give it with --source FILE.metal. A capture has it for libraries compiled of source in the "
    "program, and for those compiled with `-frecord-sources`."
)


def find_kernel_text(
    capture: "tables.captures.FrameCapture", function: int, launch: LaunchWords
) -> KernelText:
    """Return the text of a function, by its handle, out of the capture.

    Raise UsageError if the capture has no source of it.
    """
    captured = capture.functions.get(function)
    name = launch.function
    place = ""
    sources: list[_CapturedSource] = []
    if captured is not None:
        name = name or captured.name
        place = PurePosixPath(captured.path).name
        for source in capture.list_sources(captured.library):
            sources.append(_CapturedSource(source.path, source.content.decode(errors="replace")))  # noqa: PERF401
    defining = [source for source in sources if source.defines(name)]
    # of two files with a kernel of this name, the one that the function was compiled of
    defining.sort(key=lambda source: source.path.name != place)
    if not defining:
        reason = "has no source of its library"
        if sources:
            reason = f"has no source that defines {name!r}"
        raise UsageError(f"{capture.name} {reason}.", hint=_HINT)
    text, origins = _join(defining[0], sources)
    _refuse_host_code(text, capture.name)
    return KernelText(
        text=text,
        function=name,
        template=launch.template,
        name=defining[0].path.name,
        constants=read_constants(launch),
        origins=origins,
    )


_HOST_CODE = re.compile(r"\b(?:asm|__asm|__asm__|extern)\b")
"""Words by which code that is compiled for this processor can call functions of the process."""


def _refuse_host_code(text: str, name: str) -> None:
    """Raise InputError for a text out of a capture that could call functions of this process."""
    match = _HOST_CODE.search(without_strings(without_comments(text)))
    if match is not None:
        raise InputError(
            f"The source in {name} uses {match[0]!r}, by which it could call functions of "
            "tracekit's process; it was not run.",
            hint="--source FILE.metal runs a file that you trust.",
        )


def read_kernel_text(file: Path, name: str, launch: LaunchWords) -> KernelText:
    """Return the text of a kernel from a file; `name` is that of the recorded function.

    The function is the one that the user names, else that of the capture if the file has it, else
    the only one. Raise UsageError if that is none, InputError if the file cannot be read.
    """
    if launch.function:
        return read_kernel(file, launch)
    kernel = read_kernel(file, replace(launch, function=name))
    if _CapturedSource(file.name, kernel.text).defines(name) or launch.template:
        return kernel
    return read_kernel(file, launch)


class _CapturedSource:
    """A file of source: its path in the capture, and its text."""

    def __init__(self, path: str, text: str) -> None:
        self.path = PurePosixPath(path)
        self.text = text

    def defines(self, function: str) -> bool:
        """Return whether it defines a kernel, or instantiates one, of this name."""
        code = without_comments(self.text)
        if function in kernels_of(code):
            return True
        return any(instance.host_name == function for instance in instances_of(code))


def _join(
    main: _CapturedSource, sources: Sequence[_CapturedSource]
) -> tuple[str, tuple[Origin, ...]]:
    """Return a text with the files of the capture that it includes, and where each line is from."""
    with tempfile.TemporaryDirectory(prefix="tracekit-source-") as name:
        folder = Path(name)
        folders: dict[Path, None] = {}
        for source in sources:
            path = folder / _keep_inside(source.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source.text)
            folders[path.parent] = None
        place = folder / _keep_inside(main.path)
        return with_includes(main.text, place, list(folders), root=folder)


def _keep_inside(path: PurePosixPath) -> Path:
    """Return a path of a capture as one that leads to no other folder."""
    parts = [part for part in path.parts if part not in {"/", "..", "."}]
    return Path(*parts)
