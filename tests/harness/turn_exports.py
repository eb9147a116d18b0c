"""Exports of a program that commits a command buffer and waits, as xctrace writes them.

Two tables and the table of contents, with the columns that Instruments 26 has and the analysis asks
for.
"""

from collections.abc import Iterable
from pathlib import Path

_TOC = """<?xml version="1.0"?>
<trace-toc><run number="1"><info><target>
<device platform="macOS" model="MacBook Pro" name="Mac" os-version="26.0 (25A354)"/>
<process type="launched" return-exit-status="0" name="{name}" pid="4711"/></target>
<summary><duration>{seconds}</duration><instruments-version>26.0 (17A5295f)</instruments-version>
<template-name>Metal System Trace</template-name></summary></info>
<processes><process name="{name}" pid="4711" path="/usr/local/bin/{name}"/></processes>
<data><table schema="metal-gpu-intervals"/><table schema="metal-command-buffer-completed"/></data>
</run></trace-toc>
"""
_WORK = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("channel-name", "gpu-channel-name"),
    ("start-latency", "duration"),
    ("event-depth", "metal-nesting-level"),
    ("event-label", "formatted-label"),
    ("process", "process"),
    ("gpu", "metal-device-name"),
    ("cmdbuffer-id", "metal-command-buffer-id"),
    ("encoder-id", "metal-command-buffer-id"),
)
_REPORTS = (("timestamp", "start-time"), ("cmdbuffer-id", "metal-command-buffer-id"))


def write_turns(folder: Path, turns: Iterable[tuple[int, int, int, int]], name: str) -> Path:
    """Write a folder of exports of (commit, start, end, report), in ns; return it."""
    folder.mkdir(parents=True)
    rows = list(turns)
    process = f'<process fmt="{name} (4711)"><pid fmt="4711">4711</pid></process>'
    work = [
        (
            f"<start-time>{start}</start-time>",
            f"<duration>{end - start}</duration>",
            '<gpu-channel-name fmt="Compute">Compute</gpu-channel-name>',
            f"<duration>{start - commit}</duration>",
            "<metal-nesting-level>0</metal-nesting-level>",
            '<formatted-label fmt="Compute Command 0"/>',
            process,
            '<metal-device-name fmt="M2 Max">M2 Max</metal-device-name>',
            f"<metal-command-buffer-id>{1_000 + 2 * number}</metal-command-buffer-id>",
            f"<metal-command-buffer-id>{1_001 + 2 * number}</metal-command-buffer-id>",
        )
        for number, (commit, start, end, _) in enumerate(rows)
    ]
    reports = [
        (
            f"<start-time>{report}</start-time>",
            f"<metal-command-buffer-id>{1_000 + 2 * number}</metal-command-buffer-id>",
        )
        for number, (*_, report) in enumerate(rows)
    ]
    seconds = rows[-1][-1] / 1e9
    (folder / "toc.xml").write_text(_TOC.format(name=name, seconds=seconds))
    _write(folder, "metal-gpu-intervals", _WORK, work)
    _write(folder, "metal-command-buffer-completed", _REPORTS, reports)
    return folder


def _write(
    folder: Path,
    schema: str,
    columns: tuple[tuple[str, str], ...],
    rows: list[tuple[str, ...]],
) -> None:
    column_elements = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for name, kind in columns
    )
    body = "\n".join(f"<row>{''.join(cells)}</row>" for cells in rows)
    node = "//trace-toc[1]/run[1]/data[1]/table[1]"
    (folder / f"{schema}.xml").write_text(
        f"<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='{node}'>"
        f'<schema name="{schema}">{column_elements}</schema>{body}</node></trace-query-result>\n'
    )
