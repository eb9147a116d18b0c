"""What is to be said of a bundle besides its tables: what it lacks, and what is not verified."""

import re
from collections.abc import Iterator

from tracekit.tables.bundle.about.names import names_of
from tracekit.tables.bundle.about.run_info import run_info
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.called import called
from tracekit.tables.bundle.cells.encodings import odd_tags
from tracekit.tables.bundle.container.requirements import NAME as REQUIREMENTS
from tracekit.tables.bundle.container.store import Unreadable

VERIFIED_BUILDS = ("17A5295f", "17C529")
_BUILD = re.compile(r"\(([0-9A-Za-z]{1,20})\)", re.ASCII)


def remarks_of(bundle: Bundle, number: int | None = None) -> tuple[str, ...]:
    """Return sentences on what is missing, unreadable or not verified, each once.

    Args:
        bundle: The bundle.
        number: The run that they are about; None for all runs.

    Raises:
        BundleError: A run has no folder of stores.
    """
    runs = (run for run in bundle.runs if number in {None, run.number})
    said = (one for run in runs for one in _of_run(run))
    return tuple(dict.fromkeys((*bundle.missing, *_tags(bundle), *said)))


def _of_run(run: BundleRun) -> Iterator[str]:
    info = run_info(run)
    yield from _build(run, info.run.instruments_version)
    yield from info.remarks
    yield from names_of(run).remarks
    yield from run.unchecked
    yield from (one.left_out for one in run.tables if isinstance(one, Unreadable))


def _tags(bundle: Bundle) -> Iterator[str]:
    for type_id, (tag, known) in odd_tags(bundle.required).items():
        yield (
            f"{REQUIREMENTS} of {called(bundle.path)} calls {type_id} {tag}, which is {known} in "
            "all bundles that are known; its columns may be of other types than in an export."
        )


def _build(run: BundleRun, version: str) -> Iterator[str]:
    bundle, found = called(run.files.bundle), _BUILD.search(version)
    verified = " and ".join(VERIFIED_BUILDS)
    if found is None:
        yield (
            f"Which build of Instruments made {bundle} is not known; reading bundles was verified "
            f"for {verified}."
        )
    elif found[1] not in VERIFIED_BUILDS:
        yield (
            f"Reading {bundle} is not verified for this build of Instruments, {found[1]}; it was "
            f"for {verified}."
        )
