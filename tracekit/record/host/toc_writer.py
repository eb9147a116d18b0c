"""Writes a TOC as `xctrace export --toc` writes it, for a recording that is not Instruments'."""

import shlex
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - it has no other name

from tracekit.base.recording import write_whole
from tracekit.record.host.cells import printable
from tracekit.record.host.session import Session


def write_toc(path: Path, session: Session, schemas: Sequence[str], *, last: int = 0) -> None:
    """Write the TOC of a session and its tables, in order.

    It says that tracekit's host recorder made it, with no template's name, so that nobody
    takes it for a trace of Instruments. Names of machine and user are left out.

    Args:
        path: The file.
        session: What the recording knows of itself.
        schemas: The tables; the first one is `table[1]` of the run.
        last: The last moment known, in monotonic ns, for a session that was never closed.

    Raises:
        RecordingError: The file cannot be written.
    """
    root = etree.Element("trace-toc")
    run = _add(root, "run", number="1")
    info = _add(run, "info")
    _target(_add(info, "target"), session)
    _summary(_add(info, "summary"), session, session.end or last)
    name = printable(session.name)
    _add(_add(run, "processes"), "process", name=name, pid=str(session.pid))
    data = _add(run, "data")
    for schema in schemas:
        _add(data, "table", schema=schema)
    _add(run, "tracks")
    etree.indent(root, space="    ")
    text = etree.tostring(root, encoding="unicode")
    write_whole(path, f'<?xml version="1.0"?>\n\n{text}\n'.encode())


def _target(target: _Element, session: Session) -> None:
    machine = session.machine
    system = " ".join(str(machine.get(key, "")) for key in ("system", "release")).strip()
    _add(
        target,
        "device",
        platform=str(machine.get("system", "")),
        model=str(machine.get("chip", "")),
        **{"os-version": system},
    )
    attributes = {
        "type": session.kind,
        "name": printable(session.name),
        "pid": str(session.pid),
    }
    if session.kind == "launched":
        attributes["arguments"] = printable(shlex.join(session.arguments))
    if session.exit_status is not None:
        attributes["return-exit-status"] = str(session.exit_status)
        attributes["termination-reason"] = _termination(session.exit_status)
    _add(target, "process", **attributes)


def _summary(summary: _Element, session: Session, end: int) -> None:
    seconds = max(0, end - session.origin) / 1e9
    for tag, text in (
        ("start-date", session.started),
        ("end-date", session.ended),
        ("duration", f"{seconds:.6f}"),
        ("end-reason", session.end_reason),
        ("instruments-version", f"tracekit host recorder {version('tracekit')}"),
        ("template-name", ""),
        ("recording-mode", "Host"),
        ("time-limit", f"{session.time_limit:g} seconds"),
    ):
        _add(summary, tag).text = text


def _termination(status: int) -> str:
    return f"signal({-status})" if status < 0 else f"exit({status})"


def _add(parent: _Element, tag: str, **attributes: str) -> _Element:
    return etree.SubElement(parent, tag, attributes)
