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
from tracekit.analysis.idle.pieces import Cause, Party
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

    def __init__(self, made: Program, tables: dict[str, pd.DataFrame] | None = None) -> None:
        self.made = made
        self.known = given(**(tables or made.tables))
        self.name = f"{made.kind}, {', '.join(sorted(made.beside))}, {made.recorded}"

    @cached_property
    def devices(self) -> list[int]:
        """The numbers of the devices as the program knows them, in the order of the analysis."""
        own = self.made.tables["gpu_intervals"].query("target")
        return [int(name[-1]) for name in own["device"].unique()]

    @cached_property
    def whole(self) -> int:
        return self.known["loop"].length * len(self.devices)

    @cached_property
    def booked(self) -> Counter[Booked]:
        """The time (ns) of all stretches that are booked alike, of all devices."""
        sums = Counter[Booked]()
        for number, device in enumerate(self.devices):
            sums += self._of(number, device)
        return sums

    def share(self, *, right: bool = False, **wanted: Any) -> float:
        """Return the share of the loop that is booked so; wrongly, or whatever is `right`."""
        return (
            sum(
                time
                for one, time in self.booked.items()
                if (right or not self._excused(one))
                and all(getattr(one, name) in values for name, values in wanted.items())
            )
            / self.whole
        )

    def at_most(self, party: str) -> float:
        """Return the share of the loop that a party may have had, by all that can be known."""
        held = (
            time
            for one, time in self.booked.items()
            if party in {one.party, one.both} or (one.said == party and self._excused(one))
        )
        return sum(held) / self.whole

    def _excused(self, one: Booked) -> bool:
        several = len(self.made.machine.states) > 1
        # Nothing tells which thread compiles, nor that one pauses while another one goes on.
        either = several and {one.said, one.both or one.party} <= {HOST, COMPILE, PAUSE}
        return one.is_right or one.is_open or either

    def _of(self, number: int, device: int) -> Counter[Booked]:
        moments = self.made.truth.moments(device)
        gaps = self.known["gaps"]
        gaps = gaps[gaps["device"].astype(int) == number]
        loop, loaded = self.known["loop"], self.known["loaded"]
        true = _Row([(one.start, one.end, (one.party, one.both)) for one in moments])
        columns = zip(*(gaps[name].astype(str) for name in ("party", "waited")), strict=True)
        said = _Row([(*times, words) for times, words in zip(_spans(gaps), columns, strict=True)])
        load = _Row([(*times, (WORKS, "")) for times in _spans(loaded)])
        bounds = np.unique(np.concatenate([true.bounds, said.bounds, load.bounds]))
        bounds = bounds[(bounds >= loop.start) & (bounds <= loop.end)]
        sums = Counter[Booked]()
        rows = zip(true.at(bounds), said.at(bounds), load.at(bounds), strict=True)
        for length, (held, words, works) in zip(np.diff(bounds).tolist(), rows, strict=False):
            sums[Booked(*(held or (HOST, "")), *(words or works or (PAUSE, "")))] += length
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

    def at(self, moments: np.ndarray) -> list[tuple[str, str] | None]:
        """Return what holds at each of the moments."""
        places = np.searchsorted(self.starts, moments, side="right") - 1
        ends = np.append(self.ends, -1)
        held = np.where(moments < ends[places], places, -1)
        words = [*self.words, None]
        return [words[place] for place in held.tolist()]


def _spans(frame: pd.DataFrame) -> list[tuple[int, int]]:
    starts = frame["start"].to_numpy(dtype=np.int64)
    ends = starts + frame["duration"].to_numpy(dtype=np.int64)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@lru_cache(maxsize=len(KINDS) * len(QUICK))
def played(kind: str, seed: int) -> Played:
    return Played(program(kind, seed))


@dataclass(frozen=True)
class Judged:
    """What is wrong with what is said of a program: shares of its loop, and sentences."""

    name: str
    wrong: float
    claimed: float
    denied: float
    sentences: tuple[str, ...]


@cache
def judged(kind: str, seed: int) -> Judged:
    one = played(kind, seed)
    assert sum(one.known["parties"].values()) == one.known["loop"].length, one.name
    assert sum(one.booked.values()) == one.whole, one.name
    claimed = one.share(party=(HOST,), said=(BACK, OTHER), waited=("yes",))
    denied = one.share(party=(BACK,), both=("",), waited=("no",))
    if kind in NEVER_WAIT:
        claimed = max(claimed, one.share(right=True, waited=("yes",)))
    if kind in ALWAYS_WAIT:
        denied = max(denied, one.share(right=True, waited=("no",)))
    return Judged(f"{seed}: {one.name}", one.share(), claimed, denied, tuple(false_words(one)))


def allowed(kind: str, seeds: range) -> int:
    """Return of how many programs a share may be off: chance has a part in what is recorded."""
    return len(seeds) // 3 if kind == SOMETIMES else len(seeds) // 20


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_moment_belongs_to_who_held_the_device_up(kind: str, seeds: range) -> None:
    """Within 1 % of the loop; and all parties together are the loop."""
    found = [judged(kind, seed) for seed in seeds]
    wrong = {one.name: one.wrong for one in found if one.wrong > LIMIT}
    assert len(wrong) <= allowed(kind, seeds), wrong


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_is_neither_claimed_nor_denied_where_the_program_does_otherwise(
    kind: str, seeds: range
) -> None:
    found = [judged(kind, seed) for seed in seeds]
    claimed = {one.name: one.claimed for one in found if one.claimed > LIMIT}
    denied = {one.name: one.denied for one in found if one.denied > LIMIT}
    assert len(claimed) <= allowed(kind, seeds), claimed
    assert len(denied) <= allowed(kind, seeds), denied


def test_little_is_left_open_where_all_was_recorded() -> None:
    """To say that nothing is known would always be right."""
    shares = [
        sum(time for one, time in each.booked.items() if one.is_open) / each.whole
        for kind in KINDS
        for seed in QUICK
        if all(vars((each := played(kind, seed)).made.recorded).values())
    ]
    assert len(shares) >= 10
    assert np.median(shares) <= 0.01
    assert np.mean(shares) <= 0.05


def same(one: Played, other: Played) -> None:
    pd.testing.assert_frame_equal(one.known["gaps"], other.known["gaps"])
    assert one.known["parties"] == other.known["parties"], one.name
    assert one.known["loop"] == other.known["loop"], one.name


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_changes_nothing(kind: str) -> None:
    one = played(kind, 0)
    mixed = {
        name: frame.sample(frac=1, random_state=7, ignore_index=True)
        for name, frame in one.made.tables.items()
    }
    same(one, Played(one.made, mixed))


@pytest.mark.parametrize("kind", KINDS)
def test_what_other_processes_do_on_other_channels_changes_nothing(kind: str) -> None:
    one = played(kind, 1)
    beside = dict(one.made.tables)
    for name, frame in one.made.tables.items():
        if "target" in frame:
            moment = "time" if "time" in frame else "start"
            cells = {"target": False, "process": "WindowServer", "pid": 420, "channel": "Fragment"}
            cells |= {moment: frame[moment] + 7_777}
            if "command_buffer" in frame:
                cells["command_buffer"] = frame["command_buffer"] + 1_000_000_000
            if "tid" in frame:
                cells["tid"] = frame["tid"] + 5_000
            others = frame.assign(**{key: cells[key] for key in cells if key in frame})
            every = pd.concat([frame, others]).sort_values(moment, kind="stable")
            beside[name] = every.astype({"target": bool}).reset_index(drop=True)
    same(one, Played(one.made, beside))


_TIMES = ("start", "time", "duration", "start_latency", "encoder_time", "weight")


@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_of_time_changes_no_share(kind: str) -> None:
    """In a marked phase, where no pause is told by its length."""
    first = played(kind, 2).known["loop"]
    phase = {"start": [first.start], "duration": [first.length], "name": ["steady"]}
    tables = played(kind, 2).made.tables | {"phases": pd.DataFrame(phase)}
    one, other = (
        Played(
            played(kind, 2).made,
            {
                name: frame.assign(**{key: frame[key] * unit for key in _TIMES if key in frame})
                for name, frame in tables.items()
            },
        )
        for unit in (1, 2)
    )
    shares = {party: 2 * time for party, time in one.known["parties"].items()}
    assert other.known["parties"] == pytest.approx(shares, abs=2)


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


def judge(rule: str, one: Played) -> list[Finding]:
    """Return what a rule finds; nothing where it abstains."""
    try:
        return list(inject(RULES[rule].judge, one.known))
    except Unavailable:
        return []


def named_shares(one: Played) -> list[tuple[str, dict[str, float]]]:
    """Return for each finding the shares of the loaded time that it gives to parties."""
    found: list[tuple[str, dict[str, float]]] = []
    for finding in judge("shallow-queue", one):
        facts = numbers_of(finding)
        names = {WORKS: "works", THERE: "way_there", BACK: "way_back", HOST: "host"}
        shares = {party: facts[name] / facts["period"] for party, name in names.items()}
        found.append(("shallow-queue", shares))
    found.extend(
        ("host-bound", {HOST: numbers_of(finding)["lost_share"]})
        for finding in judge("host-bound", one)
    )
    for finding in judge("bubbles", one):
        facts = numbers_of(finding)
        shares = {
            party: sum(facts[f"idle_{cause.replace('-', '_')}"] for cause in causes) / facts["load"]
            for party, causes in OF_CAUSES.items()
        }
        found.append(("bubbles", shares))
    return found


def numbers_of(finding: Finding) -> dict[str, float]:
    """Return the facts of a finding that are numbers."""
    return {
        fact.name: float(fact.value)
        for fact in finding.facts
        if isinstance(fact.value, (int, float))
    }


def false_words(one: Played) -> list[str]:
    """Return the sentences that name a party with under half of the share that they name.

    What is not known may be the time of the party that is named.
    """
    false: list[str] = []
    loaded = 1 - one.share(right=True, said=(PAUSE,))
    for text, shares in named_shares(one):
        for party, share in shares.items():
            named = share * loaded
            true = one.at_most(party)
            if named > _LEAST and true < named / 2:
                false.append(f"{party} {named:.3f} for {true:.3f}: {text}")
    return false


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_sentence_names_a_party_that_has_under_half_of_the_share_it_names(
    kind: str, seeds: range
) -> None:
    found = {one.name: one.sentences for seed in seeds if (one := judged(kind, seed)).sentences}
    assert len(found) <= allowed(kind, seeds), found
