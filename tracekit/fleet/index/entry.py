"""One line of the index: a run in short, and how it stands among the runs of its kind."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracekit.analysis.result import Measurement, Result
from tracekit.base.recording import Provenance
from tracekit.report.panels.verdict import Verdict, verdict_of

MOST_POINTS = 30
# What a run is followed by over time: the first of these that it knows.
_FOLLOWED = ("tokens_per_second", "step_p50", "gpu_busy", "host_busy")


@dataclass(frozen=True)
class Unread:
    """A run's folder as it stands on the disk, before anything is said of it.

    Attributes:
        folder: Its name, as links need it.
        provenance: Where it comes from; None where that cannot be read.
        result: What the analysis says; None where there is none.
        trouble: Why there is no provenance or no result, in words.
        files: The links that lead somewhere: file name to words.
    """

    folder: str
    provenance: Provenance | None
    result: Result | None
    trouble: str
    files: dict[str, str]


@dataclass(frozen=True)
class Entry:
    """A run as the index shows it.

    Attributes:
        run: The run.
        verdict: What to think of it.
        followed: The number that its kind is followed by; None where it knows none.
        series: That number in the runs of its kind, oldest first, this run the last of them.
    """

    run: Unread
    verdict: Verdict
    followed: Measurement | None = None
    series: tuple[float, ...] = ()


def entries_of(runs: Iterable[Unread]) -> list[Entry]:
    """Return the lines of the index, the newest run first.

    Runs are of one kind if recorder, workload or program, parameters, template and chip are the
    same; only these are drawn as one series.
    """
    ordered = sorted(runs, key=_age)
    series: dict[tuple[str, str], list[float]] = {}
    entries: list[Entry] = []
    for run in ordered:
        followed = _followed(run.result)
        known: Sequence[float] = ()
        if followed is not None and followed.value is not None and run.provenance is not None:
            kind = series.setdefault((kind_of(run.provenance), followed.name), [])
            kind.append(float(followed.value))
            known = kind[-MOST_POINTS:]
        entries.append(Entry(run, _verdict(run), followed, tuple(known)))
    return entries[::-1]


def kind_of(provenance: Provenance) -> str:
    """Return what runs must have in common to be compared over time."""
    facts = {
        "recorder": provenance.recorder,
        "workload": provenance.workload,
        "parameters": provenance.parameters,
        "command": provenance.command,
        "templates": provenance.templates,
        "chip": provenance.machine.get("chip") or provenance.machine.get("processor"),
    }
    return json.dumps(facts, sort_keys=True, default=str)


def _age(run: Unread) -> tuple[str, str]:
    return (run.provenance.created if run.provenance else "", run.folder)


def _followed(result: Result | None) -> Measurement | None:
    if result is None:
        return None
    there = {one.name: one for one in result.metrics if one.value is not None}
    return next((there[name] for name in _FOLLOWED if name in there), None)


def _verdict(run: Unread) -> Verdict:
    if run.result is None:
        return Verdict("unclear", run.trouble)
    return verdict_of(run.result)
