"""What is known of a run whose bundle has no document: target, system, start.

Layout: docs/explanation/trace-bundles.md. The parameters of the run's analysis name the target's
pid and the version of macOS, and the table time-info says when the recording began.
"""

from datetime import UTC, datetime, timedelta

from tracekit.base.recording import Process
from tracekit.tables.bundle.about.names import UNKNOWN, names_of
from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.encodings import ALL_64, BIAS
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError
from tracekit.tables.bundle.container.records import read_records
from tracekit.tables.bundle.container.store import run_folder
from tracekit.tables.toc.toc import TocRun

_LARGEST = 1 << 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def without_document(run: BundleRun) -> TocRun:
    """Return what is known of a run, without its tables; the rest is empty.

    Raises:
        BundleError: A file that says so is damaged.
    """
    name = f"{run_folder(run.number)}/core-config/exposedTableInfo.plist"
    try:
        archive = Archive(run.files.read(name, _LARGEST))
        found = archive.mapping(archive.root)
        system = archive.integer(archive.part(found.get("bindingParameters"), "osx-version"))
        pid = archive.integer(archive.part(found.get("modelingParameters"), "target-pid"))
    except ArchiveError as error:
        raise run.files.damaged(name, str(error)) from error
    return TocRun(
        number=run.number,
        device={"os-version": _version(system)} if system is not None else {},
        target=_process(run, pid) if pid is not None else None,
        start_date=_start(run),
    )


def _version(number: int) -> str:
    """Return 26.3.1 for 260301."""
    major, minor, patch = number // 10_000, number // 100 % 100, number % 100
    return f"{major}.{minor}.{patch}" if patch else f"{major}.{minor}"


def _process(run: BundleRun, pid: int) -> Process:
    name = names_of(run).process(pid)
    return Process(pid, "" if name == UNKNOWN else name)


def _start(run: BundleRun) -> str:
    """Return when the recording began, in UTC: its own zone is not known."""
    for store in run.stores:
        fields = [one.field for one in store.columns if one.mnemonic == "trace-start-time"]
        if store.schema != "time-info" or not fields or not store.rows:
            continue
        stored = int(read_records(run.files, store, fields)[0][0])
        if BIAS <= stored < ALL_64:
            milliseconds = round((stored - BIAS) / 10**6)
            moment = _EPOCH + timedelta(milliseconds=milliseconds)
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return ""
