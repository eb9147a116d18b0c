"""A template with settings switched on, made as a copy; a dry run first."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import InputError, RecordingError, UsageError
from tracekit.base.outputs import require_apart
from tracekit.record.xctrace.templates.archive import LARGEST, Archive, archive_bytes, read_archive
from tracekit.record.xctrace.templates.library import SUFFIX
from tracekit.record.xctrace.templates.settings import Changes, Wish, changed, changes


@dataclass(frozen=True)
class Draft:
    """A template that can be written: from where, to where, and what is different."""

    source: Path
    output: Path
    changes: Changes
    content: bytes


def draft(source: Path, output: Path, wish: Wish) -> Draft:
    """Make the copy in memory, read it back, and return it; nothing is written.

    Raises:
        UsageError: Nothing is wished for, or the output exists or has another suffix.
        InputError: The source is no template, or not built in the way that is known.
    """
    _check(output, wish)
    require_apart([output], [source])
    archive = read_template(source)
    wanted = changes(archive, wish)
    content = archive_bytes(changed(archive, wanted))
    _verify(archive, read_archive(archive.name, content), wish)
    return Draft(source, output, wanted, content)


def write(one: Draft) -> Path:
    """Write a draft into a file that does not exist yet.

    Raises:
        UsageError: The file exists by now.
        RecordingError: It cannot be written; no part of it is left.
    """
    made = False
    try:
        if not one.output.parent.is_dir():
            one.output.parent.mkdir(parents=True)
        with one.output.open("xb") as file:
            made = True
            file.write(one.content)
    except OSError as error:
        if one.output.exists() and not made:
            raise _exists(one.output) from None
        if made:
            with suppress(OSError):
                one.output.unlink()
        raise RecordingError(
            f"{one.output} cannot be written: {error.strerror}.",
            hint="Make room, or name another place that you may write to.",
        ) from error
    return one.output


def read_template(path: Path) -> Archive:
    """Read a template file; raise InputError where it cannot be understood."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than any template; it was not read.")
        return read_archive(str(path), path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _check(output: Path, wish: Wish) -> None:
    if not wish.values:
        raise UsageError(
            "Nothing is to be changed.", hint="Give --counter-profile N or --shader-timeline on."
        )
    if output.suffix != SUFFIX:
        raise UsageError(f"{output} must end in {SUFFIX}, or xctrace takes it for a name.")
    if output.exists() or output.is_symlink():
        raise _exists(output)


def _exists(output: Path) -> UsageError:
    return UsageError(
        f"{output} exists; a template is never written over.", hint="Name a new file."
    )


def _verify(before: Archive, after: Archive, wish: Wish) -> None:
    """Check what the written file says: the wish, and otherwise what its source says."""
    added = len(after.objects) - len(before.objects)
    there = changes(after, wish).changes
    if added != len(there) or any(one.before != one.after for one in there):
        raise InputError(f"The copy of {before.name} does not read back as it was meant.")
    kept = after.objects[: len(before.objects)]
    touched = {one.holder for one in there}
    for number, (old, new) in enumerate(zip(before.objects, kept, strict=True)):
        if number not in touched and repr(old) != repr(new):
            raise InputError(f"The copy of {before.name} changed object {number} unasked.")
