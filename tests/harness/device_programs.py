"""Exports of a program that a test makes up: command buffers, work on channels, levels of memory.

Times are ns, sizes bytes. What is written has the columns and the grammar of real exports.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labelled.cells import label
from labelled.grammar import table
from labelled.writer import Cell, Compound, process, thread, write_export

US = 1_000
MS = 1_000_000
SECOND = 1_000_000_000
MIB = 1 << 20
VERSION = "26.0 (17A5295f)"
_NOBODY = (1 << 64) - 1
_HEAD = """<?xml version="1.0"?>

<trace-toc>
<run number="1">
<info>
<target>
<device platform="macOS" model="Mac" name="Mac" os-version="26.4 (25E246)"/>
<process type="launched" name="{name}" pid="{pid}" return-exit-status="0"/>
</target>
<summary>
<start-date>2026-03-30T20:49:19.103+00:00</start-date>
<end-date>2026-03-30T20:49:49.103+00:00</end-date>
<duration>30.0</duration>
<end-reason>Target app exited</end-reason>
<instruments-version>{version}</instruments-version>
<template-name>Metal System Trace</template-name>
<recording-mode>Deferred</recording-mode>
</summary>
</info>
<processes>
<process name="{name}" pid="{pid}" path="/"/>
</processes>
<data>
"""


@dataclass(frozen=True)
class Piece:
    """Work on a channel of the device: how long it takes, and how many bytes it moves."""

    length: int
    channel: str = "Compute"
    label: str = "Compute Command 0"
    size: int = 0
    is_parallel: bool = False
    """Whether it starts with the piece before it, and not behind it."""


@dataclass
class Program:
    """A program whose command buffers a device runs in the order of their commits."""

    name: str = "python3"
    pid: int = 4711
    device: str = "M2 Max"
    latency: int = 20 * US
    report: int = 30 * US
    number: int = 0
    queues: dict[str, int] = field(default_factory=dict[str, int])
    """When the device is through with each queue."""
    rows: dict[str, list[Sequence[Cell]]] = field(default_factory=dict[str, list[Sequence[Cell]]])

    def add(self, schema: str, *cells: Cell) -> None:
        """Add a row to the export of a schema."""
        self.rows.setdefault(schema, []).append(cells)

    @property
    def queues_end(self) -> int:
        """When the device is through with all queues."""
        return max(self.queues.values(), default=0)

    @property
    def owner(self) -> Compound:
        """The cell of the process."""
        return process(self.name, self.pid, "TODO")

    def commit(
        self,
        commit_time: int,
        pieces: Iterable[Piece],
        who: str = "Main Thread",
        tid: int = 101,
        queue: str = "",
    ) -> tuple[int, int]:
        """Commit a command buffer; return when the device starts it and when it is reported."""
        self.number += 1
        start = begin = end = max(commit_time + self.latency, self.queues.get(queue, 0))
        previous_begin = begin
        for place, piece in enumerate(pieces):
            begin = previous_begin if piece.is_parallel else end
            previous_begin = begin
            self._run(begin, piece, commit_time, place)
            end = max(end, begin + piece.length)
        self.queues[queue] = end
        done = end + self.report
        committing = thread(who, tid, self.owner)
        self.add(
            "metal-application-command-buffer-submissions",
            *(
                commit_time - 10 * US,
                10 * US,
                "CommandBufferSubmission",
                self.device,
                "Command Buffer",
            ),
            *(1, 8 * US, self.owner, committing, None, None, None, 0, 0, self._buffer),
        )
        self.add(
            "metal-application-encoders-list",
            *(
                commit_time - 9 * US,
                8 * US,
                committing,
                self.owner,
                self.device,
                0,
                "Command Buffer 0",
            ),
            *("[0] Command Buffer 0", "Compute Command 0", "[0] Compute Command 0", "Encoding"),
            *(self._buffer, 100_000 + 100 * self.number),
        )
        self.add("metal-command-buffer-completed", done, self._buffer, 0)
        return start, done

    @property
    def _buffer(self) -> int:
        return 4_000_000_000 + 7 * self.number

    def _run(self, start: int, piece: Piece, committed: int, place: int) -> None:
        encoder = 100_000 + 100 * self.number + place
        words = f"Command Buffer 0:{piece.label}   ( {self.name} ({self.pid}) )  {encoder:#x}"
        label_cell = Compound(words, (("string", piece.label), ("uint64", encoder)))
        self.add(
            "metal-gpu-intervals",
            *(start, piece.length, piece.channel, 0, start - committed, 0, label_cell, "Active"),
            *(0, 0, self.owner, self.device, "", label(""), piece.size, self._buffer, encoder),
            encoder,
        )

    def hold(self, start: int, end: int, size: int) -> None:
        """Have so many bytes of GPU memory allocated for a while."""
        words = label(f"{size / MIB:.1f} MiB")
        self.add(
            "metal-current-allocated-size",
            *(start, end - start, end, self.owner, size, words, label("Allocated"), 0),
        )

    def allocate(self, time: int, size: int) -> None:
        """Allocate a buffer."""
        count = len(self.rows.get("metal-resource-allocations", []))
        committing = thread("Main Thread", 101, self.owner)
        self.add(
            "metal-resource-allocations",
            *(time, 0, self.owner, committing, count, None, "", 0, size, size, label("Allocation")),
            *(self.device, "Buffer", "Allocation", None, None),
        )

    def wire(self, start: int, length: int, size: int) -> None:
        """Let the driver wire memory."""
        words = label(f"Wire {size / MIB:.2f} MiB")
        committing = thread("Main Thread", 101, self.owner)
        self.add(
            "metal-driver-event-intervals",
            *(start, length, "Driver", "Wire Memory", 0, words, 0, -1, 0, self.owner, committing),
            *(self.device, _NOBODY, False),
        )

    def write(self, folder: Path) -> Path:
        """Write the exports and the table of contents; return their folder."""
        folder.mkdir(parents=True, exist_ok=True)
        toc = [_HEAD.format(name=self.name, pid=self.pid, version=VERSION)]
        for place, (schema, rows) in enumerate(sorted(self.rows.items()), start=1):
            ordered = sorted(rows, key=lambda row: int(str(row[0])))
            write_export(folder / f"{schema}.xml", table(schema, VERSION, place), ordered)
            toc.append(f'<table schema="{schema}"/>\n')
        toc.append("</data>\n</run>\n</trace-toc>\n")
        (folder / "toc.xml").write_text("".join(toc))
        return folder
