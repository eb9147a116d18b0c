"""A template with the counter profile of M3 and later, made for one recording.

The instrument Metal GPU Counters works on M1, and by its family on M2, and turns the shader
timeline on as well. M3 and later reject its default profile, and asking for it there may take away
even what they count otherwise. By their family, they take profile 13; the recording shows whether
they did.
"""

import re
from dataclasses import replace
from pathlib import Path

from tracekit.base import Recording, TracekitError
from tracekit.machine import chips
from tracekit.record.beliefs import choose_code, choose_truth, find_belief
from tracekit.record.recorder import RecordingRequest
from tracekit.record.xctrace.command_line import TemplateSelection
from tracekit.record.xctrace.templates import (
    GPU_COUNTERS,
    amend,
    template_file,
    template_files,
    write,
)
from tracekit.record.xctrace.tool import Xctrace

_CHIP = re.compile(r"Apple M([0-9]+)")
_BLANK = "Blank"  # the template of a recording for which only instruments are given


def find_generation(chip: str) -> int | None:
    """Return the number of an M chip; None for other chips and virtual ones."""
    match = _CHIP.match(chip)
    if match is None or chips.is_virtual_device(chip):
        return None
    return int(match[1])


def choose_profile(chip: str, xcode: str) -> int | None:
    """Return the counter profile that a chip needs with an Xcode; None if the default one is due.

    It follows the beliefs: machines with this chip and Xcode may have answered that the default
    profile gives samples.
    """
    generation = find_generation(chip)
    if generation is None or generation <= choose_code("default-profile-last-chip"):
        return None
    answers = find_belief("counters-come").answers
    has_answer = any((answer.xcode, answer.chip) == (xcode, chip) for answer in answers)
    if has_answer and choose_truth("counters-come", xcode, chip):
        return None
    return choose_code("late-chip-profile", xcode, chip)


def put_profile(
    selection: TemplateSelection,
    request: RecordingRequest,
    tool: Xctrace,
    *,
    recording: Recording,
    chip: str,
) -> TemplateSelection:
    """Return the selection with a template of the chip's profile, made in the run's folder.

    It stays as it is unless `--counters on` added the instrument of counters to a template of
    Xcode's, or to instruments alone, on a chip that rejects its default profile. If no such
    template can be made, the instrument stays, with a warning.

    Instruments that are recorded without a template keep the instrument of counters: it takes its
    profile from the new template, which is a copy of Blank.
    """
    is_named = GPU_COUNTERS in request.choices.instruments
    if request.choices.counters != "on" or not selection.adds_counters or is_named:
        return selection
    profile = choose_profile(chip, tool.version.build)
    if profile is None:
        return selection
    if "/" in selection.template:
        return selection
    try:
        name = selection.template or _BLANK
        source = template_file(name, template_files(Path.home(), tool.path))
        _, content = amend(source, profile, None)
        path = write(recording.template_file, content)
    except TracekitError as error:
        remark = (
            f"No template with counter profile {profile} was made, so the default counter set was "
            f"asked for: {error.message}"
        )
        return replace(selection, warnings=(*selection.warnings, remark))
    instruments = selection.instruments
    if selection.template:
        instruments = tuple(name for name in instruments if name != GPU_COUNTERS)
    return replace(
        selection,
        template=str(path.absolute()),
        instruments=instruments,
        adds_counters=False,
        own_counters=True,
        counter_profile=profile,
    )
