"""`command-buffer-errors`: command buffers ended with an error."""

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.channels import BLIT
from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.analysis.machine import Machine
from tracekit.analysis.rule import Fact, Findings, Severity, finding, moments
from tracekit.analysis.scope import UNKNOWN, Targets

_TIMEOUT = 2
_MEMORY = 8
_INTERACTIVITY = 14
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
        raise Unavailable(UNKNOWN, Remedy.TARGET)
    error_codes = command_buffer_errors["error"].fillna(-1)
    errors = command_buffer_errors[error_codes != 0]
    if errors.empty:
        return
    code_column = errors["error"].fillna(-1).astype(int)
    errors = errors.assign(code=code_column)
    errors["discarded"] = errors["code"].isin(_DISCARDED)
    # At the same moment, a discarded buffer is not the cause.
    errors = errors.sort_values(["time", "discarded"], kind="stable")
    buffers = errors["command_buffer"]
    owners = _find_owners(buffers, gpu_intervals, submissions, commits)
    ours = [pd.isna(id_) or not owners.get(int(id_)) for id_ in errors["command_buffer"]]
    mine = errors[ours]
    theirs = errors[~np.array(ours)]
    if mine.empty:
        return
    own_codes = mine["code"]
    code = int(own_codes.iloc[0])
    time = int(mine["time"].iloc[0])
    buffer = mine["command_buffer"].iloc[0]
    names = _EITHER
    if set(mine["code"]) & _OF_THE_DRIVER:
        names = _DRIVER
    course = _follow_buffer(buffer, time, gpu_intervals, submissions, commits)
    copies = _made_copies(buffer, gpu_intervals, encoders)
    later = mine.iloc[1:]
    is_earlier = theirs["time"] <= time
    earlier_errors = theirs[is_earlier & ~theirs["discarded"]]
    known_code = None
    if code >= 0:
        known_code = code
    name = names.get(code, "an unknown error")
    command_buffer = None
    if not pd.isna(buffer):
        command_buffer = int(buffer)
    is_discarded = bool(code in _DISCARDED)
    culprit = ""
    if len(earlier_errors):
        last_buffer = earlier_errors["command_buffer"].iloc[-1]
        culprit = str(owners[last_buffer])
    discarded_count = int(later["discarded"].sum())
    is_real = ~later["discarded"]
    other_codes = later.loc[is_real, "code"]
    other_errors = _count_names(other_codes, names)
    error_count = len(mine)
    facts = (
        Fact("errors", error_count),
        Fact("code", known_code),
        Fact("name", name),
        Fact("time", time, "ns"),
        Fact("command_buffer", command_buffer),
        Fact("copies", copies),
        *course.facts(),
        *_compare_memory(code, time, allocated_sizes, machine),
        Fact("discarded", is_discarded),
        Fact("culprit", culprit),
        Fact("discarded_later", discarded_count),
        Fact("others_later", other_errors),
    )
    lever = _choose_lever(code, course, names, copies=copies)
    error_names = _name_each(own_codes, names)
    evidence = moments("command_buffer_errors", mine["time"], error_names)
    yield finding(
        wording="command-buffer-errors",
        facts=facts,
        lever=lever,
        evidence=evidence,
        severity=Severity.ERROR,
    )


def _find_owners(buffers: pd.Series, *tables: pd.DataFrame | None) -> dict[int, str]:
    """Return the process of each command buffer in the tables; "" denotes the target."""
    owners: dict[int, str] = {}
    for table in tables:
        if table is None or "command_buffer" not in table:
            continue
        buffer_numbers = buffers.dropna()
        is_known = table["command_buffer"].isin(buffer_numbers)
        known_rows = table[is_known]
        names = pd.Series("another process", known_rows.index)
        if "process" in known_rows:
            names = known_rows["process"].astype("string").fillna("another process")
        is_target = known_rows["target"].fillna(value=False)
        of_target = is_target.astype(bool)
        row_buffers = known_rows["command_buffer"].astype(int)
        foreign_names = names.mask(of_target, "")
        pairs = zip(row_buffers, foreign_names, strict=True)
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
        own_time = self.lasted - self.queued
        return self.run_time >= _HALF * own_time

    @property
    def wait_time(self) -> int | None:
        """The time without work of the buffer on the device."""
        if self.lasted is None or self.run_time is None:
            return None
        return self.lasted - self.run_time

    @property
    def blocker(self) -> str:
        """The main use of the device while the buffer waited; "" if unknown."""
        all_times = {"others": self.other_time, "own": self.target_time, "idle": self.idle}
        times = {name: time for name, time in all_times.items() if time is not None}
        if not self.wait_time or not times:
            return ""
        longest_use = max(times, key=lambda name: times[name])
        longest_time = times[longest_use]
        if longest_time >= _HALF * self.wait_time:
            return longest_use
        return ""

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
        lasting_time = None
        if commit is not None:
            lasting_time = time - commit
        return BufferCourse(lasted=lasting_time)
    is_of_buffer = intervals["command_buffer"] == buffer
    of_it = is_of_buffer.fillna(value=False).to_numpy(bool)
    starts, ends = spans(intervals[of_it])
    if commit is None and starts.size:
        latency = 0
        if "start_latency" in intervals:
            latency = intervals[of_it]["start_latency"].iloc[0]
        commit = int(starts.min()) - (0 if pd.isna(latency) else int(latency))
    if commit is None or commit >= time:
        has_work_started = bool(starts.size)
        return BufferCourse(has_started=has_work_started)
    first_start = time
    if starts.size:
        first_start = int(starts.min())
    run_spans = clip(starts, ends, commit, time)
    run_time = busy(*run_spans)

    target_flags = intervals["target"].fillna(value=False)
    of_target = target_flags.to_numpy(bool)

    def measure_use(chosen: NDArray[np.bool_], until: int = time) -> int:
        chosen_intervals = intervals[chosen]
        chosen_spans = spans(chosen_intervals)
        clipped_spans = clip(*chosen_spans, commit, until)
        return busy(*clipped_spans)

    has_started = bool(starts.size)
    other_work = of_target & ~of_it
    queued_time = measure_use(other_work, first_start)
    other_time = measure_use(~of_target)
    target_time = measure_use(other_work)
    everything = np.ones(len(intervals), bool)
    idle = time - commit - measure_use(everything)
    time_since_commit = time - commit
    return BufferCourse(
        has_started=has_started,
        lasted=time_since_commit,
        run_time=run_time,
        queued=queued_time,
        other_time=other_time,
        target_time=target_time,
        idle=idle,
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
                known_values = buffer_rows[column].dropna()
                return int(known_values.iloc[-1])
    if submissions is not None:
        is_same_buffer = submissions["command_buffer"] == buffer
        buffer_rows = submissions[is_same_buffer].dropna(subset=["duration"])
        if len(buffer_rows):
            submission_ends = buffer_rows["start"] + buffer_rows["duration"]
            return int(submission_ends.max())
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
        matches_buffer = table["command_buffer"] == buffer
        of_buffer = matches_buffer.fillna(value=False).to_numpy(bool)
        raw_names = table.loc[of_buffer, column].astype("string")
        names = raw_names.fillna("").str.lower()
        if len(names):
            return bool(names.str.contains(BLIT).all())
    return False


def _choose_lever(code: int, course: BufferCourse, names: dict[int, str], *, copies: bool) -> str:
    """Return the lever of the first error."""
    if copies and code in _STOPPED:
        return "error-in-copies"
    if code == _TIMEOUT and course.is_mostly_busy is not None:
        if course.is_mostly_busy:
            return "error-timeout"
        return "error-timeout-waiting"
    if code not in names:
        return "error-other"
    return _LEVERS.get(code, "error-other")


def _compare_memory(
    code: int, time: int, allocated_sizes: pd.DataFrame | None, machine: Machine
) -> tuple[Fact, ...]:
    """Return the memory of the target when it ran out of memory, and that of the machine."""
    level = machine_memory = None
    if code == _MEMORY and allocated_sizes is not None:
        is_target_level = allocated_sizes["target"].fillna(value=False).astype(bool)
        target_levels = allocated_sizes[is_target_level]
        is_earlier = target_levels["start"] <= time
        sized_levels = target_levels[is_earlier].dropna(subset=["size"])
        if len(sized_levels):
            sizes = sized_levels.sort_values("start", kind="stable")["size"]
            level = int(sizes.iloc[-1])
    if level is not None:
        memory = machine.get("memory")
        if memory:
            machine_memory = int(memory)
    level_share = None
    if level is not None and machine_memory:
        level_share = level / machine_memory
    return (
        Fact("level", level, "bytes"),
        Fact("memory", machine_memory, "bytes"),
        Fact("level_share", level_share, "ratio"),
    )


def _count_names(codes: pd.Series, names: dict[int, str]) -> str:
    listed = [names.get(int(code), "an unknown error") for code in codes]
    error_series = pd.Series(listed, dtype=object)
    counts = error_series.value_counts(sort=True)
    count_texts = [f"{number:,} with {name}" for name, number in counts.items()]
    return ", ".join(count_texts)


def _name_each(codes: pd.Series, names: dict[int, str]) -> list[str]:
    return [_name_code(int(code), names) for code in codes]


def _name_code(code: int, names: dict[int, str]) -> str:
    if code < 0:
        return "an error without a code"
    return f"{names.get(code, 'an unknown error')} (code {code})"
