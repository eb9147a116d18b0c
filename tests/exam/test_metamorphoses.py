"""What must change nothing of what is found, on random schedules: order, time, others, one bad row.

The simulator stands in tests/exam/schedules. Findings are compared as data: rule, cause, lever,
facts, and windows.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import given
from schedules.programs import KINDS, Program, program
from tracekit.analysis.idle.pieces import Party
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES

Tables = dict[str, Any]
Change = Callable[[Tables, np.random.Generator], Tables]
QUICK = ("waits for each", "several buffers", "two threads", "devices in turns")
CASES = [
    *(pytest.param(kind, range(1), id=kind) for kind in QUICK),
    *(
        pytest.param(kind, range(1, 12), id=f"{kind}, many", marks=pytest.mark.campaign)
        for kind in KINDS
    ),
]
"""Kinds of programs with their seeds."""
TIMES = ("start", "time", "duration", "start_latency", "encoder_time", "weight")
MOMENTS = ("start", "time")
LATER = 12_345_678_901
"""ns, as if the recording had begun so much earlier."""


@lru_cache(maxsize=4 * len(KINDS))
def played(kind: str, seed: int) -> Program:
    return program(kind, 100 + seed)


def findings_of(tables: Tables) -> list[Finding]:
    """Return what all rules find."""
    known = given(**tables)
    found: list[Finding] = []
    for name, rule in RULES.items():
        try:
            found += [replace(each, rule=name) for each in inject(rule.judge, known)]
        except Unavailable:
            continue
    return found


@lru_cache(maxsize=4 * len(KINDS))
def findings(kind: str, seed: int) -> tuple[Finding, ...]:
    return tuple(findings_of(played(kind, seed).tables))


def told(found: Iterable[Finding], shift: int = 0) -> list[Any]:
    """Return findings as data that can be compared, their windows earlier by a shift."""
    return [
        (
            *(each.rule, each.severity, each.message, each.advice, each.cause, each.lever),
            *(each.saving, each.within, each.facts),
            [(seen.table, seen.start - shift, seen.end - shift) for seen in each.evidence],
        )
        for each in found
    ]


def timed(tables: Tables, columns: Iterable[str], change: Callable[[Any], Any]) -> Tables:
    return {
        name: frame.assign(**{key: change(frame[key]) for key in columns if key in frame})
        for name, frame in tables.items()
    }


def with_a_phase(tables: Tables) -> Tables:
    """Mark the loop that is found as the steady phase."""
    loop = given(**tables)["loop"]
    phase = {"start": [loop.start], "duration": [loop.length], "name": ["steady"]}
    return tables | {"phases": pd.DataFrame(phase)}


def mixed(tables: Tables, random: np.random.Generator) -> Tables:
    """Put the rows of all tables in another order."""
    return {
        name: frame.iloc[random.permutation(len(frame))].reset_index(drop=True)
        for name, frame in tables.items()
    }


def accompanied(tables: Tables, random: np.random.Generator) -> Tables:
    """Add another process that does what the target does, on a channel of its own."""
    beside = dict(tables)
    shift = int(random.integers(1_000, 90_000))
    for name, frame in tables.items():
        if "target" not in frame:
            continue
        moment = "time" if "time" in frame else "start"
        cells = {"target": False, "process": "WindowServer", "pid": 420, "channel": "Fragment"}
        cells |= {moment: frame[moment] + shift}
        for key, step in (("command_buffer", 10**9), ("encoder", 10**9), ("tid", 5_000)):
            cells |= {key: frame[key] + step} if key in frame else {}
        others = frame.assign(**{key: cells[key] for key in cells if key in frame})
        every = pd.concat([frame, others]).sort_values(moment, kind="stable")
        beside[name] = every.astype({"target": bool}).reset_index(drop=True)
    return beside


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_the_order_of_rows_changes_no_finding(kind: str, seeds: range) -> None:
    for seed in seeds:
        random = np.random.default_rng(seed)
        changed = findings_of(mixed(played(kind, seed).tables, random))
        assert told(changed) == told(findings(kind, seed)), seed


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_when_the_recording_began_changes_no_finding(kind: str, seeds: range) -> None:
    for seed in seeds:
        later = timed(played(kind, seed).tables, MOMENTS, lambda column: column + LATER)
        assert told(findings_of(later), LATER) == told(findings(kind, seed)), seed


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_other_processes_on_their_own_channels_change_no_finding(kind: str, seeds: range) -> None:
    """But that they used the device while the target did, which may explain a slow iteration."""
    for seed in seeds:
        random = np.random.default_rng(seed)
        changed = findings_of(accompanied(played(kind, seed).tables, random))
        ours, theirs = (
            told(each for each in found if each.rule not in {"gpu-contended", "step-spikes"})
            for found in (changed, findings(kind, seed))
        )
        assert ours == theirs, seed


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_ten_times_slower_is_as_idle_and_as_possible(kind: str, seeds: range) -> None:
    """In a marked phase; limits in ns, such as that of a late start, are not ten times as long."""
    for seed in seeds:
        tables: Tables = played(kind, seed).tables
        marked = with_a_phase(tables)
        shares = [
            given(**timed(marked, TIMES, lambda column, unit=unit: column * unit))
            for unit in (1, 10)
        ]
        first, second = ({str(k): v for k, v in each["parties"].items()} for each in shares)
        slower = {party: 10 * time for party, time in first.items()}
        slack = 0.01 * shares[1]["loop"].length
        assert second == pytest.approx(slower, abs=slack), seed
        assert [each["impossible"] for each in shares] == [(), ()], seed


def lengthened(tables: Tables, random: np.random.Generator) -> Tables:
    """Let one interval end 150 ms late."""
    return _changed(tables, "gpu_intervals", "duration", random, lambda time: time + 150_000_000)


def turned(tables: Tables, random: np.random.Generator) -> Tables:
    """Let one interval end before it starts."""
    return _changed(tables, "gpu_intervals", "duration", random, lambda time: -time)


def repeated(tables: Tables, random: np.random.Generator) -> Tables:
    """Tell of one interval twice."""
    frame = tables["gpu_intervals"]
    place = random.integers(len(frame))
    again = pd.concat([frame, frame.iloc[[place]]]).sort_values("start", kind="stable")
    return tables | {"gpu_intervals": again.reset_index(drop=True)}


def displaced(tables: Tables, random: np.random.Generator) -> Tables:
    """Let one command buffer be reported long before it was committed."""
    if "completions" not in tables:
        return repeated(tables, random)
    return _changed(tables, "completions", "time", random, lambda time: time // 2)


def _changed(
    tables: Tables,
    name: str,
    column: str,
    random: np.random.Generator,
    change: Callable[[int], int],
) -> Tables:
    frame = tables[name].copy()
    own = np.arange(len(frame)) if "target" not in frame else np.flatnonzero(frame["target"])
    # Not the last: nothing but its report shows that it is over.
    place = random.choice(own[len(own) // 4 : -len(own) // 4])
    frame.loc[place, column] = change(int(frame[column].iloc[place]))
    return tables | {name: frame}


DAMAGE: dict[str, Change] = {
    "150 ms longer": lengthened,
    "ends before it starts": turned,
    "told twice": repeated,
    "reported too early": displaced,
}


@pytest.mark.parametrize(("kind", "seeds"), CASES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_one_row_that_cannot_be_is_named_and_changes_no_share(
    damage: str, kind: str, seeds: range
) -> None:
    """A share may change by what one command buffer stands for, or become unknown.

    A pause behind a report that is left out may have been the host's or the device's.
    """
    for seed in seeds:
        tables = with_a_phase(played(kind, seed).tables)
        random = np.random.default_rng(seed)
        sound, odd = given(**tables), given(**DAMAGE[damage](tables, random))
        assert sum(breach.rows for breach in odd["impossible"]) == 1, seed
        assert sound["impossible"] == (), seed
        slack = max(0.005, 4 / len(sound["timeline"])) * sound["loop"].length
        assert odd["loop"] == sound["loop"], seed
        gained = {party: time - sound["parties"][party] for party, time in odd["parties"].items()}
        unknown = gained.pop(Party.UNKNOWN)
        assert max(gained.values()) <= slack, seed
        assert min(gained.values()) >= -slack - unknown, seed
