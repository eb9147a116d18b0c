"""What people decide: baselines, accepted with a reason, never silently; pins; missed nights."""

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest

from stored_nights import entry_of, judged_of, night_of, pair_of, sql
from tracekit.base.errors import UsageError
from tracekit.nightly.history.night import Accepted, Entry, Missed, Night, Outcome
from tracekit.nightly.history.store.store import Store

AT = "2026-03-09T08:00:00.000+00:00"
HOT = pair_of(3, 500.0, rejections=("hot",))
SHARE = judged_of("share", scale="difference", unit="ratio")


def test_accepted_changes_are_those_of_counting_pairs(store: Store) -> None:
    share = entry_of("share", [pair_of(metric="share", candidate=3.5, reference=3.0)], [SHARE])
    decode = entry_of(pairs=[pair_of(1, 110.0), pair_of(2, 120.0), HOT])
    store.append(night_of(1, [decode, share]))
    (accepted, difference), refused = store.accept(
        *("latest", [], " to be safe "), AT, least=2, who="ada"
    )
    expected_baseline = Accepted(
        night_of(1).id, "decode", "w1", AT, "to be safe", accepted.changes, "ada"
    )
    assert accepted == expected_baseline
    assert accepted.changes == {"step_p50": pytest.approx((log(1.1), log(1.2)))}
    assert (difference.changes, refused) == ({"share": (0.5,)}, [])
    assert store.find_baseline("mini", "decode", "w1") == accepted
    assert store.acceptances() == [accepted, difference]


def test_nights_of_the_same_work_are_taken_together(store: Store) -> None:
    for day, value in ((1, 110.0), (2, 120.0), (3, 130.0)):
        store.append(night_of(day, [entry_of(pairs=[pair_of(1, value), pair_of(2, value)])]))
    first_night, second, third = (night_of(day).id for day in (1, 2, 3))
    (accepted,), _ = store.accept(third, [], "fine", AT, others=[first_night, "latest", second])
    assert accepted.night == third
    assert accepted.reason == f"fine (together with {first_night}, {second})", (
        "no night counts twice"
    )
    changes = [log(ratio) for ratio in (1.3, 1.3, 1.1, 1.1, 1.2, 1.2)]
    assert accepted.changes == {"step_p50": pytest.approx(changes)}


def test_metrics_that_not_all_nights_have_are_not_accepted(sqlite_store: Store) -> None:
    metric_values = {"p50": (110.0,), "rate": (9.0,)}
    pair = replace(pair_of(), candidate=metric_values, reference=metric_values)
    for day, names in enumerate((("p50", "rate"), ("p50",), ("rate",)), 1):
        judged = [judged_of(name) for name in names]
        sqlite_store.append(night_of(day, [entry_of(pairs=[pair], judged=judged)]))
    (accepted,), _ = sqlite_store.accept("2026-03-01", [], "fine", others=["2026-03-02"])
    assert list(accepted.changes) == ["p50"]
    with pytest.raises(UsageError, match="the nights have no metric in common"):
        sqlite_store.accept("2026-03-02", [], "fine", others=["2026-03-03", "2026-03-01"])


OTHER = "did other work, or on another machine"
WITH: dict[str, Any] = {"others": ["2026-03-02"]}


@pytest.mark.parametrize(
    ("second", "asked", "words"),
    [
        (night_of(2, [entry_of(work="w2")]), WITH, OTHER),
        (night_of(2, [entry_of("prefill")]), WITH, OTHER),
        (night_of(2, machine="studio"), WITH, OTHER),
        (night_of(2, [entry_of(pairs=())]), WITH, "in the night 2026-03-02.* no pair that counts"),
        (night_of(2, outcome=Outcome.FAILED, reason="Parity."), WITH,
         "failed, so nothing can be expected of it: Parity."),
        (night_of(2, environment={"virtual": True}), WITH, "ran on a virtual machine"),
        (night_of(2), {"reason": "  \n"}, "needs a reason"),
        (night_of(2), {"captures": ["decod"]}, "no capture 'decod'"),
        (night_of(2), {"least": 3}, "only 2 pairs of step_p50 count, and a judgement takes 3"),
        (night_of(2), {"night": "2026-04"}, "no night '2026-04'"),
    ],
)  # fmt: skip
def test_unacceptable_nights_are_refused(
    sqlite_store: Store, second: Night, asked: dict[str, Any], words: str
) -> None:
    default_arguments: dict[str, Any] = {"night": "2026-03-01", "captures": [], "reason": "fine"}
    sqlite_store.append(night_of(1))
    sqlite_store.append(second)
    with pytest.raises(UsageError, match=words):
        sqlite_store.accept(**default_arguments | asked)
    assert sqlite_store.acceptances() == []
    assert sqlite_store.accept("2026-03-01", [], "fine", least=2)[0]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (entry_of(reference=None), "no reference"),
        (entry_of(outcome=Outcome.FAILED, reason="Parity."), "it failed: Parity."),
        (entry_of(pairs=[HOT]), "no pair that counts"),
        (entry_of(judged=()), "no pair that counts"),
    ],
)
def test_captures_of_no_change_are_refused(sqlite_store: Store, entry: Entry, words: str) -> None:
    sqlite_store.append(night_of(2, [entry, entry_of("prefill")]))
    accepted, (refused,) = sqlite_store.accept("latest", [], "fine")
    assert [baseline.capture for baseline in accepted] == ["prefill"]
    assert words in refused.reason
    with pytest.raises(UsageError, match=words):
        sqlite_store.accept("latest", ["prefill", "decode"], "fine")
    assert len(sqlite_store.acceptances()) == 1, "all that is named, or nothing"


def test_the_last_one_holds_for_its_machine_capture_and_work_until_revoked(store: Store) -> None:
    store.append(night_of(3, machine="studio"))
    for day in (1, 2):
        store.append(night_of(day))
        store.accept(f"2026-03-0{day}", [], f"reason {day}", AT)
    assert store.find_baseline("mini", "decode", "w1") == store.acceptances()[1]
    for other_key in (
        ("studio", "decode", "w1"),
        ("mini", "prefill", "w1"),
        ("mini", "decode", "w2"),
    ):
        assert store.find_baseline(*other_key) is None
    assert [len(store.acceptances(name)) for name in store.machines()] == [2, 0]
    store.append(night_of(4, [entry_of(work="w2")]))
    store.accept("2026-03-04", [], "other work", AT)
    for captures, reason, words in (([], " ", "needs a reason"), (["prefill"], "hot", "in force")):
        with pytest.raises(UsageError, match=words):
            store.revoke("2026-03-02", captures, reason)
    (revoked,) = store.revoke("2026-03-02", ["decode"], "it was hot", AT)
    assert (revoked.reason, revoked.changes) == ("revoked: it was hot", {})
    assert store.find_baseline("mini", "decode", "w1") is None
    for again in ("2026-03-01", "2026-03-02"):
        with pytest.raises(UsageError, match="No accepted change of the night"):
            store.revoke(again, [], "again")
    store.accept("2026-03-01", [], "after all", AT)
    assert store.find_baseline("mini", "decode", "w1") is not None
    reasons = [baseline.reason for baseline in store.acceptances()]
    assert reasons == ["reason 1", "reason 2", "other work", "revoked: it was hot", "after all"]


def test_a_night_that_was_missed_is_known_once(store: Store) -> None:
    due_time = "2026-03-02T02:30:00+00:00"
    assert store.record_missed("nightly", "mini", due_time, "asleep")
    assert not store.record_missed("nightly", "mini", "2026-03-02T03:30:00+01:00", "off")
    assert store.record_missed("nightly", "studio", due_time, "asleep")
    assert store.record_missed("nightly", "mini", "2026-03-01T02:30:00+00:00", "off")
    assert store.missed_nights() == [
        Missed("nightly", "mini", "2026-03-01T02:30:00.000+00:00", "off"),
        Missed("nightly", "mini", "2026-03-02T02:30:00.000+00:00", "asleep"),
        Missed("nightly", "studio", "2026-03-02T02:30:00.000+00:00", "asleep"),
    ]
    missed_on_mini = store.missed_nights(machine="mini", plan="nightly", since=due_time)
    missed_lists = [
        missed_on_mini,
        store.missed_nights(until=due_time),
        store.missed_nights(plan="w"),
    ]
    assert [[night.reason for night in missed_nights] for missed_nights in missed_lists] == [
        ["asleep"],
        ["off"],
        [],
    ]


def test_pins_come_and_go_and_all_of_it_is_kept(store: Store, url: str, tmp_path: Path) -> None:
    store.append(night_of(1))
    for name, reason, words in (("latest", " ", "needs a reason"), ("no", "x", "no night 'no'")):
        with pytest.raises(UsageError, match=words):
            store.pin(name, reason)
    night, folder = night_of(1).id, str(tmp_path.resolve())
    assert [store.pin("2026-03-01", "odd"), store.pin(str(tmp_path), "mine")] == [night, folder]
    assert store.list_pins() == {night, folder}
    store.pin("latest", "", pinned=False)
    with pytest.raises(UsageError, match="is not pinned"):
        store.pin("latest", "", pinned=False)
    assert store.list_pins() == {folder}
    pin_rows = sql(url, "SELECT pinned, reason FROM pins ORDER BY number")
    assert pin_rows == [(True, "odd"), (True, "mine"), (False, "")]
