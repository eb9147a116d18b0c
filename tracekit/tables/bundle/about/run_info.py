"""How a run of a bundle went: device, target, times, settings.

Layout: docs/explanation/trace-bundles.md. The document of the bundle knows it all; without it,
the parameters of the run's analysis and two of its tables know a little.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracekit.base.recording import Process
from tracekit.tables.bundle.about.document import NAME, Document, RunDocument, by_number, entries
from tracekit.tables.bundle.about.names import ProcessNames, process_names, short_name
from tracekit.tables.bundle.about.parameters import without_document
from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.called import called
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.toc.settings import Dictionaries, setting_lines
from tracekit.tables.toc.toc import TocRun

_SYMBOL_STORES = "com.apple.xray.symbolstoremanager.symbolstores"
_OF_PROCESS = re.compile(r"\.([0-9]{1,9})\Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE = 5  # of the values of `mach_time_info`
_TYPES = {1: "launched", 2: "attached"}
_ALL_PROCESSES = 0
_LATEST = 1 << 62  # seconds: less than what is no number, or endless
_SIGNALS = range(1, 32)
_DEVICE = {
    "uuid": "_targetUUID",
    "model": "_targetModel",
    "name": "_targetName",
    "os-version": "_targetOperatingSystem",
    "platform": "_targetPlatform",
}


@dataclass(frozen=True)
class RunInfo:
    """How a run went, without its tables; `settings` as the bundle keeps them, by instrument.

    `remarks` are sentences on what is not available.
    """

    run: TocRun
    settings: Mapping[str, Dictionaries] = field(default_factory=dict[str, Dictionaries])
    remarks: tuple[str, ...] = ()


def run_info(run: BundleRun) -> RunInfo:
    """Return how a run went; what is not known is empty, and told in a remark."""
    document, why = run.document.run(run.number), run.document.why_not(run.number)
    if document is not None:
        try:
            return _documented(run, document)
        except ArchiveError as error:
            why = f"the document of {called(run.files.bundle)} {error}"
    less = (
        f"Device, template, settings, duration and end of run {run.number} are not available, "
        f"because {why}."
    )
    try:
        return RunInfo(without_document(run), {}, (less,))
    except BundleError as error:
        return RunInfo(TocRun(run.number), {}, (less, error.message))


class _Info:
    """The values of `runInfo`, each by its name."""

    def __init__(self, document: RunDocument) -> None:
        self.archive = document.archive
        self.node = document.get("runInfo")
        if not isinstance(self.node, Mapping):
            raise ArchiveError("does not say how the run went")

    def text(self, name: str) -> str:
        return self.archive.text(self.archive.part(self.node, name))

    def number(self, name: str) -> int | None:
        return self.archive.integer(self.archive.part(self.node, name))

    def seconds(self, name: str) -> float | None:
        found = self.archive.plain(self.archive.part(self.node, name))
        known = isinstance(found, int | float) and abs(found) < _LATEST
        return float(found) if known else None

    def dictionary(self, name: str) -> dict[Any, Any]:
        found = self.archive.part(self.node, name)
        return {} if found is None else entries(self.archive, found)


def _documented(run: BundleRun, document: RunDocument) -> RunInfo:
    info = _Info(document)
    names = process_names(document)
    zone = _zone(document, info.text("_targetUUID"))
    settings = _settings(info)
    processes = [_listed(pid, names.get(pid)) for pid in _pids(run.document, run.number)]
    duration = info.seconds("_rawDuration")
    status, reason, unsure = _end(info)
    target, unnamed = _target(run, info)
    told = TocRun(
        number=run.number,
        device={name: text for name, key in _DEVICE.items() if (text := info.text(key))},
        target=target,
        target_type=_TYPES.get(info.number("targetType") or 0, ""),
        all_processes=info.number("targetType") == _ALL_PROCESSES,
        arguments=_arguments(info),
        exit_status=status,
        termination_reason=reason,
        environment=tuple(str(key) for key in info.dictionary("_environment")),
        start_date=_date(info.seconds("_rawStartTime"), zone),
        end_date=_date(info.seconds("_rawEndTime"), zone),
        duration=None if duration is None else round(duration, 6),
        end_reason=info.text("_endReason"),
        instruments_version=info.text("_instrumentVersion"),
        template=info.text("_templateName"),
        recording_mode=info.text("_recordingMode"),
        time_limit=info.text("_timeLimit"),
        settings={name: setting_lines(kept) for name, kept in settings.items()},
        processes=tuple(process for process, _ in processes),
        paths={process.pid: path for process, path in processes if path},
    )
    return RunInfo(told, settings, (*unnamed, *unsure, *_missing(run, told)))


def _target(run: BundleRun, info: _Info) -> tuple[Process | None, tuple[str, ...]]:
    """Return the target, and a remark where the document has its kind and not its pid."""
    pid, kind = info.number("_targetProcessPid"), info.number("targetType")
    if pid is not None and kind != _ALL_PROCESSES:
        return Process(pid, info.text("_targetProcessName")), ()
    if kind not in _TYPES:
        return None, ()
    less = (
        f"The runInfo of run {run.number} in the {NAME} of {called(run.files.bundle)} says that "
        f"the target was {_TYPES[kind]}, and not its pid"
    )
    try:
        target = without_document(run).target
    except BundleError as error:
        target, less = None, f"{less}; {error.message.removesuffix('.')}"
    if target is None:
        return None, (f"{less}: which rows are the target's is not known.",)
    return target, (f"{less}: it is taken from the parameters of the analysis, {target.pid}.",)


def _missing(run: BundleRun, told: TocRun) -> tuple[str, ...]:
    """Return a remark on what every document says of a run and this one does not."""
    said = {
        "the system": told.device.get("os-version"),
        "the kind of target": told.target_type or told.all_processes,
        "the start": told.start_date,
        "the duration": told.duration is not None,
    }
    lacking = [name for name, there in said.items() if not there]
    where = f"The runInfo of run {run.number} in the {NAME} of {called(run.files.bundle)}"
    return (f"{where} does not say {', '.join(lacking)}.",) if lacking else ()


def _arguments(info: _Info) -> str:
    found = info.archive.part(info.node, "_arguments")
    if isinstance(found, Mapping) and "NS.objects" in found:
        return " ".join(str(info.archive.plain(one)) for one in info.archive.sequence(found))
    return info.text("_arguments")


def _end(info: _Info) -> tuple[str, str, tuple[str, ...]]:
    """Return exit status and reason of the target's end; a signal's number may be a status too."""
    status = info.number("_targetExitStatus")
    if status is None or info.number("targetType") == _ALL_PROCESSES:
        return "", "", ()
    if status >= 0 and status not in _SIGNALS:
        return str(status), f"exit({status})", ()
    unsure = (
        f"Why the target ended is not available: {status} may be its exit status or a signal, and "
        f"how a bundle tells them apart is not known."
    )
    return str(status), "", (unsure,)


def _zone(document: RunDocument, device: str) -> tzinfo:
    archive, clocks = document.archive, document.get("mach_time_info")
    by_device = {} if clocks is None else entries(archive, clocks)
    clock = by_device.get(device, next(iter(by_device.values()), None))
    values = [] if clock is None else archive.sequence(clock)
    named = values[_ZONE] if len(values) > _ZONE else None
    name = archive.part(named, "NS.name") or archive.plain(named)  # a zone, or what it is called
    try:
        return ZoneInfo(name) if isinstance(name, str) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _date(seconds: float | None, zone: tzinfo) -> str:
    """Return a moment in ISO 8601 with milliseconds; empty for none that a calendar has."""
    if seconds is None:
        return ""
    try:
        moment = (_EPOCH + timedelta(milliseconds=round(seconds * 1000))).astimezone(zone)
    except (OverflowError, ValueError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _settings(info: _Info) -> dict[str, list[dict[str, str | list[str]]]]:
    archive = info.archive
    return {
        str(name): [dict(_setting(archive, archive.mapping(one))) for one in archive.sequence(kept)]
        for name, kept in info.dictionary("_recordingSettings").items()
    }


def _setting(
    archive: Archive, dictionary: Mapping[Any, Any]
) -> Iterator[tuple[str, str | list[str]]]:
    for name, node in dictionary.items():
        value = archive.plain(node)
        if isinstance(value, Mapping) and "NS.objects" in value and "NS.keys" not in value:
            texts = (archive.plain(one) for one in archive.sequence(value))
            yield str(name), [str(one) for one in texts if isinstance(one, str | int | float)]
        elif isinstance(value, str | int | float):
            yield str(name), str(value)


def _pids(document: Document, number: int) -> list[int]:
    """Return the processes whose binaries the document lists, as the TOC does."""
    archive = document.archive
    if archive is None:
        return []
    try:
        stores = by_number(entries(archive, archive.top(_SYMBOL_STORES))).get(number)
        keys = [] if stores is None else list(entries(archive, stores))
    except ArchiveError:
        return []
    return sorted(int(found[1]) for key in keys if (found := _OF_PROCESS.search(str(key))))


def _listed(pid: int, names: ProcessNames | None) -> tuple[Process, str]:
    """Return a process as the TOC lists it, and its path."""
    if names is None:
        return Process(pid), ""
    if "/" in names.execname:
        return Process(pid, short_name(names.execname)), names.execname
    return Process(pid, names.display or names.execname), short_name(names.execname)
