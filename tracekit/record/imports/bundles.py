"""A run out of a bundle: read where it is, or unpacked first; exported only as the last way."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from tracekit.base.errors import InputError
from tracekit.base.recording import Provenance, Recording, now, stage
from tracekit.base.unpacking import unpack_bundle
from tracekit.record.choice import choose, judged
from tracekit.record.imports.described import described, with_target
from tracekit.record.imports.sources import name_of
from tracekit.record.recorder import Progress
from tracekit.record.xctrace.exporting import Choose
from tracekit.record.xctrace.tool import find_xctrace
from tracekit.tables.in_place import leave_in_place
from tracekit.workload.plan import claimed, discard, kept_unless_misused


def bring_bundle(
    bundle: Path,
    output: Path | None,
    target: str | None,
    progress: Progress,
    run: int | None = None,
    *,
    wanted: Choose = judged,
) -> Recording:
    """Make a run of a bundle, or of a zip file that holds one.

    Args:
        bundle: The bundle; the run's folder gets a link to it. A zip file is unpacked into it.
        output: The run's folder; None for a new one.
        target: Whose rows count; None for the target of the recording.
        progress: Told what is being done.
        run: Which run of the bundle, where it has several; None for the last one.
        wanted: Which schemas are exported, where the bundle cannot be read.

    Raises:
        UsageError: The target is none of the processes, there is no such run, or the output is
            taken.
        InputError: The bundle is damaged, or of a layout that is not known, and there is no
            xctrace to export it. Of a run nothing is left then.
        RecordingError: The run's folder cannot be written.
    """
    begun = Provenance(tracekit=version("tracekit"), created=now(), counters="", run=run)
    recording = claimed(output, name_of(bundle), begun, [bundle])
    with (
        kept_unless_misused(recording),
        _kept_unless_refused(recording),
        stage(recording, "import"),
    ):
        if bundle.is_dir():
            recording.bundle.symlink_to(bundle.resolve())
        else:
            progress("unpacking the bundle")
            unpack_bundle(bundle, recording.bundle)
        progress("opening the bundle")
        warnings = _opened(recording, progress, wanted)
        provenance = described(recording.provenance(), recording, name_of(bundle), run)
        provenance = replace(provenance, warnings=(*provenance.warnings, *warnings))
        recording.save_provenance(with_target(provenance, recording, target))
    return recording


def _opened(recording: Recording, progress: Progress, wanted: Choose) -> tuple[str, ...]:
    """Let the tables be read directly; where they cannot be, let xctrace export them."""
    try:
        leave_in_place(recording.bundle, recording.exports)
    except InputError as error:
        if find_xctrace() is None:
            raise
        exported = choose("xctrace", wanted).export(recording, progress)
        return (f"{error.message} Its tables were exported by xctrace.", *exported)
    return ()


@contextmanager
def _kept_unless_refused(recording: Recording) -> Generator[None]:
    """Remove a new folder again if what was to be imported was refused."""
    try:
        yield
    except InputError:
        discard(recording)
        raise
