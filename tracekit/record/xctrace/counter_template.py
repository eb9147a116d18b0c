"""A template with the counter profile that this chip takes, made for one recording.

The default profile of the instrument Metal GPU Counters is one that M3 and later reject, and asking
for it there may take away even what they count otherwise. Which profiles a chip takes is in its
family: up to M2 it is 3, from M3 on 13. Whether that is so is seen from the recording.
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
_LAST_OF_OLD = 2  # the last generation that takes the old profile
_OLD_PROFILE = 3
_NEW_PROFILE = 13


def counter_profile_of(chip: str) -> int | None:
    """Return the counter profile to ask of a chip first; None for one that is not known."""
    match = _CHIP.match(chip)
    if match is None or "Virtual" in chip:
        return None
    return _OLD_PROFILE if int(match[1]) <= _LAST_OF_OLD else _NEW_PROFILE


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
    Xcode's. If no such template can be made, the instrument stays, with a warning.
    """
    profile = counter_profile_of(chip)
    is_named = GPU_COUNTERS in request.instruments
    if request.counters != "on" or not selection.adds_counters or is_named or profile is None:
        return selection
    if not selection.template or "/" in selection.template:
        return selection
    try:
        source = template_file(selection.template, template_files(Path.home(), tool.path))
        _, content = draft(source, recording.template_file, profile, None)
        path = write(recording.template_file, content)
    except TracekitError as error:
        remark = (
            f"No template with counter profile {profile} was made, so the default counter set was "
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
        counter_profile=profile,
    )
