"""What the analysis says of idle time, against a simulator that knows who held a device up.

The simulator stands in tests/exam/schedules and knows nothing of the analysis. A moment is booked
wrongly where the table `gaps` names another party than the one that held the device up, but for
what the table says is not known: a way back, or work on another device, before a command buffer for
which `waited` is unknown or none may be the host's time, and `unknown` may be any party.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import given
from schedules.programs import KINDS, Program, program
from schedules.truth import BACK, COMPILE, HOST, OTHER, PAUSE, THERE, WITHIN, WORKS
from tracekit.analysis.idle.cause import Cause, Party
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES

LIMIT = 0.01
"""Of the loop, in which moments may be booked wrongly: a pause or a wait may begin a moment off."""
QUICK = range(3)
SEEDS = [
    pytest.param(QUICK, id="few"),
    pytest.param(range(3, 60), id="many", marks=pytest.mark.campaign),
]
NEVER_WAIT = ("never waits", "computes long", "naps")
ALWAYS_WAIT = ("waits for each", "several waits", "spins", "devices in turns")
SOMETIMES = "computes meanwhile"
"""Waits only when the host is through before the report: nothing tells these commits apart."""


@dataclass(frozen=True)
class Booked:
    """A stretch of a device's time: who held it up, who else as well, and who is said to have."""

    party: str
    both: str
    said: str
    waited: str

    @property
    def is_right(self) -> bool:
        return self.said in {self.party, self.both}

    @property
    def is_open(self) -> bool:
        """Whether the table says that it is not known."""
        unsure = self.waited in {"unknown", "none"} and self.said in {BACK, OTHER}
        return self.said == Party.UNKNOWN or unsure


class Played:
    """A program, and what the analysis makes of its tables."""

    def __init__(self, simulation: Program, tables: dict[str, pd.DataFrame] | None = None) -> None:
        self.made = simulation
        self.known = given(**(tables or simulation.tables))
        self.name = (
            f"{simulation.kind}, {', '.join(sorted(simulation.conditions))}, {simulation.recorded}"
        )

    @cached_property
    def devices(self) -> list[int]:
        """The numbers of the devices as the program knows them, in the order of the analysis."""
        target_rows = self.made.tables["gpu_intervals"].query("target")
        return [int(name[-1]) for name in target_rows["device"].unique()]

    @cached_property
    def total_time(self) -> int:
        return self.known["loop"].length * len(self.devices)

    @cached_property
    def booked_times(self) -> Counter[Booked]:
        """The time (ns) of all stretches that are booked alike, of all devices."""
        sums = Counter[Booked]()
        for number, device in enumerate(self.devices):
            sums += self._book_device(number, device)
        return sums

    def share(self, *, right: bool = False, **conditions: Any) -> float:
        """Return the share of the loop that is booked so; wrongly, or whatever is `right`."""
        return (
            sum(
                time
                for stretch, time in self.booked_times.items()
                if (right or not self._is_excused(stretch))
                and all(getattr(stretch, name) in values for name, values in conditions.items())
            )
            / self.total_time
        )

    def at_most(self, party: str) -> float:
        """Return the share of the loop that a party may have had, by all that can be known."""
        held_times = (
            time
            for stretch, time in self.booked_times.items()
            if party in {stretch.party, stretch.both}
            or (stretch.said == party and self._is_excused(stretch))
        )
        return sum(held_times) / self.total_time

    def _is_excused(self, stretch: Booked) -> bool:
        has_several_threads = len(self.made.machine.states) > 1
        # Nothing tells which thread compiles, nor that one pauses while another one goes on.
        either = has_several_threads and {stretch.said, stretch.both or stretch.party} <= {
            HOST,
            COMPILE,
            PAUSE,
        }
        return stretch.is_right or stretch.is_open or either

    def _book_device(self, number: int, device: int) -> Counter[Booked]:
        moments = self.made.truth.moments(device)
        gaps = self.known["gaps"]
        gaps = gaps[gaps["device"].astype(int) == number]
        loop, loaded = self.known["loop"], self.known["loaded"]
        true = _Row(
            [(moment.start, moment.end, (moment.party, moment.other_party)) for moment in moments]
        )
        columns = zip(*(gaps[name].astype(str) for name in ("party", "waited")), strict=True)
        stated_row = _Row(
            [(*times, words) for times, words in zip(_spans(gaps), columns, strict=True)]
        )
        load = _Row([(*times, (WORKS, "")) for times in _spans(loaded)])
        bounds = np.unique(np.concatenate([true.bounds, stated_row.bounds, load.bounds]))
        bounds = bounds[(bounds >= loop.start) & (bounds <= loop.end)]
        sums = Counter[Booked]()
        rows = zip(
            true.find_words(bounds),
            stated_row.find_words(bounds),
            load.find_words(bounds),
            strict=True,
        )
        for length, (holders, words, works) in zip(np.diff(bounds).tolist(), rows, strict=False):
            sums[Booked(*(holders or (HOST, "")), *(words or works or (PAUSE, "")))] += length
        return sums


class _Row:
    """Stretches in order, each with what holds in it."""

    def __init__(self, rows: list[tuple[int, int, tuple[str, str]]]) -> None:
        self.starts = np.array([row[0] for row in rows], np.int64)
        self.ends = np.array([row[1] for row in rows], np.int64)
        self.words = [row[2] for row in rows]

    @property
    def bounds(self) -> np.ndarray:
        return np.concatenate((self.starts, self.ends))

    def find_words(self, moments: np.ndarray) -> list[tuple[str, str] | None]:
        """Return what holds at each of the moments."""
        places = np.searchsorted(self.starts, moments, side="right") - 1
        ends = np.append(self.ends, -1)
        held_places = np.where(moments < ends[places], places, -1)
        words = [*self.words, None]
        return [words[place] for place in held_places.tolist()]


def _spans(frame: pd.DataFrame) -> list[tuple[int, int]]:
    starts = frame["start"].to_numpy(dtype=np.int64)
    ends = starts + frame["duration"].to_numpy(dtype=np.int64)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@lru_cache(maxsize=len(KINDS) * len(QUICK))
def play_program(kind: str, seed: int) -> Played:
    return Played(program(kind, seed))


@dataclass(frozen=True)
class Judged:
    """What is wrong with what is said of a program: shares of its loop, and sentences."""

    name: str
    wrong: float
    claimed_share: float
    denied: float
    sentences: tuple[str, ...]


@cache
def judge_program(kind: str, seed: int) -> Judged:
    played_program = play_program(kind, seed)
    assert sum(played_program.known["parties"].values()) == played_program.known["loop"].length, (
        played_program.name
    )
    assert sum(played_program.booked_times.values()) == played_program.total_time, (
        played_program.name
    )
    claimed_share = played_program.share(party=(HOST,), said=(BACK, OTHER), waited=("yes",))
    denied = played_program.share(party=(BACK,), both=("",), waited=("no",))
    if kind in NEVER_WAIT:
        claimed_share = max(claimed_share, played_program.share(right=True, waited=("yes",)))
    if kind in ALWAYS_WAIT:
        denied = max(denied, played_program.share(right=True, waited=("no",)))
    return Judged(
        f"{seed}: {played_program.name}",
        played_program.share(),
        claimed_share,
        denied,
        tuple(false_words(played_program)),
    )


def count_allowed(kind: str, seeds: range) -> int:
    """Return of how many programs a share may be off: chance has a part in what is recorded."""
    return len(seeds) // 3 if kind == SOMETIMES else len(seeds) // 20


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_moment_belongs_to_the_party_that_held_the_device_up(kind: str, seeds: range) -> None:
    """Within 1 % of the loop; and all parties together are the loop."""
    verdicts = [judge_program(kind, seed) for seed in seeds]
    wrong = {verdict.name: verdict.wrong for verdict in verdicts if verdict.wrong > LIMIT}
    assert len(wrong) <= count_allowed(kind, seeds), wrong


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_is_unknown_if_the_program_behaves_otherwise(kind: str, seeds: range) -> None:
    verdicts = [judge_program(kind, seed) for seed in seeds]
    claimed_shares = {
        verdict.name: verdict.claimed_share for verdict in verdicts if verdict.claimed_share > LIMIT
    }
    denied = {verdict.name: verdict.denied for verdict in verdicts if verdict.denied > LIMIT}
    assert len(claimed_shares) <= count_allowed(kind, seeds), claimed_shares
    assert len(denied) <= count_allowed(kind, seeds), denied


def test_little_is_left_open_where_all_was_recorded() -> None:
    """To say that nothing is known would always be right."""
    shares = [
        sum(time for stretch, time in played_program.booked_times.items() if stretch.is_open)
        / played_program.total_time
        for kind in KINDS
        for seed in QUICK
        if all(vars((played_program := play_program(kind, seed)).made.recorded).values())
    ]
    assert len(shares) >= 10
    assert np.median(shares) <= 0.01
    assert np.mean(shares) <= 0.05


def assert_same_analysis(played_program: Played, other_program: Played) -> None:
    pd.testing.assert_frame_equal(played_program.known["gaps"], other_program.known["gaps"])
    assert played_program.known["parties"] == other_program.known["parties"], played_program.name
    assert played_program.known["loop"] == other_program.known["loop"], played_program.name


def add_other_process(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Add another process that does what the target does, a little later, on its own channel."""
    joined_tables = dict(tables)
    for name, frame in tables.items():
        if "target" in frame:
            moment = "time" if "time" in frame else "start"
            cells = {"target": False, "process": "WindowServer", "pid": 420, "channel": "Fragment"}
            cells |= {moment: frame[moment] + 7_777}
            if "command_buffer" in frame:
                cells["command_buffer"] = frame["command_buffer"] + 1_000_000_000
            if "tid" in frame:
                cells["tid"] = frame["tid"] + 5_000
            other_rows = frame.assign(**{key: cells[key] for key in cells if key in frame})
            joined_tables[name] = pd.concat([frame, other_rows]).astype({"target": bool})
    return joined_tables


@pytest.mark.parametrize("kind", KINDS)
def test_other_processes_and_the_order_of_rows_change_nothing(kind: str) -> None:
    """One analysis shows both; `test_metamorphoses` shows each by itself, in what is found."""
    played_program = play_program(kind, 1)
    mixed = {
        name: frame.sample(frac=1, random_state=7, ignore_index=True)
        for name, frame in add_other_process(played_program.made.tables).items()
    }
    assert_same_analysis(played_program, Played(played_program.made, mixed))


_TIMES = ("start", "time", "duration", "start_latency", "encoder_time", "weight")
UNITED = ("waits behind", "several waits", "writes ahead", "dependent queues")
"""Kinds whose unit is changed in each run; the others are for campaigns."""


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in UNITED else pytest.mark.campaign, id=kind)
        for kind in KINDS
    ],
)
def test_the_unit_of_time_changes_no_share(kind: str) -> None:
    """In a marked phase, where no pause is told by its length."""
    loop = play_program(kind, 2).known["loop"]
    phase = {"start": [loop.start], "duration": [loop.length], "name": ["steady"]}
    tables = play_program(kind, 2).made.tables | {"phases": pd.DataFrame(phase)}
    unit_program, doubled_program = (
        Played(
            play_program(kind, 2).made,
            {
                name: frame.assign(**{key: frame[key] * unit for key in _TIMES if key in frame})
                for name, frame in tables.items()
            },
        )
        for unit in (1, 2)
    )
    shares = {party: 2 * time for party, time in unit_program.known["parties"].items()}
    assert doubled_program.known["parties"] == pytest.approx(shares, abs=2)


OF_CAUSES = {
    WITHIN: (Cause.BETWEEN_ENCODERS,),
    THERE: (Cause.BETWEEN_BUFFERS, Cause.START, Cause.LATE_START, Cause.POWERING_UP),
    BACK: (Cause.REPORT,),
    OTHER: (Cause.OTHER_DEVICE,),
    COMPILE: (Cause.COMPILE,),
    HOST: (Cause.HOST, Cause.ENCODING),
}
"""The causes that only one party can have."""
_LEAST = 0.02  # of the loop: less is not spoken of


def judge(rule: str, played_program: Played) -> list[Finding]:
    """Return what a rule finds; nothing where it abstains."""
    try:
        return list(inject(RULES[rule].judge, played_program.known))
    except Unavailable:
        return []


def named_shares(played_program: Played) -> list[tuple[str, dict[str, float]]]:
    """Return for each finding the shares of the loaded time that it gives to parties."""
    sentences: list[tuple[str, dict[str, float]]] = []
    for finding in judge("shallow-queue", played_program):
        facts = numbers_of(finding)
        names = {WORKS: "works", THERE: "way_there", BACK: "way_back", HOST: "host"}
        shares = {party: facts[name] / facts["period"] for party, name in names.items()}
        sentences.append(("shallow-queue", shares))
    sentences.extend(
        ("host-bound", {HOST: numbers_of(finding)["lost_share"]})
        for finding in judge("host-bound", played_program)
    )
    for finding in judge("bubbles", played_program):
        facts = numbers_of(finding)
        shares = {
            party: sum(facts[f"idle_{cause.replace('-', '_')}"] for cause in causes) / facts["load"]
            for party, causes in OF_CAUSES.items()
        }
        sentences.append(("bubbles", shares))
    return sentences


def numbers_of(finding: Finding) -> dict[str, float]:
    """Return the facts of a finding that are numbers."""
    return {
        fact.name: float(fact.value)
        for fact in finding.facts
        if isinstance(fact.value, (int, float))
    }


def false_words(played_program: Played) -> list[str]:
    """Return the sentences that name a party with under half of the share that they name.

    What is not known may be the time of the party that is named.
    """
    false: list[str] = []
    loaded = 1 - played_program.share(right=True, said=(PAUSE,))
    for text, shares in named_shares(played_program):
        for party, share in shares.items():
            named_share = share * loaded
            true = played_program.at_most(party)
            if named_share > _LEAST and true < named_share / 2:
                false.append(f"{party} {named_share:.3f} for {true:.3f}: {text}")
    return false


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_sentence_names_a_party_that_has_under_half_of_the_share_it_names(
    kind: str, seeds: range
) -> None:
    false_sentences = {
        verdict.name: verdict.sentences
        for seed in seeds
        if (verdict := judge_program(kind, seed)).sentences
    }
    assert len(false_sentences) <= count_allowed(kind, seeds), false_sentences
