"""Whole nights, for each kind of reference: what is found, in which night, in which commits."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from played_nights import Played
from tracekit.base import short_commit
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.history.night import KINDS, Night, Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan

pytestmark = pytest.mark.processes
Run = Callable[..., Any]
KIND = {
    "fixed": 'revision = "FIRST"',
    "branch point": 'merge-base = "main"',
    "moving": 'revision = "HEAD~1"',
    "previous night": "previous-night = true",
}
EVERY = pytest.mark.parametrize("kind", [*KIND])
OK, REGRESSION, INCONCLUSIVE = Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE


def begun(played: Played, kind: str) -> Played:
    """Begin where nights have something to compare: with a commit behind the first one."""
    played.begin(KIND[kind])
    if kind == "branch point":
        played.git("checkout", "--quiet", "-b", "work")
    if kind == "previous night":
        played.night()
    return played


def outcomes(nights: Sequence[Night]) -> list[Outcome | None]:
    return [night.outcome for night in nights]


def worse(night: Night) -> str:
    """Return why a night is a regression."""
    assert night.outcome is REGRESSION
    return night.reason


def named(reason: str) -> set[str]:
    """Return the ranges of commits that a reason names."""
    return set(re.findall(r" in (\w+\.\.\w+)", reason))


def between(played: Played, first: int, last: int = -1) -> str:
    return f"{short_commit(played.commits[first])}..{short_commit(played.commits[last])}"


@EVERY
def test_equal_nights_are_ok_however_slow_the_machine_is(played: Played, kind: str) -> None:
    begun(played, kind)
    nights: list[Night] = []
    for at in range(7):
        played.pace = 1.3 if at in {2, 3} else 1.0
        nights.append(played.night(1.0))
    assert set(outcomes(nights)) == {OK}
    (own, *_) = nights[-1].entries
    assert own.reference_kind == ("moving" if kind == "previous night" else kind)
    assert KINDS[own.reference_kind] in played.page
    (suite, *_) = of_night(nights[-1]).suites
    assert suite.labels["reference kind"] == KINDS[own.reference_kind]
    anchored = [len(night.entries) == 2 for night in nights]
    assert anchored == [moves(kind) and at == 6 - (kind != "moving") for at in range(7)]


def moves(kind: str) -> bool:
    return kind in {"moving", "previous night"}


@EVERY
def test_a_loss_in_small_parts_is_found_within_three_nights(played: Played, kind: str) -> None:
    begun(played, kind)
    cost, nights = 1.0, []
    for _ in range(5):
        cost *= 1.025
        nights.append(played.night(cost))
    ended = outcomes(nights)
    first = ended.index(REGRESSION)
    assert first in {1, 2}
    assert set(ended[first:]) == {REGRESSION}, "until it is accepted"
    reason = worse(nights[-1])
    assert between(played, 0) in named(reason) or between(played, 1) in named(reason)
    assert "git bisect start" in reason
    if moves(kind):
        assert f"since {nights[0].started[:10]}" in reason or "-anchor" in reason


@EVERY
def test_a_step_is_found_the_same_night_and_named(played: Played, kind: str) -> None:
    begun(played, kind)
    nights = [played.night(1.0) for _ in range(3)]
    nights.append(played.night(1.05))
    assert outcomes(nights) == [OK] * 3 + [REGRESSION]
    reason = worse(nights[-1])
    assert named(reason) == {between(played, -2)}
    assert "It came tonight" in reason
    later = played.night(1.05)
    assert between(played, -3) in named(worse(later))


@EVERY
def test_what_was_lost_and_won_again_is_ok(played: Played, kind: str) -> None:
    begun(played, kind)
    ended = outcomes([played.night(cost) for cost in (1.0, 1.0, 1.05, 1.0, 1.0)])
    assert ended == [OK, OK, REGRESSION, OK, OK]


def test_what_was_won_and_is_lost_again_is_found_against_a_commit_that_stays(
    played: Played,
) -> None:
    begun(played, "fixed")
    nights = [played.night(cost) for cost in [1.0] * 3 + [0.92] * 4 + [0.98] * 2]
    assert set(outcomes(nights[:-1])) == {OK}, "it is better than its reference"
    reason = worse(nights[-1])
    assert "Over the last 2 nights" in reason
    assert between(played, -3) in named(reason)


@EVERY
def test_a_session_that_was_rejected_decides_nothing(played: Played, kind: str) -> None:
    begun(played, kind)
    played.night(1.0)
    played.rejected = 1
    lost = played.night(1.05)
    assert lost.outcome is INCONCLUSIVE
    assert "No pair counts" in lost.reason
    if moves(kind):
        return
    played.rejected = 2
    half = played.night(1.05)
    assert half.outcome is INCONCLUSIVE
    assert "only 0 pairs of the second session count" in half.reason
    (judged,) = [each for each in half.entries[0].judged if each.gated]
    assert judged.pairs == 10
    played.rejected = 0
    assert played.night(1.2).outcome is REGRESSION


@EVERY
def test_a_night_that_is_stopped_hides_no_step(played: Played, kind: str) -> None:
    begun(played, kind)
    nights = [played.night(1.0) for _ in range(3)]
    played.stopped = 2
    partial = played.night(1.05)
    assert partial.partial
    assert partial.outcome is INCONCLUSIVE
    assert "time was spent" in partial.reason
    played.stopped = None
    found = played.night(1.05)
    assert outcomes(nights) == [OK] * 3
    reason = worse(found)
    if kind == "moving":  # both commits of that night have the step: it is the anchor that shows it
        assert "anchor" in reason
    else:
        assert named(reason) == {between(played, -3)}


def test_a_night_of_another_plan_decides_nothing_for_this_one(
    played: Played, tracekit: Run
) -> None:
    begun(played, "fixed")
    played.night(1.0)
    text = played.plan.read_text()
    played.plan.write_text(text.replace('name = "played"', 'name = "another"'))
    assert played.night(1.06).outcome is REGRESSION
    assert tracekit("gate", "--plan", str(played.plan)).code == 1
    played.plan.write_text(text)
    gated = tracekit("gate", "--plan", str(played.plan), "--json")
    assert (gated.code, json.loads(gated.out)["plan"]) == (0, "played")
    assert played.night(1.0).outcome is OK


@pytest.mark.parametrize("kind", ["fixed", "branch point"])
def test_a_commit_is_not_measured_against_itself(played: Played, kind: str, tracekit: Run) -> None:
    played.begin(KIND[kind])
    said = tracekit("nightly", "--dry-run", str(played.plan)).err
    assert "candidate and reference are the same commit" in said
    night = played.night()
    assert night.outcome is INCONCLUSIVE
    assert "measures how much the machine varies by itself" in night.reason
    assert tracekit("gate", "--plan", str(played.plan)).code == 4


def test_a_repository_whose_branch_is_called_otherwise(played: Played, tracekit: Run) -> None:
    played.begin("", branch="trunk")
    played.plan.unlink()
    assert tracekit("nightly", "--init", str(played.plan)).code == 0
    text = played.plan.read_text()
    assert f'revision = "{played.commits[0][:12]}"' in text
    gone = 'reference = { merge-base = "main" }'
    capture = f'[nightly]\n[[nightly.capture]]\nworkload = "costly"\nworkloads = "own"\n{gone}\n'
    played.plan.write_text(capture)
    refused = tracekit("nightly", "--dry-run", str(played.plan))
    assert refused.code == 2
    assert "no revision 'main'" in refused.err


def test_a_branch_point_is_not_where_the_branch_is_now(played: Played) -> None:
    begun(played, "branch point")
    played.commit(1.0)
    played.git("checkout", "--quiet", "main")
    played.commit(0.8)
    played.git("checkout", "--quiet", "work")
    assert played.night(1.0).outcome is OK
    (own,) = played.nights[-1].entries
    assert own.reference is not None
    assert own.reference.commit == played.commits[0]
    assert own.reference.words == f"branch point with main ({played.commits[0][:7]})"


def test_what_is_accepted_is_where_a_chain_and_its_anchor_begin(played: Played) -> None:
    begun(played, "moving")
    costs = [1.02, 1.04, 1.06]
    nights = [played.night(cost) for cost in costs]
    assert nights[-1].outcome is REGRESSION
    with Store.open(read_plan(played.plan).history) as store:
        store.accept(nights[-1].id, ["decode"], "it was meant", least=6)
    after = [played.night(1.06) for _ in range(8)]
    assert set(outcomes(after)) == {OK}
    (anchor,) = [each for night in after for each in night.entries if each.capture != "decode"]
    assert anchor.reference is not None
    assert anchor.reference.commit == played.commits[3]


def test_the_night_before_is_the_last_one_that_was_measured(played: Played) -> None:
    begun(played, "previous night")
    played.commit(1.0)
    between_nights = played.commit(1.0)
    played.rejected = 1
    played.night(1.0)
    played.rejected = 0
    (own, *_) = played.night(1.0).entries
    assert own.reference is not None
    assert own.reference.commit == played.commits[0] != between_nights
    assert own.reference.words.startswith("previous night ")
