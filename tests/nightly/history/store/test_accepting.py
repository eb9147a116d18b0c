"""Baselines: accepted with a reason, never silently; and how nights are named for it."""

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stored_nights import entry_of, judged_of, night_of, pair_of
from tracekit.base.errors import InputError, UsageError
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.decisions import Refused
from tracekit.nightly.history.store.documents import cut_short
from tracekit.nightly.history.store.store import Store

AT = "2026-03-09T08:00:00.000+00:00"


def test_what_is_accepted_are_the_changes_of_pairs_that_count(store: Store) -> None:
    pairs = [pair_of(1, 110.0), pair_of(2, 120.0), pair_of(3, 500.0, contaminated=("hot",))]
    store.append(night_of(1, [entry_of(pairs=pairs)]))
    (accepted,), refused = store.accept("latest", [], "  we pay for safety  ", AT)
    assert (accepted.night, accepted.capture, accepted.work) == (night_of(1).id, "decode", "w1")
    assert (accepted.at, accepted.reason) == (AT, "we pay for safety")
    assert accepted.changes["step_p50"] == pytest.approx((log(1.1), log(1.2)))
    assert refused == []
    assert store.accepted("mini", "decode", "w1") == accepted
    assert store.acceptances() == [accepted]


def test_a_difference_is_accepted_as_one(store: Store) -> None:
    pair = pair_of(metric="bubble_share", candidate=3.5, reference=3.0)
    judged = judged_of("bubble_share", scale="difference", unit="ratio")
    store.append(night_of(1, [entry_of(pairs=[pair], judged=[judged])]))
    assert store.accept("latest", [], "fine")[0][0].changes == {"bubble_share": (0.5,)}


def test_nights_of_the_same_work_are_taken_together(store: Store) -> None:
    for day, value in ((1, 110.0), (2, 120.0), (3, 130.0)):
        pairs = [pair_of(1, value), pair_of(2, value)]
        store.append(night_of(day, [entry_of(pairs=pairs)]))
    first, second, third = (night_of(day).id for day in (1, 2, 3))
    (accepted,), _ = store.accept(third, [], "fine", AT, others=[first, "latest", second])
    assert accepted.night == third
    assert accepted.reason == f"fine (together with {first}, {second})", "no night counts twice"
    changes = [log(one) for one in (1.3, 1.3, 1.1, 1.1, 1.2, 1.2)]
    assert accepted.changes == {"step_p50": pytest.approx(changes)}
    assert store.accepted("mini", "decode", "w1") == accepted
    assert len(store.acceptances()) == 1


def test_metrics_that_not_all_nights_have_are_not_accepted(store: Store) -> None:
    known = {"p50": (110.0,), "rate": (9.0,)}
    sides = {"candidate": known, "reference": known}
    both, p50, rate = (
        entry_of(pairs=[replace(pair_of(), **sides)], judged=list(map(judged_of, names)))
        for names in (("p50", "rate"), ("p50",), ("rate",))
    )
    for day, entry in enumerate((both, p50, rate), 1):
        store.append(night_of(day, [entry]))
    (accepted,), _ = store.accept("2026-03-01", [], "fine", others=["2026-03-02"])
    assert list(accepted.changes) == ["p50"]
    with pytest.raises(UsageError, match="the nights have no metric in common"):
        store.accept("2026-03-02", [], "fine", others=["2026-03-03"])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (night_of(2, [entry_of(work="w2")]), "did other work, or on another machine"),
        (night_of(2, [entry_of("prefill")]), "did other work, or on another machine"),
        (night_of(2, machine="studio"), "did other work, or on another machine"),
        (night_of(2, [entry_of(pairs=())]), "in the night 2026-03-02.* no pair that counts"),
        (night_of(2, outcome=Outcome.FAILED, reason="Parity."), "failed, so nothing"),
    ],
)
def test_nights_that_have_not_the_same_in_common_are_refused(
    store: Store, other: Night, words: str
) -> None:
    store.append(night_of(1))
    store.append(other)
    with pytest.raises(UsageError, match=words):
        store.accept("2026-03-01", [], "fine", others=["2026-03-02"])
    assert store.acceptances() == []


def test_the_last_one_holds_and_all_are_kept(store: Store) -> None:
    for day in (1, 2):
        store.append(night_of(day))
        store.accept("latest", [], f"reason {day}", AT)
    holds = store.accepted("mini", "decode", "w1")
    assert holds is not None
    assert holds.night == night_of(2).id
    assert [one.reason for one in store.acceptances()] == ["reason 1", "reason 2"]


def test_a_baseline_is_of_one_machine_capture_and_work(store: Store) -> None:
    store.append(night_of(1))
    store.append(night_of(2, machine="studio"))
    store.accept("2026-03-01", [], "fine")
    assert store.accepted("studio", "decode", "w1") is None
    assert store.accepted("mini", "prefill", "w1") is None
    assert store.accepted("mini", "decode", "w2") is None
    assert store.machines() == ["mini", "studio"]
    assert [len(store.acceptances(name)) for name in store.machines()] == [1, 0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"reason": "  \n"}, "needs a reason"),
        ({"captures": ["decod"]}, "no capture 'decod'"),
        ({"least": 6}, "only 2 pairs of step_p50 count, and a judgement takes 6"),
        ({"night": "2026-03-02"}, r"failed, so nothing can be expected of it: The power"),
        ({"night": "2026-04"}, "no night '2026-04'"),
    ],
)
def test_what_cannot_be_accepted_is_refused(
    store: Store, asked: dict[str, Any], words: str
) -> None:
    store.append(night_of(1))
    store.append(night_of(2, outcome=Outcome.FAILED, reason="The power went."))
    with pytest.raises(UsageError, match=words) as raised:
        store.accept(**{"night": "2026-03-01", "captures": [], "reason": "fine"} | asked)
    assert store.acceptances() == []
    assert ("captures" in asked) is (raised.value.hint == "Did you mean decode?")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (entry_of(reference=None), "no reference"),
        (entry_of(outcome=Outcome.FAILED, reason="Parity."), "it failed: Parity."),
        (entry_of(pairs=[pair_of(contaminated=("hot",))]), "no pair that counts"),
        (entry_of(pairs=()), "no pair that counts"),
        (entry_of(judged=()), "no pair that counts"),
    ],
)
def test_a_capture_of_which_nothing_can_be_expected_is_refused(
    store: Store, entry: object, words: str
) -> None:
    assert isinstance(entry, type(entry_of()))
    store.append(night_of(1, [entry]))
    with pytest.raises(UsageError, match=words):
        store.accept("latest", [], "fine")
    store.append(night_of(2, [entry, entry_of("prefill")]))
    accepted, (refused,) = store.accept("latest", [], "fine")
    assert [one.capture for one in accepted] == ["prefill"]
    assert isinstance(refused, Refused)
    assert words in refused.reason
    with pytest.raises(UsageError, match=words):
        store.accept("latest", ["prefill", "decode"], "fine")
    assert len(store.acceptances()) == 1, "all that is named, or nothing"


def test_a_night_is_named_by_id_beginning_folder_or_latest(store: Store, tmp_path: Path) -> None:
    for day in (12, 1, 11):
        store.append(night_of(day))
    folder = tmp_path / "anywhere"
    folder.mkdir()
    (folder / "night.json").write_bytes(msgspec.json.encode(night_of(11)))
    assert store.night("latest") == night_of(12)
    assert store.night(night_of(1).id) == night_of(1)
    assert store.night("2026-03-12") == night_of(12)
    assert store.night(str(folder)) == night_of(11)
    assert store.night(str(folder / "night.json")) == night_of(11)
    assert store.ids() == {night_of(day).id for day in (1, 11, 12)}


@pytest.mark.parametrize("name", ["2026-04", "", "%", "_026-03-12", "no/such/folder"])
def test_a_night_that_is_not_there_is_told(store: Store, name: str) -> None:
    store.append(night_of(12))
    with pytest.raises(UsageError, match="The history has no night"):
        store.night(name)


def test_a_beginning_of_several_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="no night 'latest'"):
        store.night("latest")
    for day in range(1, 8):
        store.append(night_of(day))
    with pytest.raises(UsageError, match=r"Several nights begin with '2026-03-0': .*, …"):
        store.night("2026-03-0")


def test_a_night_whose_process_was_killed_is_kept_as_partial(store: Store, tmp_path: Path) -> None:
    begun = night_of(1, ended="", outcome=None, reason="")
    (tmp_path / "night.json").write_bytes(msgspec.json.encode(begun))
    night = store.recover(tmp_path)
    assert night is not None
    assert (night.partial, night.outcome) == (True, Outcome.REGRESSION)
    assert "killed, or the machine went down" in night.reason
    assert store.nights() == [night]
    assert store.recover(tmp_path) is None, "it is there already"
    assert store.nights() == [night]


def test_what_was_not_ended_failed_unless_it_had_found_a_regression(
    store: Store, tmp_path: Path
) -> None:
    begun = night_of(1, [entry_of(outcome=None)], ended="", outcome=None, reason="")
    assert cut_short(begun).outcome is Outcome.FAILED
    assert cut_short(night_of(1)) == night_of(1), "one that ended is as it was"
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert store.recover(folder) is None
    (tmp_path / "night.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        store.recover(tmp_path)


def test_what_was_accepted_can_be_revoked(store: Store) -> None:
    store.append(night_of(1))
    store.accept("latest", [], "fine", AT)
    with pytest.raises(UsageError, match="needs a reason"):
        store.revoke("2026-03-01", [], " ")
    (revoked,) = store.revoke("2026-03-01", ["decode"], "it was hot", AT)
    assert (revoked.reason, revoked.changes) == ("revoked: it was hot", {})
    assert store.accepted("mini", "decode", "w1") is None
    assert [one.reason for one in store.acceptances()] == ["fine", "revoked: it was hot"]
    with pytest.raises(UsageError, match="Nothing that was accepted of the night"):
        store.revoke("2026-03-01", [], "again")
    store.accept("latest", [], "fine after all", AT)
    assert store.accepted("mini", "decode", "w1") is not None
