"""Baselines: accepted with a reason, never silently; and how nights are named for it."""

from dataclasses import replace
from math import log
from pathlib import Path

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
    rate = judged_of("step_rate")
    pair = replace(pair_of(), candidate={"step_p50": (110.0,), "step_rate": (9.0,)})
    pair = replace(pair, reference={"step_p50": (100.0,), "step_rate": (10.0,)})
    store.append(night_of(1, [entry_of(pairs=[pair], judged=[judged_of(), rate])]))
    store.append(night_of(2, [entry_of(pairs=[pair_of()])]))
    store.append(night_of(3, [entry_of(pairs=[pair], judged=[rate])]))
    (accepted,), _ = store.accept("2026-03-01", [], "fine", others=["2026-03-02"])
    assert list(accepted.changes) == ["step_p50"]
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


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_nothing_is_accepted_silently(store: Store, reason: str) -> None:
    store.append(night_of(1))
    with pytest.raises(UsageError, match="needs a reason"):
        store.accept("latest", [], reason)
    assert store.acceptances() == []


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


def test_a_night_that_failed_is_not_accepted(store: Store) -> None:
    store.append(night_of(1, outcome=Outcome.FAILED, reason="The power went."))
    with pytest.raises(UsageError, match=r"failed, so nothing can be expected of it: The power"):
        store.accept("latest", [], "fine")


def test_an_unknown_capture_is_told_with_the_nearest(store: Store) -> None:
    store.append(night_of(1))
    with pytest.raises(UsageError, match="no capture 'decod'") as told:
        store.accept("latest", ["decod"], "fine")
    assert told.value.hint == "Did you mean decode?"


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


def test_a_beginning_of_several_is_told(store: Store) -> None:
    for day in range(1, 8):
        store.append(night_of(day))
    with pytest.raises(UsageError, match=r"Several nights begin with '2026-03-0': .*, …") as told:
        store.night("2026-03-0")
    assert told.value.hint == "Write more of the id."


def test_there_is_no_latest_of_nothing(store: Store) -> None:
    with pytest.raises(UsageError, match="no night 'latest'"):
        store.night("latest")


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


def test_a_night_that_had_found_nothing_bad_before_it_was_killed_failed() -> None:
    begun = night_of(1, [entry_of(outcome=None)], ended="", outcome=None, reason="")
    assert cut_short(begun).outcome is Outcome.FAILED
    assert cut_short(night_of(1)) == night_of(1), "one that ended is as it was"


def test_a_folder_without_a_night_has_nothing_to_recover(store: Store, tmp_path: Path) -> None:
    assert store.recover(tmp_path) is None
    assert store.recover(tmp_path / "nowhere") is None
    (tmp_path / "night.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        store.recover(tmp_path)


def test_what_a_judgement_could_not_be_made_against_is_not_accepted(store: Store) -> None:
    store.append(night_of(1))
    with pytest.raises(UsageError, match="only 2 pairs of step_p50 count, and a judgement takes 6"):
        store.accept("latest", [], "fine", least=6)
    assert store.acceptances() == []
    store.append(night_of(2, [entry_of(pairs=[pair_of(number) for number in range(1, 7)])]))
    assert store.accept("latest", [], "fine", least=6)[0]


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
