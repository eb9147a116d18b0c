"""A template with a counter profile that M3 and later take, made for one recording.

The instrument Metal GPU Counters works on M1, and by its family on M2, and turns the shader
timeline on as well. M3 and later reject its default profile, and asking for it there may take away
even what they count otherwise. By their family, they take profile 13; the recording shows whether
they did.
"""

import re
from dataclasses import replace
from pathlib import Path

from tracekit.base import Recording, TracekitError
from tracekit.record.recorder import RecordingRequest
from tracekit.record.xctrace.command_line import TemplateSelection
from tracekit.record.xctrace.templates import (
    GPU_COUNTERS,
    draft,
    template_file,
    template_files,
    write,
)
from tracekit.record.xctrace.tool import Xctrace

_CHIP = re.compile(r"Apple M([0-9]+)")
_FIRST_GENERATION = 3  # that rejects the default profile
_PROFILE = 13


def _rejects_default_profile(chip: str) -> bool:
    """Return whether a chip is known to need another counter profile than the default one."""
    match = _CHIP.match(chip)
    return match is not None and int(match[1]) >= _FIRST_GENERATION and "Virtual" not in chip


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
    Xcode's, on a chip that rejects its default profile. If no such template can be made, the
    instrument stays, with a warning.
    """
    is_named = GPU_COUNTERS in request.choices.instruments
    if request.choices.counters != "on" or not selection.adds_counters or is_named:
        return selection
    if not _rejects_default_profile(chip):
        return selection
    if not selection.template or "/" in selection.template:
        return selection
    try:
        source = template_file(selection.template, template_files(Path.home(), tool.path))
        _, content = draft(source, recording.template_file, _PROFILE, None)
        path = write(recording.template_file, content)
    except TracekitError as error:
        remark = (
            f"No template with counter profile {_PROFILE} was made, so the default counter set was "
            f"asked for: {error.message}"
        )
        return replace(selection, warnings=(*selection.warnings, remark))
    instruments = tuple(name for name in selection.instruments if name != GPU_COUNTERS)
    return replace(
        selection,
        template=str(path.absolute()),
        instruments=instruments,
        adds_counters=False,
        own_counters=True,
        counter_profile=_PROFILE,
    )
