"""`runs redact`: a copy of a GPU frame capture that can be attached to an issue."""

from pathlib import Path
from typing import Annotated

from tracekit import tables
from tracekit.base import RecordingError, UsageError, outputs
from tracekit.base import files as base_files
from tracekit.cli import console, options
from tracekit.cli.options import argument

_SHOWN = 8

Source = Annotated[Path, argument("X.gputrace", "GPU frame capture.")]
Output = Annotated[Path, argument("OUT.gputrace", "New folder for the copy.")]


def redact(
    source: Source,
    output: Output,
    *,
    include: options.Include = None,
    json: options.Json = False,
) -> None:
    """Copy a GPU frame capture without names, sources and contents.

    Each text is replaced by one of the same length: the name and the identifier of the machine,
    folders of people, the source of kernels. The contents of buffers become zeros, except a number
    that the table `bindings` shows. --include source,buffers leaves these two in. The data of a
    replay in Xcode are not copied.

    The copy is decoded again before it is kept: it has the same calls and the same facts about
    kernels, and none of the names. Names of files, labels, kernels and their arguments stay.
    """
    captures = tables.captures
    if not captures.is_capture(source):
        raise UsageError(
            f"{source} is not a GPU frame capture.",
            hint="A capture is a folder that ends with .gputrace. Results and pages of runs are "
            "redacted as they are made.",
        )
    if output.suffix.lower() != captures.SUFFIX:
        raise UsageError(
            f"{output} does not end in {captures.SUFFIX}.",
            hint="Xcode and tracekit recognize a capture by its name.",
        )
    if output.exists() or output.is_symlink():
        raise UsageError(f"{output} exists.", hint="Name a new folder.")
    outputs.require_apart([output], [source])
    capture = captures.open_capture(source)
    try:
        with console.progress("redact"), base_files.making(output) as folder:
            redacted = captures.redact_capture(capture, folder, options.parts_of(include))
    except OSError as error:
        raise RecordingError(
            f"{output} cannot be made: {error.strerror}.", hint=base_files.remedy(error)
        ) from error
    console.show_files([output], json=json)
    if json:
        return
    zeroed = ", ".join(redacted.zeroed[:_SHOWN])
    more = len(redacted.zeroed) - _SHOWN
    if more > 0:
        zeroed += f" and {more:,} more"
    console.show_hint(f"Replaced {redacted.replaced:,} texts. Zeroed: {zeroed or 'nothing'}.")
