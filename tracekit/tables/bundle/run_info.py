"""The facts of a run of a bundle: device, target, times, settings, issues; its table of contents.

The document of the bundle has all of them. Without it, the parameters of the analysis and two
tables of the run have a few: the pid of the target, the version of macOS, and the start of the
recording. Issues are in a small database. It is opened read-only and as immutable, so that nothing
is written next to it; a query that takes too long is given up. The severity of an issue is not
known from the database.

Tables are in the order of the numbers of their stores. A bundle does not store the order of
`xctrace`, so tables are identified by schema and attributes.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracekit.base import Process, files
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.cells.encodings import ALL_64, BIAS, UNITS
from tracekit.tables.bundle.container.keyed import Archive, ArchivedPart
from tracekit.tables.bundle.container.records import read_records
from tracekit.tables.bundle.container.store import TableStore, Unreadable, run_folder
from tracekit.tables.bundle.errors import ArchiveError, BundleError, name_bundle
from tracekit.tables.bundle.names import (
    NAME,
    UNKNOWN,
    BundleDocument,
    ProcessNames,
    documented_processes,
    short_name,
)
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.toc import Toc, TocRun, TocTable, setting_line, toc_text

_LARGEST = 1 << 26
_STEPS = 2_000_000  # of the virtual machine of SQLite: far less than a second
_LONGEST = 1 << 16
_MOST_ISSUES = 20
_MOST_LETTERS = 200
_HEALTHY = (2, "Data stream: Time Mapping")
_ISSUES = """
    SELECT ZTYPE, ZMESSAGE, total(ZCOUNT) FROM ZISSUE WHERE typeof(ZMESSAGE) = 'text'
    GROUP BY ZTYPE, ZMESSAGE ORDER BY min(ZRELATIVETIMESTAMP), min(Z_PK) LIMIT ?
"""


def issues_of(bundle: Bundle, run: BundleRun) -> tuple[Loss, ...]:
    """Return a loss for each kind of issue that was noted in a run.

    A missing or damaged database is a loss, too.
    """
    name = f"Trace{run.number}.run/RunIssues.storedata"
    try:
        bundle.files.open_file(name).close()
        if bundle.files.size(name) > _LARGEST:
            raise bundle.files.make_damage_error(name, f"is larger than {_LARGEST:,} bytes")
        issues = _issues((bundle.path / name).resolve())
        losses: list[Loss] = []
        for kind, message, count in issues:
            text = _describe_issue(kind, message, count)
            losses.append(Loss(Flaw.NOTED, text, run=run.number))
        return tuple(losses)
    except BundleError as error:
        reason = error.message
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        reason = f"{name} is not a readable database."
    text = f"The remarks of Instruments on run {run.number} are not available: {reason}"
    return (Loss(Flaw.UNSURE, text, run=run.number),)


def _issues(path: Path) -> list[tuple[int, str, float]]:
    address = f"{path.as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        database.set_progress_handler(lambda: 1, _STEPS)
        database.execute("PRAGMA trusted_schema = OFF")
        # The missing part of a truncated last page would be read as zeroes.
        [page] = database.execute("PRAGMA page_size").fetchone()
        is_intact = database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        if not is_intact or path.stat().st_size % page:
            raise sqlite3.DatabaseError
        return database.execute(_ISSUES, (_MOST_ISSUES,)).fetchall()


def _describe_issue(kind: int, message: str, count: float) -> str:
    times = "once" if count <= 1 else f"{int(count):,} times"
    text = " ".join(message.split())
    if len(text) > _MOST_LETTERS:
        text = text[: _MOST_LETTERS - 1] + "…"
    if (kind, message) == _HEALTHY:
        return f'Instruments noted {times} "{text}", as in nearly every trace that is whole.'
    return f'Instruments noted {times} "{text}"; how grave that is, the bundle does not tell.'


_PLAIN = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_QUOTED = frozenset({"subsystem", "category", "pmi-event"})


def worded_attributes(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return attributes as the table of contents words them; null ones are left out."""
    return {key: _text(key, value) for key, value in attributes.items() if value is not None}


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_member, value))
    if isinstance(value, bool):
        return str(int(value))
    if key in _QUOTED:
        return _member(value)
    return str(value)


def _member(value: Any) -> str:
    if isinstance(value, bool):
        value = int(value)
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    return f'"{text}"'


_LARGEST_PARAMETERS = 1 << 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def without_document(run: BundleRun) -> TocRun:
    """Return the facts of a run that its analysis has, without its tables; the rest is empty."""
    name = f"{run_folder(run.number)}/core-config/exposedTableInfo.plist"
    with run.files.reading(name):
        archive = Archive(run.files.read(name, _LARGEST_PARAMETERS))
        parameters = archive.mapping(archive.root)
        system = ArchivedPart(archive, parameters.get("bindingParameters")).integer("osx-version")
        pid = ArchivedPart(archive, parameters.get("modelingParameters")).integer("target-pid")
    target: Process | None = None
    if pid is not None:
        process_name = run.names.process(pid)
        if process_name == UNKNOWN:
            process_name = ""
        target = Process(pid, process_name)
    device: dict[str, str] = {}
    if system is not None:
        device["os-version"] = _version(system)
    return TocRun(number=run.number, device=device, target=target, start_date=_start(run))


def _version(number: int) -> str:
    """Return 26.3.1 for 260301."""
    major = number // 10_000
    minor = number // 100 % 100
    patch = number % 100
    if patch:
        return f"{major}.{minor}.{patch}"
    return f"{major}.{minor}"


def _start(run: BundleRun) -> str:
    """Return the start of the recording, in UTC, since its own zone is not known."""
    for store in run.find_stores("time-info"):
        fields = [column.field for column in store.columns if column.mnemonic == "trace-start-time"]
        if not fields or not store.rows:
            continue
        start_column = read_records(run.files, store, fields)[0]
        stored = int(start_column[0])
        if BIAS <= stored < ALL_64:
            return _date((stored - BIAS) / UNITS, UTC)
    return ""


_SYMBOL_STORES = "com.apple.xray.symbolstoremanager.symbolstores"
_OF_PROCESS = re.compile(r"\.([0-9]{1,9})\Z", re.ASCII)
_ZONE = 5  # of the values of `mach_time_info`
_TYPES = {1: "launched", 2: "attached"}
_ALL_PROCESSES = 0
_LATEST = 1 << 62  # seconds; excludes NaN and infinity
_SIGNALS = range(1, 32)
_DEVICE = {
    "uuid": "_targetUUID",
    "model": "_targetModel",
    "name": "_targetName",
    "os-version": "_targetOperatingSystem",
    "platform": "_targetPlatform",
}


def run_info(run: BundleRun) -> tuple[TocRun, tuple[Loss, ...]]:
    """Return the facts of a run, without its tables, and a loss for those that are not known."""
    flaw = run.document.flaw()
    document = run.document.run(run.number)
    reason = run.document.why_not(run.number)
    if document is not None:
        try:
            return _summarize_document(run, document)
        except ArchiveError as error:
            reason = f"the document of {name_bundle(run.files.bundle)} {error}"
    text = (
        f"Device, template, settings, duration and end of run {run.number} are not available, "
        f"because {reason}."
    )
    less = Loss(flaw, text, run=run.number)
    try:
        return without_document(run), (less,)
    except BundleError as error:
        loss = Loss(Flaw.UNNAMED, error.message, run=run.number)
        return TocRun(run.number), (less, loss)


def _summarize_document(run: BundleRun, document: ArchivedPart) -> tuple[TocRun, tuple[Loss, ...]]:
    info = ArchivedPart(document.archive, document.get("runInfo"))
    if not isinstance(info.node, Mapping):
        raise ArchiveError("does not say how the run went")
    names = documented_processes(document)
    zone = _zone(document, info.text("_targetUUID"))
    processes: list[Process] = []
    paths: dict[int, str] = {}
    for pid in _pids(run.document, run.number):
        process, path = _make_process(pid, names.get(pid))
        processes.append(process)
        if path:
            paths[process.pid] = path
    duration = _seconds(info, "_rawDuration")
    if duration is not None:
        duration = round(duration, 6)
    status, reason, end_remarks = _end(info)
    kind = info.integer("targetType")
    target, target_remarks = _target(run, info)
    start_date = _date(_seconds(info, "_rawStartTime"), zone)
    end_date = _date(_seconds(info, "_rawEndTime"), zone)
    environment = tuple(map(str, info.mapping("_environment")))
    target_type = _TYPES.get(kind or 0, "")
    summary = TocRun(
        number=run.number,
        device=_device(info),
        target=target,
        target_type=target_type,
        all_processes=kind == _ALL_PROCESSES,
        arguments=_arguments(info),
        exit_status=status,
        termination_reason=reason,
        environment=environment,
        start_date=start_date,
        end_date=end_date,
        duration=duration,
        end_reason=info.text("_endReason"),
        instruments_version=info.text("_instrumentVersion"),
        template=info.text("_templateName"),
        recording_mode=info.text("_recordingMode"),
        time_limit=info.text("_timeLimit"),
        settings=_settings(info),
        processes=tuple(processes),
        paths=paths,
    )
    missing_facts = _missing(run, summary)
    remarks = (*target_remarks, *end_remarks, *missing_facts)
    losses = [Loss(Flaw.UNSURE, text, run=run.number) for text in remarks]
    return summary, tuple(losses)


def _target(run: BundleRun, info: ArchivedPart) -> tuple[Process | None, tuple[str, ...]]:
    """Return the target of a run, and a remark if only the analysis has its pid."""
    pid = info.integer("_targetProcessPid")
    kind = info.integer("targetType")
    if pid is not None and kind != _ALL_PROCESSES:
        return Process(pid, info.text("_targetProcessName")), ()
    if kind not in _TYPES:
        return None, ()
    target = None
    with suppress(BundleError):
        target = without_document(run).target
    stated_pid = "none" if target is None else target.pid
    subject = f"The runInfo of run {run.number} in the {NAME} of {name_bundle(run.files.bundle)}"
    less = f"does not say the target's pid; the parameters of the analysis say {stated_pid}."
    return target, (f"{subject} {less}",)


def _device(info: ArchivedPart) -> dict[str, str]:
    device: dict[str, str] = {}
    for name, key in _DEVICE.items():
        text = info.text(key)
        if text:
            device[name] = text
    return device


def _missing(run: BundleRun, summary: TocRun) -> tuple[str, ...]:
    """Return a sentence on the facts that every document of a run has and this one lacks."""
    facts = {
        "the system": summary.device.get("os-version"),
        "the kind of target": summary.target_type or summary.all_processes,
        "the start": summary.start_date,
        "the duration": summary.duration is not None,
    }
    missing_facts = [name for name, there in facts.items() if not there]
    subject = f"The runInfo of run {run.number} in the {NAME} of {name_bundle(run.files.bundle)}"
    if missing_facts:
        return (f"{subject} does not say {', '.join(missing_facts)}.",)
    return ()


def _seconds(info: ArchivedPart, name: str) -> float | None:
    value = info.archive.unwrap(info.get(name))
    if isinstance(value, int | float) and abs(value) < _LATEST:
        return float(value)
    return None


def _arguments(info: ArchivedPart) -> str:
    arguments = info.get("_arguments")
    if isinstance(arguments, Mapping) and "NS.objects" in arguments:
        archive = info.archive
        values = archive.sequence(arguments)
        words = [str(archive.unwrap(value)) for value in values]
        return " ".join(words)
    return info.text("_arguments")


def _end(info: ArchivedPart) -> tuple[str, str, tuple[str, ...]]:
    """Return the exit status of the target, the reason of its end, and a remark if unclear.

    A number may be the status or a signal.
    """
    status = info.integer("_targetExitStatus")
    if status is None or info.integer("targetType") == _ALL_PROCESSES:
        return "", "", ()
    if status >= 0 and status not in _SIGNALS:
        return str(status), f"exit({status})", ()
    unsure = (
        f"Why the target ended is not available: {status} may be its exit status or a signal, and "
        f"how a bundle tells them apart is not known."
    )
    return str(status), "", (unsure,)


def _zone(document: ArchivedPart, device: str) -> tzinfo:
    archive = document.archive
    by_device = document.mapping("mach_time_info")
    any_clock = next(iter(by_device.values()), None)
    clock = by_device.get(device, any_clock)
    zone_node = None
    if clock is not None:
        values = archive.sequence(clock)
        if len(values) > _ZONE:
            zone_node = values[_ZONE]
    # The node is a zone, or the name of one.
    name = archive.part(zone_node, "NS.name") or archive.unwrap(zone_node)
    if not isinstance(name, str):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _date(seconds: float | None, zone: tzinfo) -> str:
    """Return a moment in ISO 8601 with milliseconds; "" if no calendar has it."""
    if seconds is None:
        return ""
    try:
        since_epoch = timedelta(milliseconds=round(seconds * 1000))
        moment = (_EPOCH + since_epoch).astimezone(zone)
    except (OverflowError, ValueError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _settings(info: ArchivedPart) -> dict[str, tuple[str, ...]]:
    archive = info.archive
    setting_lines: dict[str, tuple[str, ...]] = {}
    for instrument, node in info.mapping("_recordingSettings").items():
        lines: list[str] = []
        for value in archive.sequence(node):
            for name, setting in archive.mapping(value).items():
                lines += _setting(archive, name, setting)
        setting_lines[str(instrument)] = tuple(lines)
    return setting_lines


def _setting(archive: Archive, name: Any, node: Any) -> Iterator[str]:
    """Yield a line for each value of a setting."""
    value = archive.unwrap(node)
    if isinstance(value, Mapping) and "NS.objects" in value and "NS.keys" not in value:
        for member in archive.sequence(value):
            text = _plain_text(archive.unwrap(member))
            if text:
                yield setting_line(str(name), text)
        return
    text = _plain_text(value)
    if text:
        yield f"{name}: {text}"


def _plain_text(value: Any) -> str:
    """Return a text or a number as text; "" for any other value."""
    if isinstance(value, str | int | float):
        return str(value).strip()
    return ""


def _pids(document: BundleDocument, number: int) -> list[int]:
    """Return the processes whose binaries the document lists, as the TOC does."""
    archive = document.archive
    if archive is None:
        return []
    try:
        stores_by_run = archive.get_numbered(archive.top(_SYMBOL_STORES))
        stores = stores_by_run.get(number)
        if stores is None:
            return []
        keys = list(archive.mapping(stores))
    except ArchiveError:
        return []
    pids: list[int] = []
    for key in keys:
        match = _OF_PROCESS.search(str(key))
        if match:
            pids.append(int(match[1]))
    return sorted(pids)


def _make_process(pid: int, names: ProcessNames | None) -> tuple[Process, str]:
    """Return a process as the TOC lists it, and its path."""
    if names is None:
        return Process(pid), ""
    if "/" in names.execname:
        return Process(pid, short_name(names.execname)), names.execname
    process = Process(pid, names.display or names.execname)
    return process, short_name(names.execname)


def list_named_tables(run: BundleRun) -> tuple[TableStore | Unreadable, ...]:
    """Return the tables that the TOC names; the first is its `table[1]`."""
    return tuple([table for table in run.tables if table.schema])


def toc_of(bundle: Bundle) -> Toc:
    """Return the table of contents of a bundle, without the facts of a missing document."""
    runs: list[TocRun] = []
    for run in bundle.runs:
        tables: list[TocTable] = []
        for place, table in enumerate(list_named_tables(run), start=1):
            attributes = worded_attributes(table.attributes)
            tables.append(TocTable(place, table.schema, attributes))
        info, _ = run_info(run)
        runs.append(replace(info, tables=tuple(tables)))
    return Toc(tuple(runs))


def write_toc(bundle: Bundle, path: Path) -> None:
    """Write the table of contents as `xctrace export --toc` would, with names and arguments."""
    files.write_whole(path, toc_text(toc_of(bundle)).encode())


VERIFIED_BUILDS = ("17A5295f", "17C529")
_BUILD = re.compile(r"\(([0-9A-Za-z]{1,20})\)", re.ASCII)


def losses_of(bundle: Bundle, number: int | None = None) -> tuple[Loss, ...]:
    """Return the losses of one run, or of all: missing, unreadable and unverified data."""
    runs = (run for run in bundle.runs if number in {None, run.number})
    all_losses = [*bundle.missing]
    for run in runs:
        info, losses = run_info(run)
        all_losses += _build(run, info.instruments_version)
        all_losses += losses + run.names.losses + run.unchecked_losses
        all_losses += [table.loss for table in run.tables if isinstance(table, Unreadable)]
    return tuple(dict.fromkeys(all_losses))


def _build(run: BundleRun, version: str) -> Iterator[Loss]:
    match = _BUILD.search(version)
    if match is None or match[1] not in VERIFIED_BUILDS:
        build = match[1] if match else "which it does not name"
        text = (
            f"Reading {name_bundle(run.files.bundle)} is not verified for its build of "
            "Instruments, "
            f"{build}; it was for {' and '.join(VERIFIED_BUILDS)}."
        )
        yield Loss(Flaw.UNSURE, text, run=run.number)
