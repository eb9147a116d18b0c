"""`command-buffer-errors`: command buffers ended with an error."""

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.channels import BLIT
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.machine import Machine
from tracekit.analysis.rule import Fact, Findings, Severity, finding, moments
from tracekit.analysis.scope import UNKNOWN, Targets

_TIMEOUT, _MEMORY, _INTERACTIVITY = 2, 8, 14
_STOPPED = {1, _TIMEOUT, 3, _INTERACTIVITY}  # codes of overlong work, in both interpretations
_DISCARDED = {4, 5}  # buffers that did not run because of an error of another one
_MEMORYLESS = {10, 13}  # codes of passes too large for attachments that no memory backs
_OF_THE_DRIVER = {5, 6, 13, 14}  # codes that only the driver has, not Metal
_METAL = {
    1: "an internal error",
    2: "a timeout",
    3: "a page fault",
    4: "access revoked",
    7: "access not permitted",
    8: "too little memory",
    9: "an invalid resource",
    10: "memoryless storage too small",
    11: "the device removed",
    12: "a stack overflow",
}
"""Names of MTLCommandBufferError."""
_DRIVER = {
    2: "a timeout",
    3: "a hang",
    4: "ignored for earlier errors",
    5: "discarded as the victim of another error",
    6: "work in the background not permitted",
    8: "too little memory",
    11: "a page fault",
    13: "too much geometry for attachments without memory",
    14: "stopped for the display",
}
"""Names of the driver's errors (kIOGPUCommandBufferCallbackError…), as programs print them."""
_EITHER = _METAL | {
    3: "a page fault or a hang",
    4: "ignored for earlier errors",
    11: "a page fault or the device removed",
}
"""Which of the two a trace has is not known; here are two names where they differ."""
_HALF = 0.5  # share of its time for which a buffer worked or waited
_LEVERS = {
    **dict.fromkeys((3, 9, 11, 12), "error-page-fault"),
    **dict.fromkeys(_DISCARDED, "error-cascade"),
    **dict.fromkeys(_MEMORYLESS, "error-memoryless"),
    _MEMORY: "error-out-of-memory",
    _INTERACTIVITY: "error-timeout",
}
"""The lever of each code; of timeouts it depends on how the buffer went."""


def command_buffer_errors(
    command_buffer_errors: pd.DataFrame,
    targets: Targets,
    gpu_intervals: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    allocated_sizes: pd.DataFrame | None,
    machine: Machine,
) -> Findings:
    """Command buffers ended with an error.

    What it looks for:
        Error rows of command buffers that the target committed or that ran for it, except those of
        code 0, which means no error. The table names no process: an error of a command buffer with
        an unknown owner counts too. The rule takes the first error in time as the cause, and
        buffers that the system then discarded as its consequences. The device's time for the buffer
        distinguishes two kinds of timeout: the buffer worked, or it waited for more than half of
        the time since its commit. A buffer that worked on the blit channel, or only encoded copies,
        is named as one of copies. Codes are read as those of MTLCommandBufferError or of the
        driver; no recording with rows is known that would show which of the two applies.

    Why it matters:
        The results of such a command buffer are missing, and measurements of it mean nothing.

    What to do:
        Look at the first error. If it is a timeout of a buffer that waited, make the awaited work
        finish earlier. If the buffer worked, put less work into a command buffer. If it ran out of
        memory, use less memory at once.

    When it abstains:
        When errors of command buffers (metal-command-buffer-error) were not recorded, and when the
        target is not known.
    """
    if not targets:
        raise Unavailable(UNKNOWN)
    errors = command_buffer_errors[command_buffer_errors["error"].fillna(-1) != 0]
    if errors.empty:
        return
    errors = errors.assign(code=errors["error"].fillna(-1).astype(int))
    errors["discarded"] = errors["code"].isin(_DISCARDED)
    # At the same moment, a discarded buffer is not the cause.
    errors = errors.sort_values(["time", "discarded"], kind="stable")
    owners = _find_owners(errors["command_buffer"], gpu_intervals, submissions, commits)
    ours = [pd.isna(id_) or not owners.get(int(id_)) for id_ in errors["command_buffer"]]
    mine, theirs = errors[ours], errors[~np.array(ours)]
    if mine.empty:
        return
    code, time = int(mine["code"].iloc[0]), int(mine["time"].iloc[0])
    buffer = mine["command_buffer"].iloc[0]
    names = _DRIVER if set(mine["code"]) & _OF_THE_DRIVER else _EITHER
    course = _follow_buffer(buffer, time, gpu_intervals, submissions, commits)
    copies = _made_copies(buffer, gpu_intervals, encoders)
    later = mine.iloc[1:]
    earlier_errors = theirs[(theirs["time"] <= time) & ~theirs["discarded"]]
    yield finding(
        wording="command-buffer-errors",
        facts=(
            Fact("errors", len(mine)),
            Fact("code", None if code < 0 else code),
            Fact("name", names.get(code, "an unknown error")),
            Fact("time", time, "ns"),
            Fact("command_buffer", None if pd.isna(buffer) else int(buffer)),
            Fact("copies", copies),
            *course.facts(),
            *_compare_memory(code, time, allocated_sizes, machine),
            Fact("discarded", bool(code in _DISCARDED)),
            Fact(
                "culprit",
                str(owners[earlier_errors["command_buffer"].iloc[-1]])
                if len(earlier_errors)
                else "",
            ),
            Fact("discarded_later", int(later["discarded"].sum())),
            Fact("others_later", _count_names(later.loc[~later["discarded"], "code"], names)),
        ),
        lever=_choose_lever(code, course, names, copies=copies),
        evidence=moments("command_buffer_errors", mine["time"], _name_each(mine["code"], names)),
        severity=Severity.ERROR,
    )


def _find_owners(buffers: pd.Series, *tables: pd.DataFrame | None) -> dict[int, str]:
    """Return the process of each command buffer in the tables; "" denotes the target."""
    owners: dict[int, str] = {}
    for table in tables:
        if table is None or "command_buffer" not in table:
            continue
        known_rows = table[table["command_buffer"].isin(buffers.dropna())]
        names = pd.Series("another process", known_rows.index)
        if "process" in known_rows:
            names = known_rows["process"].astype("string").fillna("another process")
        of_target = known_rows["target"].fillna(value=False).astype(bool)
        pairs = zip(
            known_rows["command_buffer"].astype(int), names.mask(of_target, ""), strict=True
        )
        owners |= {buffer: name for buffer, name in pairs if owners.get(buffer) != ""}
    return owners


@dataclass(frozen=True)
class BufferCourse:
    """The course of a command buffer from its commit or start to its error; ns, None if unknown.

    `has_started` tells whether it had work on the device, `run_time` the duration of that work, and
    `queued` the time for which other work of the target, ahead of it in the queue, ran before its
    start. Over its whole time other processes used the device for `other_time`, other work of the
    target for `target_time`, and it was idle for `idle`.
    """

    has_started: bool | None = None
    lasted: int | None = None
    run_time: int | None = None
    queued: int = 0
    other_time: int | None = None
    target_time: int | None = None
    idle: int | None = None

    @property
    def is_mostly_busy(self) -> bool | None:
        """Whether it worked for half of its time or more, apart from its wait behind own work."""
        if not self.has_started:
            return self.has_started
        if self.run_time is None or self.lasted is None:
            return None
        return self.run_time >= _HALF * (self.lasted - self.queued)

    @property
    def wait_time(self) -> int | None:
        """The time without work of the buffer on the device."""
        return None if self.lasted is None or self.run_time is None else self.lasted - self.run_time

    @property
    def blocker(self) -> str:
        """The main use of the device while the buffer waited; "" if unknown."""
        all_times = {"others": self.other_time, "own": self.target_time, "idle": self.idle}
        times = {name: time for name, time in all_times.items() if time is not None}
        if not self.wait_time or not times:
            return ""
        longest_use = max(times, key=lambda name: times[name])
        return longest_use if times[longest_use] >= _HALF * self.wait_time else ""

    def facts(self) -> tuple[Fact, ...]:
        """Return the complete course as facts."""
        return (
            Fact("began", self.has_started),
            Fact("worked", self.is_mostly_busy),
            Fact("lasted", self.lasted, "ns"),
            Fact("waited", self.wait_time, "ns"),
            Fact("ran", self.run_time, "ns"),
            Fact("blocker", self.blocker),
            Fact("others_ran", self.other_time, "ns"),
            Fact("own_ran", self.target_time, "ns"),
            Fact("device_idle", self.idle, "ns"),
        )


def _follow_buffer(
    buffer: object,
    time: int,
    intervals: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    commits: pd.DataFrame | None,
) -> BufferCourse:
    if pd.isna(buffer):  # pyright: ignore[reportArgumentType, reportCallIssue]
        return BufferCourse()
    commit = _find_commit(buffer, submissions, commits)
    if not _distinguishes(intervals):
        return BufferCourse(lasted=None if commit is None else time - commit)
    of_it = (intervals["command_buffer"] == buffer).fillna(value=False).to_numpy(bool)
    starts, ends = spans(intervals[of_it])
    if commit is None and starts.size:
        latency = intervals[of_it]["start_latency"].iloc[0] if "start_latency" in intervals else 0
        commit = int(starts.min()) - (0 if pd.isna(latency) else int(latency))
    if commit is None or commit >= time:
        return BufferCourse(has_started=bool(starts.size))
    first_start = int(starts.min()) if starts.size else time
    run_time = busy(*clip(starts, ends, commit, time))

    of_target = intervals["target"].fillna(value=False).to_numpy(bool)

    def measure_use(chosen: NDArray[np.bool_], until: int = time) -> int:
        return busy(*clip(*spans(intervals[chosen]), commit, until))

    return BufferCourse(
        has_started=bool(starts.size),
        lasted=time - commit,
        run_time=run_time,
        queued=measure_use(of_target & ~of_it, first_start),
        other_time=measure_use(~of_target),
        target_time=measure_use(of_target & ~of_it),
        idle=time - commit - measure_use(np.ones(len(intervals), bool)),
    )


def _distinguishes(intervals: pd.DataFrame | None) -> TypeGuard[pd.DataFrame]:
    """Return whether device work is known by command buffer; some traces number all alike."""
    if intervals is None:
        return False
    ids = intervals["command_buffer"].dropna()
    return len(ids) == 1 or bool((ids != ids.iloc[:1].max()).any())


def _find_commit(
    buffer: object, submissions: pd.DataFrame | None, commits: pd.DataFrame | None
) -> int | None:
    """Return the commit time of the buffer, by its row, else by the end of its submission."""
    if commits is not None:
        buffer_rows = commits[commits["command_buffer"] == buffer]
        for column in ("committed", "time"):
            if column in buffer_rows and buffer_rows[column].notna().any():
                return int(buffer_rows[column].dropna().iloc[-1])
    if submissions is not None:
        buffer_rows = submissions[submissions["command_buffer"] == buffer].dropna(
            subset=["duration"]
        )
        if len(buffer_rows):
            return int((buffer_rows["start"] + buffer_rows["duration"]).max())
    return None


def _made_copies(
    buffer: object, intervals: pd.DataFrame | None, encoders: pd.DataFrame | None
) -> bool:
    """Return whether a command buffer only made copies: by its channels, else by its encoders."""
    if pd.isna(buffer):  # pyright: ignore[reportArgumentType, reportCallIssue]
        return False
    for table, column in ((intervals, "channel"), (encoders, "label")):
        if table is None or column not in table:
            continue
        of_buffer = (table["command_buffer"] == buffer).fillna(value=False).to_numpy(bool)
        names = table.loc[of_buffer, column].astype("string").fillna("").str.lower()
        if len(names):
            return bool(names.str.contains(BLIT).all())
    return False


def _choose_lever(code: int, course: BufferCourse, names: dict[int, str], *, copies: bool) -> str:
    """Return the lever of the first error."""
    if copies and code in _STOPPED:
        return "error-in-copies"
    if code == _TIMEOUT and course.is_mostly_busy is not None:
        return "error-timeout" if course.is_mostly_busy else "error-timeout-waiting"
    return _LEVERS.get(code, "error-other") if code in names else "error-other"


def _compare_memory(
    code: int, time: int, allocated_sizes: pd.DataFrame | None, machine: Machine
) -> tuple[Fact, ...]:
    """Return the memory of the target when it ran out of memory, and that of the machine."""
    level = machine_memory = None
    if code == _MEMORY and allocated_sizes is not None:
        target_levels = allocated_sizes[allocated_sizes["target"].fillna(value=False).astype(bool)]
        target_levels = (
            target_levels[target_levels["start"] <= time]
            .dropna(subset=["size"])
            .sort_values("start", kind="stable")
        )
        level = int(target_levels["size"].iloc[-1]) if len(target_levels) else None
    if level is not None:
        memory = machine.get("memory")
        machine_memory = int(memory) if memory else None
    return (
        Fact("level", level, "bytes"),
        Fact("memory", machine_memory, "bytes"),
        Fact(
            "level_share",
            level / machine_memory if level is not None and machine_memory else None,
            "ratio",
        ),
    )


def _count_names(codes: pd.Series, names: dict[int, str]) -> str:
    listed = [names.get(int(code), "an unknown error") for code in codes]
    counts = pd.Series(listed, dtype=object).value_counts(sort=True)
    return ", ".join(f"{number:,} with {name}" for name, number in counts.items())


def _name_each(codes: pd.Series, names: dict[int, str]) -> list[str]:
    return [_name_code(int(code), names) for code in codes]


def _name_code(code: int, names: dict[int, str]) -> str:
    if code < 0:
        return "an error without a code"
    return f"{names.get(code, 'an unknown error')} (code {code})"
