"""A small Mac: programs encode, commit and wait; a driver and a device work in turn; a clock.

All times of this module are µs, as floats; rows get ns. Each waiting time has a heavy tail, as
those of recordings have: one in 30 is some times as long, one in 1,000 up to some ms longer.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sealed.exports import COLUMNS, Heading, Parts, Row, write_table, write_toc

MS = 1_000.0
MEBIBYTE = 1 << 20
GIGABYTE = 10**9
_NOBODY = (1 << 64) - 1
_ACCELERATOR = 4_294_969_231
_COMMANDS = {"Compute": "Compute", "Blit": "Blit", "Vertex": "Render", "Fragment": "Render"}
_DRAWN = 16_667.0  # a frame of the display
_JOINED = 5.0  # a pause of the device that its states do not show


class Owner(NamedTuple):
    """A process: its name and its number."""

    name: str
    pid: int


class Pass(NamedTuple):
    """A part of a command buffer: the channel it runs on, and how long."""

    channel: str
    work: float


class Commit(NamedTuple):
    """A command buffer that was committed: its number, when it ran, and when that was reported."""

    number: int
    committed: float
    start: float
    end: float
    reported: float


COMPOSITOR = Owner("WindowServer", 421)


def cell(owner: Owner) -> Parts:
    """Return the cell of a process."""
    return Parts(f"{owner.name} ({owner.pid})", (("pid", owner.pid), ("device-session", "TODO")))


def text(words: str) -> Parts:
    """Return a label as a formatted one."""
    return Parts(words, (("string", words),))


class Mac:
    """A machine that is recorded: its device's name, its rows, and what its channels are busy with.

    `others` are further processes of the TOC.
    """

    def __init__(self, seed: int, device: str, others: Sequence[Owner] = ()) -> None:
        self.random = np.random.default_rng(seed)
        self.device = device
        self.others = (COMPOSITOR, *others)
        self.rows: dict[str, list[Row]] = {schema: [] for schema in COLUMNS}
        self.busy: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.free: dict[str, float] = defaultdict(float)
        self.last = 0.0
        self._number = 86_000_000

    def number(self) -> int:
        """Return an id that nothing else has."""
        self._number += 1
        return self._number

    def about(self, time: float, spread: float = 0.03) -> float:
        """Return a time near `time`."""
        return time * float(self.random.lognormal(-(spread**2) / 2, spread))

    def rough(self, time: float) -> float:
        """Return a time near `time`, seldom a much longer one."""
        drawn = self.about(time, 0.2)
        chance = float(self.random.random())
        if chance < 0.001:
            return drawn + float(self.random.exponential(800))
        return drawn * float(self.random.uniform(2, 6)) if chance < 1 / 30 else drawn

    def add(self, schema: str, at: float, *cells: object) -> None:
        """Add a row that begins at `at`."""
        self.last = max(self.last, at)
        self.rows[schema].append((round(at * 1e3), *cells))

    def span(self, schema: str, start: float, end: float, *cells: object) -> None:
        """Add a row that lasts from `start` to `end`."""
        self.last = max(self.last, end)
        self.add(schema, start, round((end - start) * 1e3), *cells)

    def runs(self, owner: Owner, one: Pass, start: float, committed: float, ids: "Ids") -> float:
        """Let the device run a pass, beginning at `start`; return when it ends."""
        end = start + one.work
        encoder = f"{ids.encoder:#x}"
        words = f"{ids.label}      ( {owner.name} ({owner.pid}) )  {encoder}"
        shown = (("string", ids.label), ("process", cell(owner)), ("metal-encoder-id", ids.encoder))
        submission = self.number()
        self.span(
            *("metal-gpu-intervals", start, end, one.channel, ids.frame),
            *(round((start - committed) * 1e3), 0, Parts(words, shown), "Active", ids.buffer % 17),
            *(0, cell(owner), self.device, "", text(""), 0, ids.buffer, ids.encoder, submission),
        )
        self.add(
            *("metal-gpu-submission-to-command-buffer-id", start, ids.buffer, submission, 0, 0),
            *(ids.encoder, _ACCELERATOR, 2, 0, 0, 0, owner.pid, cell(owner), 0, 0, 1),
        )
        self.busy[one.channel].append((start, end))
        self.free[one.channel] = max(self.free[one.channel], end)
        return end

    def compiles(self, owner: Owner, start: float, time: float, kind: str = "Compute") -> None:
        """Let the compiler work for a process."""
        self.span(
            *("graphics-compiler-activity-intervals", start, start + time, 0),
            *("Metal Shader Compiler", text(kind), cell(owner), 0, 0),
        )

    def allocates(self, owner: Owner, at: float, size: int) -> None:
        """Let a process allocate a buffer that has no label."""
        self.add(
            *("metal-resource-allocations", at, 0, cell(owner), thread(owner), self.number(), None),
            *("", 0, size, size, text("Allocation"), self.device, "Buffer", "Allocation"),
            *(None, None),
        )

    def holds(self, owner: Owner, levels: Sequence[tuple[float, int]]) -> None:
        """Say how many bytes a process had allocated, from each of these times on."""
        for (start, size), (end, _) in pairwise([*levels, (self.last, 0)]):
            words = f"{size / MEBIBYTE:.2f} MiB"
            self.span(
                *("metal-current-allocated-size", start, end, round(end * 1e3), cell(owner), size),
                *(text(words), text(f"{owner.name} ({owner.pid})"), 1),
            )

    def wired(self, levels: Sequence[tuple[float, int]]) -> None:
        """Say how many bytes were wired, from each of these times on."""
        for (start, size), (end, _) in pairwise([*levels, (self.last, 0)]):
            words = Parts(f"{size / MEBIBYTE:.2f} MiB", (("size-in-bytes", size),))
            self.span(
                *("metal-wired-sysmem-level-interval", start, end, size, 1, self.device, words),
                "Wired System Memory",
            )

    def draws(self, share: float = 1.0) -> None:
        """Let the compositor draw, in a share of the display's frames, where a channel is free."""
        for channel in ("Vertex", "Fragment"):
            self.busy[channel].sort()
        for frame in range(int(self.last / _DRAWN)):
            if self.random.random() < share:
                at = (frame + 1) * _DRAWN + float(self.random.uniform(0, 400))
                ids = Ids(self.number(), self.number(), frame + 1, "")
                for channel, time in (("Vertex", 45.0), ("Fragment", 180.0)):
                    work = self.rough(time)
                    start = _room(self.busy[channel], at, work)
                    self.runs(COMPOSITOR, Pass(channel, work), start, at - 150, ids)
                    self.busy[channel].sort()
                    at = start + work

    def ends(self) -> None:
        """Add what holds for the whole recording, and the states of the device."""
        end = self.last
        spans = sorted(span for every in self.busy.values() for span in every)
        merged: list[list[float]] = []
        for start, stop in spans:
            if merged and start <= merged[-1][1] + _JOINED:
                merged[-1][1] = max(merged[-1][1], stop)
                merged[-1][2] += 1
            else:
                merged.append([start, stop, 1])
        for (start, stop, events), (after, _, _) in pairwise([*merged, [end, end, 0]]):
            active = text("1  channels active")
            schema = "metal-gpu-state-intervals"
            self.span(schema, start, stop, "Active", active, 3, int(events), self.device)
            if after > stop:
                self.span(schema, stop, after, "Idle", text("Idle"), 1000, 0, self.device)
        state = "gpu-performance-state-intervals"
        self.span(state, 0, end, "Maximum", "Current", 0, None, "GPU Performance State")
        self.span("gpu-performance-device-state-intervals", 0, end, _ACCELERATOR, 3, 3)
        thermal = "device-thermal-state-intervals"
        self.span(thermal, 0, end, round(end * 1e3), "Nominal", "Current", 0, None)

    def write(
        self,
        folder: Path,
        owner: Owner,
        place: tuple[str, str, str] = ("macOS", "Mac", "26.3.1 (25D2128)"),
    ) -> dict[str, int]:
        """Write the exports into a new folder, and return how many rows each table has.

        `place` is the platform, the model and the version of the system.
        """
        folder.mkdir(parents=True)
        self.ends()
        others = tuple((one.name, one.pid) for one in self.others)
        heading = Heading(owner.name, owner.pid, others, *place, self.last / 1e6)
        write_toc(folder / "toc.xml", heading, tuple(COLUMNS))
        return {
            schema: write_table(
                folder / f"{schema}.xml", schema, index, sorted(rows, key=lambda row: row[:1])
            )
            for index, (schema, rows) in enumerate(self.rows.items(), start=1)
        }


class Ids(NamedTuple):
    """What a pass is called: ids of its command buffer and its encoder, frame and label."""

    buffer: int
    encoder: int
    frame: int
    label: str


def thread(owner: Owner, name: str = "Main Thread") -> Parts:
    """Return the cell of a process's thread."""
    tid = 2_000_000 + owner.pid
    words = f"{name} 0x{tid:x} ({owner.name}, pid: {owner.pid})"
    return Parts(words, (("tid", tid), ("process", cell(owner))))


class Program:
    """A program: its host thread at `now`, one queue, and the driver's way to the device.

    `switch` is the device's pause between two command buffers that it has both. Of a program that
    is not `recorded`, a trace holds what the driver and the device do, not what its host does.
    """

    def __init__(
        self, mac: Mac, owner: Owner, *, switch: float = 4.0, recorded: bool = True
    ) -> None:
        self.mac, self.owner = mac, owner
        self.switch, self.recorded = switch, recorded
        self.now = 150 * MS
        self.queue = 0.0
        self._driver = 0.0
        self._commits = 0

    def spend(self, time: float) -> None:
        """Let the host do something else."""
        self.now += time

    def commit(
        self,
        passes: Sequence[Pass],
        *,
        encode: float = 7.0,
        driver: float = 13.0,
        start: float = 60.0,
        frame: int = 0,
        behind: float = 0.0,
        since: float | None = None,
    ) -> Commit:
        """Encode passes into a command buffer, commit it, and let the device run it in turn.

        `encode` is what the host takes for each encoder, `driver` what the driver takes, `start`
        what an idle device takes to begin; `behind` is when the device is through with others;
        `since` is when the host opened the first encoder, where that is not now.
        """
        mac, number = self.mac, self.mac.number()
        created = self.now if since is None else since
        encoders = self._encode(passes, Ids(number, 0, frame, ""), encode, created)
        spent = self.now - created
        self.now += 1.5
        committed = self.now
        self._commits += 1
        count = len(set(encoders))
        self._submitted(created, spent, number, count, frame)
        begun = max(committed + mac.rough(12), self._driver)
        self._driver = begun + mac.rough(driver) + 0.7 * count
        self._drives(begun, number)
        taken = max(self.queue, behind, mac.free[passes[0].channel])
        at = (
            taken + mac.rough(self.switch)
            if taken > self._driver
            else self._driver + mac.rough(start)
        )
        first = at
        for one, ids in zip(passes, encoders, strict=True):
            self.queue = mac.runs(self.owner, one, at, committed, ids)
            at = self.queue + mac.rough(0.6)
        reported = self.queue + mac.rough(30)
        if self.recorded:
            mac.add("metal-command-buffer-completed", reported, number, 0)
        return Commit(number, committed, first, self.queue, reported)

    def wait(self, for_: Commit, wake: float = 12.0) -> None:
        """Let the host wait for a command buffer."""
        if for_.reported > self.now:
            self.now = for_.reported + self.mac.rough(wake)

    def wires(self, at: float, time: float, size: int) -> None:
        """Let the driver wire memory for the program."""
        words = text(f"Wire  {size / MEBIBYTE:.2f} MiB   System Memory  ( Success )")
        self.mac.span(
            *("metal-driver-event-intervals", at, at + time, "Driver Processing", "Wire Memory"),
            *(0, words, 0, -1, 0, cell(self.owner), thread(self.owner), self.mac.device),
            *(_NOBODY, 0),
        )

    def holds_driver(self, until: float) -> None:
        """Keep the driver from the next command buffer until then."""
        self._driver = max(self._driver, until)

    def fails(self, at: float, number: int, error: int) -> None:
        """Report that a command buffer ended with an error."""
        self.mac.add("metal-command-buffer-error", at, number, error)

    def discarded(self, *, encode: float = 7.0, frame: int = 0) -> int:
        """Commit a command buffer that the device never runs; return its number."""
        created, number = self.now, self.mac.number()
        self._encode([Pass("Compute", 0.0)], Ids(number, 0, frame, ""), encode, created)
        spent = self.now - created
        self.now += 1.5
        self._commits += 1
        self._submitted(created, spent, number, 1, frame)
        return number

    def _encode(self, passes: Sequence[Pass], of: Ids, encode: float, start: float) -> list[Ids]:
        """Write an encoder for each pass; vertices and fragments of a render pass have one."""
        made: list[Ids] = []
        place = 0
        before = ""
        for one in passes:
            if one.channel == "Fragment" and before == "Vertex":
                made.append(made[-1])
                continue
            name = f"{_COMMANDS[one.channel]} Command {place}"
            ids = of._replace(encoder=self.mac.number(), label=f"Command Buffer 0:{name}")
            self.now += self.mac.rough(encode)
            if self.recorded:
                self._encoded(start, name, place, ids)
            self.now += 0.2
            start = self.now
            made.append(ids)
            place += 1
            before = one.channel
        return made

    def _encoded(self, start: float, name: str, place: int, ids: Ids) -> None:
        self.mac.span(
            *("metal-application-encoders-list", start, self.now, thread(self.owner)),
            *(cell(self.owner), self.mac.device, ids.frame, "Command Buffer 0"),
            *("[0] Command Buffer 0", name, f"[{place}] {name}", "Encoding"),
            *(ids.buffer, ids.encoder),
        )

    def _submitted(self, start: float, spent: float, number: int, count: int, frame: int) -> None:
        mac, owner, time = self.mac, self.owner, round(self.now * 1e3)
        if not self.recorded:
            return
        mac.span(
            *("metal-application-command-buffer-submissions", start, self.now),
            *("CommandBufferSubmission", mac.device, "Command Buffer", count, round(spent * 1e3)),
            *(cell(owner), thread(owner), None, None, None, frame, 0, number),
        )
        mac.add(
            *("metal-command-buffer-frame-assignment", self.now, number, time, self._commits),
            *(frame, 0, self._commits, 0, 0, "Compute", None, _NOBODY, 0, owner.pid, cell(owner)),
        )

    def _drives(self, begun: float, number: int) -> None:
        self.mac.span(
            *("metal-driver-intervals", begun, self._driver, "Driver Processing"),
            *("Command Buffer", 0, text(" "), 0, -1, 0, cell(self.owner), thread(self.owner)),
            *(self.mac.device, number, text(" ")),
        )


def _room(busy: list[tuple[float, float]], at: float, time: float) -> float:
    """Return when a channel has room for `time`, from `at` on."""
    place = max(0, bisect_left(busy, (at, 0.0)) - 1)
    for start, end in busy[place:]:
        if start >= at + time:
            break
        at = max(at, end)
    return at
