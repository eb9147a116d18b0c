"""The process that a recording is about: a user's, the TOC's, or the only plausible one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from tracekit.analysis import intervals, scope
from tracekit.base import Process, Provenance, Recording, UsageError, units
from tracekit.tables import Choice, Tables

_GPU_WORK = "gpu_intervals"
_OF_PROCESSES = (
    *(_GPU_WORK, "encoders", "submissions", "driver_intervals"),
    *("cpu_profile", "cycle_profile"),
)
_COMPOSITORS = frozenset({"WindowServer"})
_PLAUSIBLE = 0.05  # of the GPU time of the busiest process, below which one is not the subject
_MOST = 5

FROM_TOC = "the recording names it as its target."
CHOSEN = "it was chosen with --target."


@dataclass(frozen=True)
class TargetCandidate:
    """A process that a recording may be about, and its GPU time in ns: the union of its work."""

    process: Process
    gpu_time: int

    def __str__(self) -> str:
        """Return it in words, such as "python3 (4711), 1.2 s of GPU time"."""
        name = scope.name_targets((self.process,))
        if not self.gpu_time:
            return f"{name}, no GPU time"
        return f"{name}, {units.duration(self.gpu_time)} of GPU time"


def find_candidates(recording: Recording, run: int | None = None) -> tuple[TargetCandidate, ...]:
    """Return the processes that the tables of a run name, those with the most GPU time first."""
    tables = Tables(recording.exports, frozenset(), recording.tables, Choice(run))
    names_by_pid: dict[int, str] = {}
    times_by_pid: dict[int, int] = {}
    for name in _OF_PROCESSES:
        for table in _iter_tables(tables, name):
            rows = table[["pid", "process"]].dropna().drop_duplicates()
            pids = rows["pid"].astype(int)
            names = rows["process"].astype(str)
            names_by_pid.update(zip(pids, names, strict=True))
            if name == _GPU_WORK:
                times_by_pid |= _measure_gpu_times(table)
    candidates: list[TargetCandidate] = []
    for pid, name in sorted(names_by_pid.items()):
        candidate = TargetCandidate(Process(pid, name), times_by_pid.get(pid, 0))
        candidates.append(candidate)
    return tuple(sorted(candidates, key=lambda candidate: -candidate.gpu_time))


def _measure_gpu_times(gpu_intervals: pd.DataFrame) -> dict[int, int]:
    """Return the time for which the GPU worked for each process, in ns, by pid."""
    rows = gpu_intervals.dropna(subset=["pid"])
    times: dict[int, int] = {}
    for pid, work in rows.groupby(rows["pid"].astype(int)):
        times[int(str(pid))] = intervals.busy(*intervals.spans(work))
    return times


def _iter_tables(tables: Tables, name: str) -> Iterator[pd.DataFrame]:
    """Yield a table, or each candidate if the choice is not clear."""
    places = [table.place for table in tables.list_choices(name)]
    if name in tables and not places:
        yield tables[name]
    for place in places:
        yield tables.chosen(name, table=place.index, run=place.run)


def with_target(provenance: Provenance, recording: Recording, target: str | None) -> Provenance:
    """Choose the process whose rows count: the user's, the TOC's, or the only plausible one.

    A process is plausible if it is not the compositor and the GPU worked for it at least a
    twentieth as long as for the busiest one; without any GPU time, if it is the only process. The
    provenance notes the reason for the choice, or lists the candidates if there is none.
    """
    if target is None and provenance.targets:
        return replace(provenance, target_reason=FROM_TOC)
    candidates = find_candidates(recording, provenance.run)
    if target is not None:
        chosen = _find_named(target, candidates)
        return replace(provenance, targets=(chosen,), target_reason=CHOSEN)
    plausible_candidates = _find_plausible(candidates)
    if len(plausible_candidates) != 1:
        return replace(provenance, target_reason=explain_unknown(candidates))
    process = plausible_candidates[0].process
    reason = _explain_choice(plausible_candidates[0], candidates)
    warning = f"{scope.name_targets((process,))} is taken for the target: {reason}"
    warnings = (*provenance.warnings, warning)
    return replace(provenance, targets=(process,), target_reason=reason, warnings=warnings)


def _find_plausible(candidates: Sequence[TargetCandidate]) -> list[TargetCandidate]:
    if len(candidates) == 1:
        return list(candidates)
    programs = [candidate for candidate in candidates if candidate.process.name not in _COMPOSITORS]
    most_time = max((candidate.gpu_time for candidate in programs), default=0)
    if not most_time:
        return programs if len(programs) == 1 else []
    return [candidate for candidate in programs if candidate.gpu_time >= _PLAUSIBLE * most_time]


def _explain_choice(choice: TargetCandidate, candidates: Sequence[TargetCandidate]) -> str:
    other_candidates = [candidate for candidate in candidates if candidate != choice]
    if not other_candidates:
        return "no other has rows."
    if not choice.gpu_time:
        return f"no process but the compositor has rows besides it: {_list(other_candidates)}."
    return (
        f"it has {units.duration(choice.gpu_time)} of GPU time, and no other program comes near: "
        f"{_list(other_candidates)}."
    )


def explain_unknown(candidates: Sequence[TargetCandidate]) -> str:
    """Return the reason why the target is not known, and the candidates."""
    if not candidates:
        return scope.UNKNOWN
    return f"{scope.UNKNOWN} Candidates: {_list(candidates)}."


def _list(candidates: Sequence[TargetCandidate]) -> str:
    words = [str(candidate) for candidate in candidates[:_MOST]]
    hidden_count = len(candidates) - len(words)
    if hidden_count:
        words.append(f"{hidden_count} more")
    return "; ".join(words)


def _find_named(target: str, candidates: Sequence[TargetCandidate]) -> Process:
    processes = [candidate.process for candidate in candidates]
    matches = [process for process in processes if str(process.pid) == target]
    if not matches:
        matches = [process for process in processes if process.name == target]
    if len(matches) != 1:
        raise UsageError(
            f"--target {target} names {len(matches) or 'none'} of the processes in the tables.",
            hint=f"There are: {_list(candidates) or 'no process at all'}.",
        )
    return matches[0]
