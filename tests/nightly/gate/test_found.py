"""Which night is meant, and by which plan it was judged."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate_night import NIGHT
from tracekit.base.errors import InconclusiveError, InputError, RecordingError, UsageError
from tracekit.machine.environment import own_name
from tracekit.nightly.gate.found import find_night
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store

Keep = Callable[..., Path]
EARLIER, LATER = "2026-11-19T02-30-00-aaaa", "2026-11-20T02-30-00-bbbb"


def test_the_latest_night_is_the_last_one_of_the_plan(keep: Keep) -> None:
    keep(id=LATER)
    keep(id=EARLIER)
    found = find_night()
    assert found.night.id == LATER
    assert found.plan is not None
    assert found.plan.captures[0].fail_on == ("pipeline-churn",)


@pytest.mark.parametrize("name", [EARLIER, EARLIER[:10]], ids=["id", "beginning"])
def test_a_night_is_named_by_its_id_or_the_beginning_of_it(name: str, keep: Keep) -> None:
    keep(id=LATER)
    folder = keep(id=EARLIER)
    assert find_night(name).folder == folder


def test_a_beginning_of_two_nights_is_refused(keep: Keep) -> None:
    keep(id=LATER)
    keep(id=EARLIER)
    with pytest.raises(UsageError, match="2 nights begin with '2026-11'") as error:
        find_night("2026-11")
    assert EARLIER in error.value.hint


@pytest.mark.parametrize("file", ["", "night.json"], ids=["folder", "document"])
def test_a_folder_needs_no_plan(file: str, keep: Keep, project: Path) -> None:
    folder = keep()
    (project / "tracekit.toml").unlink()
    found = find_night(str(folder / file))
    assert (found.night, found.folder, found.plan) == (NIGHT, folder, None)


def test_a_plan_of_another_name_is_not_the_nights(keep: Keep) -> None:
    folder = keep(plan="other")
    assert find_night(str(folder)).plan is None
    assert find_night(NIGHT.id).plan is None


PLANS = (("attention", "m1-8gb"), ("other", "m1-8gb"), ("attention", "m4-64gb"))


@pytest.mark.parametrize("kept", ["folders", "history", "named-history"])
def test_the_latest_night_is_never_one_of_another_plan_or_machine(
    kept: str, keep: Keep, project: Path
) -> None:
    """A failed night of the 20th, and good ones since, of another plan and another machine."""
    history = str(project / "history.db")
    nights = [
        replace(
            NIGHT,
            id=f"2026-11-{20 + number}T02-30-00-aaaa",
            started=f"2026-11-{20 + number}T02:30:00+00:00",
            plan=plan,
            machine=machine,
            outcome=Outcome.OK if number else Outcome.FAILED,
        )
        for number, (plan, machine) in enumerate(PLANS)
    ]
    with Store.open(history) as store:
        for one in nights:
            if kept == "folders":
                keep(one)
            else:
                store.append(one)
    asked = history if kept == "named-history" else ""
    for file in (None, project / "tracekit.toml"):
        found = find_night(plan=file, history=asked)
        assert found.night == nights[0]
        assert found.plan is not None


@pytest.mark.parametrize("kept", ["folder", "history"])
@pytest.mark.parametrize("other", [{"plan": "other"}, {"machine": "m4-64gb"}])
def test_where_there_are_nights_of_others_only_the_latest_is_inconclusive(
    other: dict[str, Any], kept: str, keep: Keep, project: Path
) -> None:
    night = replace(NIGHT, outcome=Outcome.OK, **other)
    if kept == "folder":
        keep(night)
    else:
        with Store.open(str(project / "history.db")) as store:
            store.append(night)
    with pytest.raises(InconclusiveError, match="no night of the plan attention") as told:
        find_night()
    assert "m1-8gb" in told.value.message
    assert find_night(NIGHT.id).night == night, "one that is named is judged"


def test_a_night_that_is_named_is_of_the_plan_that_is_named(keep: Keep, project: Path) -> None:
    folder = keep(id=LATER, plan="other")
    for name in (LATER, LATER[:10], str(folder)):
        with pytest.raises(UsageError, match="is of the plan other, not of attention"):
            find_night(name, project / "tracekit.toml")


def test_without_a_plan_the_latest_of_a_history_must_be_clear(project: Path) -> None:
    (project / "tracekit.toml").unlink()
    history = str(project / "history.db")
    with Store.open(history) as store:
        store.append(replace(NIGHT, machine=own_name()))
        assert find_night(history=history).night.id == NIGHT.id
        store.append(replace(NIGHT, id=EARLIER, plan="other"))
        with pytest.raises(UsageError, match="Nights of several plans or machines"):
            find_night(history=history)


def test_a_night_that_is_in_the_history_only_is_found_there(project: Path) -> None:
    with Store.open(str(project / "history.db")) as store:
        store.append(replace(NIGHT, id=EARLIER))
        store.append(replace(NIGHT, id=LATER, started="2026-11-20T02:31:00+00:00"))
        store.append(replace(NIGHT, id="2026-11-21T00-00-00-cccc", plan="other"))
    assert find_night().night.id == LATER
    assert find_night(EARLIER[:10]).night.id == EARLIER
    assert find_night(EARLIER).folder is None
    named = find_night(EARLIER, history=str(project / "history.db"))
    assert named.night.id == EARLIER


def test_no_night_at_all_is_told(project: Path) -> None:
    with Store.open(str(project / "history.db")):
        pass
    with pytest.raises(UsageError, match="no night yet"):
        find_night()
    with pytest.raises(UsageError, match="has no night 'x'"):
        find_night("x")


def test_no_history_and_no_plan_are_told(project: Path) -> None:
    with pytest.raises(UsageError, match=r"no night yet, and no history at .*history\.db"):
        find_night()
    with pytest.raises(UsageError, match="no night '2026', and no history"):
        find_night("2026")
    assert not (project / "history.db").exists(), "who only asks makes nothing"
    (project / "tracekit.toml").unlink()
    with pytest.raises(UsageError, match=r"no tracekit\.toml"):
        find_night()


def test_a_document_that_cannot_be_read_is_told(keep: Keep) -> None:
    folder = keep()
    (folder / "night.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        find_night(str(folder))
    with pytest.raises(RecordingError, match=r"has no night\.json"):
        find_night(str(folder.parent / "night.json"))
    with pytest.raises(RecordingError, match=r"nights has no night\.json"):
        find_night("nights")
    with pytest.raises(UsageError, match="no night at nights/2027"):
        find_night("nights/2027")
