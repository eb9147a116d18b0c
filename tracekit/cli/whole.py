"""`runs verify`: examine whether a run, a bundle or a history is whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from tracekit import nightly
from tracekit import tables as traces
from tracekit.base import (
    InconclusiveError,
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
    Wholeness,
    checksums,
    units,
    unpacking,
)
from tracekit.cli import answers, console, options
from tracekit.cli.options import argument

_DONE = "done"
_SERVER = "://"
_SHOWN = 20  # sentences for each person to read; --json has all
_CACHE = "tables/"  # which any reader may add to


Place = Annotated[str, argument("RUN|X.trace|HISTORY", "Run, bundle, or file or URL.")]


def verify(
    place: Place,
    *,
    json: options.Json = False,
) -> None:
    """Check whether a run, a bundle or a history is whole.

    Of a run, this compares each file with the checksum noted by the stage that wrote it, and checks
    that each stage came to its end, and the bundle that the run is read from. Of a bundle, it reads
    each table to the last row and counts the rows. Of a history, it checks the database, each night
    against its document, and each document against the history.

    Exit code 3: it is not whole. Exit code 4: this cannot be determined, for example for a run made
    by an older tracekit, which kept no checksums.
    """
    with console.progress("verify") as progress:
        outcome = _examine_place(place, progress)
    if json:
        document = answers.VerifiedPlace(
            kind=outcome.kind,
            place=outcome.place,
            state=outcome.state,
            checked=outcome.checked,
            faults=outcome.faults,
            unknown=outcome.unknown,
        )
        console.show_json(document)
    else:
        _show(outcome)
    if outcome.faults:
        first_fault = outcome.faults[0]
        raise RecordingError(f"{place} is not whole: {first_fault}")
    if outcome.unknown:
        first_unknown = outcome.unknown[0]
        raise InconclusiveError(f"Whether {place} is whole cannot be said: {first_unknown}")


def _examine_place(place: str, progress: Callable[[str], None]) -> Wholeness:
    path = Path(place)
    traces.require_unpacked(path)
    if _SERVER in place or path.is_file():
        return nightly.examine_history(place, progress)
    if not path.exists():
        raise UsageError(
            f"{place} does not exist.", hint="Name a run, a .trace bundle or a history."
        )
    if traces.is_bundle(path):
        return traces.examine_bundle(path, progress)
    return _examine_run(Recording(path), progress)


def _examine_run(recording: Recording, progress: Callable[[str], None]) -> Wholeness:
    """Compare a run's files with their checksums, and examine the bundle that it is read from."""
    provenance = recording.provenance()
    progress("comparing checksums")
    faults: list[str] = []
    for name, stage in provenance.stages.items():
        if stage.state != _DONE:
            fault = f"The stage {name} is {stage.state}: it did not come to its end."
            faults.append(fault)
    unknown: list[str] = []
    checked: dict[str, int] = {}
    try:
        is_pruned = bool(provenance.pruning_note)
        compared = checksums.compare_checksums(recording.folder, pruned=is_pruned)
    except TracekitError as error:
        faults.append(error.message)
    else:
        if compared is None:
            unknown.append("No checksums were kept when it was made.")
        else:
            checked["files"] = compared.intact_count + len(compared.faults)
            checked["bytes"] = compared.size
            faults += compared.faults
            unnoted_files = _select_own(compared.unnoted)
            if unnoted_files:
                names = unpacking.some_of(unnoted_files)
                unknown.append(f"{len(unnoted_files):,} files have no checksum: {names}.")
    bundle = _bundle_of(recording)
    if bundle is not None:
        examined = traces.examine_bundle(bundle, progress)
        checked |= examined.checked
        faults += examined.faults
        unknown += examined.unknown
    return Wholeness("run", str(recording.folder), checked, tuple(faults), tuple(unknown))


def _select_own(names: tuple[str, ...]) -> list[str]:
    """Return the files that are tracekit's own, except its cache: a user may add others."""
    places = Recording.places()
    own_names = [name for name in names if name.partition("/")[0] in places]
    return [name for name in own_names if not name.startswith(_CACHE)]


def _bundle_of(recording: Recording) -> Path | None:
    """Return the bundle whose tables are read; None if they are read from exports alone."""
    note = traces.DirectNote.read(recording.exports)
    if note is None:
        return None
    return note.path(recording.exports)


def _show(outcome: Wholeness) -> None:
    checked_rows: list[tuple[str, str]] = []
    for name, number in outcome.checked.items():
        words = f"{number:,}"
        if name == "bytes":
            words = units.size(number)
        checked_rows.append((name, words))
    console.table(("checked", "number"), checked_rows)
    all_texts = (*outcome.faults, *outcome.unknown)
    for text in all_texts[:_SHOWN]:
        console.show_line(text)
    text_count = len(outcome.faults) + len(outcome.unknown)
    more = text_count - _SHOWN
    if more > 0:
        console.show_line(f"… and {more:,} more")
    if outcome.state == "whole":
        console.show_line(f"{outcome.place} is whole.")
