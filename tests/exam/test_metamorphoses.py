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
from tracekit.analysis.idle.cause import Party
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
def play_program(kind: str, seed: int) -> Program:
    return program(kind, 100 + seed)


def findings_of(tables: Tables) -> list[Finding]:
    """Return what all rules find."""
    given_tables = given(**tables)
    all_findings: list[Finding] = []
    for name, rule in RULES.items():
        try:
            all_findings += [
                replace(finding, rule=name) for finding in inject(rule.judge, given_tables)
            ]
        except Unavailable:
            continue
    return all_findings


@lru_cache(maxsize=4 * len(KINDS))
def findings(kind: str, seed: int) -> tuple[Finding, ...]:
    return tuple(findings_of(play_program(kind, seed).tables))


def describe_findings(rule_findings: Iterable[Finding], shift: int = 0) -> list[Any]:
    """Return findings as data that can be compared, their windows earlier by a shift."""
    return [
        (
            *(
                finding.rule,
                finding.severity,
                finding.message,
                finding.advice,
                finding.cause,
                finding.lever,
            ),
            *(finding.saving, finding.within, finding.facts),
            [
                (window.table, window.start - shift, window.end - shift)
                for window in finding.evidence
            ],
        )
        for finding in rule_findings
    ]


def change_times(tables: Tables, columns: Iterable[str], change: Callable[[Any], Any]) -> Tables:
    return {
        name: frame.assign(**{key: change(frame[key]) for key in columns if key in frame})
        for name, frame in tables.items()
    }


def with_a_phase(tables: Tables) -> Tables:
    """Mark the loop that is found as the steady phase."""
    loop = given(**tables)["loop"]
    phase = {"start": [loop.start], "duration": [loop.length], "name": ["steady"]}
    return tables | {"phases": pd.DataFrame(phase)}


def shuffle_rows(tables: Tables, random: np.random.Generator) -> Tables:
    """Put the rows of all tables in another order."""
    return {
        name: frame.iloc[random.permutation(len(frame))].reset_index(drop=True)
        for name, frame in tables.items()
    }


def add_other_process(tables: Tables, random: np.random.Generator) -> Tables:
    """Add another process that does what the target does, on a channel of its own."""
    joined_tables = dict(tables)
    shift = int(random.integers(1_000, 90_000))
    for name, frame in tables.items():
        if "target" not in frame:
            continue
        moment = "time" if "time" in frame else "start"
        cells = {"target": False, "process": "WindowServer", "pid": 420, "channel": "Fragment"}
        cells |= {moment: frame[moment] + shift}
        for key, step in (("command_buffer", 10**9), ("encoder", 10**9), ("tid", 5_000)):
            cells |= {key: frame[key] + step} if key in frame else {}
        other_rows = frame.assign(**{key: cells[key] for key in cells if key in frame})
        all_rows = pd.concat([frame, other_rows]).sort_values(moment, kind="stable")
        joined_tables[name] = all_rows.astype({"target": bool}).reset_index(drop=True)
    return joined_tables


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_the_order_of_rows_changes_no_finding(kind: str, seeds: range) -> None:
    for seed in seeds:
        random = np.random.default_rng(seed)
        changed = findings_of(shuffle_rows(play_program(kind, seed).tables, random))
        assert describe_findings(changed) == describe_findings(findings(kind, seed)), seed


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_when_the_recording_began_changes_no_finding(kind: str, seeds: range) -> None:
    for seed in seeds:
        later = change_times(
            play_program(kind, seed).tables, MOMENTS, lambda column: column + LATER
        )
        assert describe_findings(findings_of(later), LATER) == describe_findings(
            findings(kind, seed)
        ), seed


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_other_processes_on_their_own_channels_change_no_finding(kind: str, seeds: range) -> None:
    """But that they used the device while the target did, which may explain a slow iteration."""
    for seed in seeds:
        random = np.random.default_rng(seed)
        changed = findings_of(add_other_process(play_program(kind, seed).tables, random))
        ours, theirs = (
            describe_findings(
                finding
                for finding in case_findings
                if finding.rule not in {"gpu-contended", "step-spikes"}
            )
            for case_findings in (changed, findings(kind, seed))
        )
        assert ours == theirs, seed


@pytest.mark.parametrize(("kind", "seeds"), CASES)
def test_ten_times_slower_is_as_idle_and_as_possible(kind: str, seeds: range) -> None:
    """In a marked phase; limits in ns, such as that of a late start, are not ten times as long."""
    for seed in seeds:
        tables: Tables = play_program(kind, seed).tables
        marked = with_a_phase(tables)
        shares = [
            given(**change_times(marked, TIMES, lambda column, unit=unit: column * unit))
            for unit in (1, 10)
        ]
        first_shares, second = (
            {str(k): v for k, v in given_tables["parties"].items()} for given_tables in shares
        )
        slower = {party: 10 * time for party, time in first_shares.items()}
        slack = 0.01 * shares[1]["loop"].length
        assert second == pytest.approx(slower, abs=slack), seed
        assert [given_tables["impossible"] for given_tables in shares] == [(), ()], seed


def lengthen_interval(tables: Tables, random: np.random.Generator) -> Tables:
    """Let one interval end 150 ms late."""
    return _change_cell(
        tables, "gpu_intervals", "duration", random, lambda time: time + 150_000_000
    )


def reverse_interval(tables: Tables, random: np.random.Generator) -> Tables:
    """Let one interval end before it starts."""
    return _change_cell(tables, "gpu_intervals", "duration", random, lambda time: -time)


def repeat_interval(tables: Tables, random: np.random.Generator) -> Tables:
    """Tell of one interval twice."""
    frame = tables["gpu_intervals"]
    place = random.integers(len(frame))
    again = pd.concat([frame, frame.iloc[[place]]]).sort_values("start", kind="stable")
    return tables | {"gpu_intervals": again.reset_index(drop=True)}


def displace_report(tables: Tables, random: np.random.Generator) -> Tables:
    """Let one command buffer be reported long before it was committed."""
    if "completions" not in tables:
        return repeat_interval(tables, random)
    return _change_cell(tables, "completions", "time", random, lambda time: time // 2)


def _change_cell(
    tables: Tables,
    name: str,
    column: str,
    random: np.random.Generator,
    change: Callable[[int], int],
) -> Tables:
    frame = tables[name].copy()
    target_rows = (
        np.arange(len(frame)) if "target" not in frame else np.flatnonzero(frame["target"])
    )
    # Not the last: nothing but its report shows that it is over.
    place = random.choice(target_rows[len(target_rows) // 4 : -len(target_rows) // 4])
    frame.loc[place, column] = change(int(frame[column].iloc[place]))
    return tables | {name: frame}


DAMAGE: dict[str, Change] = {
    "150 ms longer": lengthen_interval,
    "ends before it starts": reverse_interval,
    "told twice": repeat_interval,
    "reported too early": displace_report,
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
        tables = with_a_phase(play_program(kind, seed).tables)
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
