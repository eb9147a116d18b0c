"""The table of contents of a trace: what was recorded, of whom, and which tables there are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.errors import InputError
from tracekit.recording import Process

_LARGEST = 1 << 26
_DOCUMENT_TYPE = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*<!DOCTYPE", re.DOTALL
)
_PLAIN_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


@dataclass(frozen=True)
class TocTable:
    """A table of a run: its place (1, 2 …, as in an export's xpath), schema and attributes."""

    index: int
    schema: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class TocRun:
    """One run of a bundle.

    `target` is None for a recording of all processes. `target_type` is "launched" or
    "attached". `duration` is in seconds. `settings` holds one "Key: value" line for each
    setting of each instrument, as Instruments words them.
    """

    number: int
    device: dict[str, str] = field(default_factory=dict[str, str])
    target: Process | None = None
    target_type: str = ""
    exit_status: str = ""
    termination_reason: str = ""
    all_processes: bool = False
    start_date: str = ""
    end_date: str = ""
    duration: float | None = None
    end_reason: str = ""
    instruments_version: str = ""
    template: str = ""
    recording_mode: str = ""
    time_limit: str = ""
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    processes: tuple[Process, ...] = ()
    tables: tuple[TocTable, ...] = ()


@dataclass(frozen=True)
class Toc:
    """What a bundle holds."""

    runs: tuple[TocRun, ...]


def read_toc(path: Path) -> Toc:
    """Read a TOC as `xctrace export --toc` writes it; raise InputError if it is none."""
    root = _parse(path)
    if root.tag != "trace-toc":
        raise InputError(
            f"{path} is not the table of contents of a trace: its root is <{root.tag}>.",
            hint="`xcrun xctrace export --input RECORDING.trace --toc` writes one.",
        )
    runs = root.findall("run")
    return Toc(tuple(_run(path, run, place) for place, run in enumerate(runs, start=1)))


def declares_document_type(beginning: bytes) -> bool:
    """Tell whether XML begins with a document type, which no export of xctrace has."""
    return _DOCUMENT_TYPE.match(beginning) is not None


def hostile(path: Path) -> InputError:
    """Refuse a file with a document type: it could define entities without end."""
    return InputError(
        f"{path} declares a document type, which no export of xctrace does; it was not read."
    )


def unreadable(path: Path, error: OSError) -> InputError:
    """Say why a file cannot be opened or read."""
    return InputError(f"{path} cannot be read: {error.strerror}.")


def _parse(path: Path) -> Element:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > _LARGEST:
        raise InputError(f"{path} is larger than any table of contents; it was not read.")
    if declares_document_type(content):
        raise hostile(path)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{path} is not a whole table of contents: {error.msg}.", hint="Export it again."
        ) from error
    if root.getroottree().docinfo.internalDTD:
        raise hostile(path)
    return root


def _run(path: Path, run: Element, place: int) -> TocRun:
    process = run.find("info/target/process")
    return TocRun(
        number=_integer(path, run.get("number", str(place))),
        device=_device(run),
        target=_target(path, process),
        target_type=_attribute(process, "type"),
        exit_status=_attribute(process, "return-exit-status"),
        termination_reason=_attribute(process, "termination-reason"),
        all_processes=run.find("info/target/all-processes") is not None,
        duration=_seconds(path, _summary(run, "duration")),
        start_date=_summary(run, "start-date"),
        end_date=_summary(run, "end-date"),
        end_reason=_summary(run, "end-reason"),
        instruments_version=_summary(run, "instruments-version"),
        template=_summary(run, "template-name"),
        recording_mode=_summary(run, "recording-mode"),
        time_limit=_summary(run, "time-limit"),
        settings=_settings(run),
        processes=tuple(_process(path, one) for one in run.iterfind("processes/process")),
        tables=tuple(_table(path, *one) for one in enumerate(run.iterfind("data/table"), start=1)),
    )


def _target(path: Path, process: Element | None) -> Process | None:
    if process is None or not process.get("pid"):
        return None
    return _process(path, process)


def _process(path: Path, process: Element) -> Process:
    return Process(_integer(path, process.get("pid", "")), process.get("name", ""))


def _table(path: Path, index: int, table: Element) -> TocTable:
    attributes = {str(key): str(value) for key, value in table.items()}
    schema = attributes.pop("schema", "")
    if not schema:
        raise InputError(f"{path}: table {index} has no schema.")
    return TocTable(index, schema, attributes)


def _device(run: Element) -> dict[str, str]:
    for place in ("info/target/device", "info/target/host-device"):
        device = run.find(place)
        if device is not None:
            return {str(key): str(value) for key, value in device.items()}
    return {}


def _settings(run: Element) -> dict[str, tuple[str, ...]]:
    """Read the settings under the name that Apple gives them, and under the one it means."""
    settings: dict[str, tuple[str, ...]] = {}
    for name in ("intruments-recording-settings", "instruments-recording-settings"):
        for instrument in run.iterfind(f"info/summary/{name}/instrument"):
            key = instrument.get("name", "")
            settings[key] = settings.get(key, ()) + tuple(_lines(instrument))
    return settings


def _lines(instrument: Element) -> Iterator[str]:
    for key in instrument.iter("key"):
        name, own = key.get("name", ""), (key.text or "").strip()
        if own:
            yield f"{name}: {own}"
        for value in key.iterfind("value"):
            words = (value.text or "").strip()
            yield words if ": " in words else f"{name}: {words}"
    for option in instrument.iter("option"):
        yield f"{option.get('key', '')}: {option.get('value', option.text or '')}"


def _summary(run: Element, name: str) -> str:
    return (run.findtext(f"info/summary/{name}") or "").strip()


def _attribute(element: Element | None, name: str) -> str:
    return "" if element is None else element.get(name, "")


def _integer(path: Path, text: str) -> int:
    if _PLAIN_INTEGER.fullmatch(text) is None:
        raise InputError(f"{path} has {text!r} where a whole number belongs.")
    return int(text)


def _seconds(path: Path, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InputError(f"{path} has {text!r} where seconds belong.") from None
