"""Which night is meant, by which plan it was judged, how old it is, and where it is shown."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gate_night import FINE, NIGHT
from tracekit.base.errors import InconclusiveError, InputError, RecordingError, UsageError
from tracekit.machine.environment import own_name
from tracekit.nightly.gate.found import aged, find_night, in_repository, placed
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store

Keep = Callable[..., Path]
EARLIER, LATER = "2026-11-19T02-30-00-aaaa", "2026-11-20T02-30-00-bbbb"


def test_a_night_on_the_disk_is_named_by_its_id_its_beginning_or_its_folder(
    keep: Keep, project: Path
) -> None:
    later, earlier = keep(id=LATER), keep(id=EARLIER)
    assert find_night().folder == later
    for name in (EARLIER, EARLIER[:10], str(earlier), str(earlier / "night.json")):
        found = find_night(name)
        assert (found.folder, found.night.id) == (earlier, EARLIER)
        assert found.plan is not None
        assert found.plan.captures[0].fail_on == ("pipeline-churn",)
    with pytest.raises(UsageError, match="2 nights begin with '2026-11'") as error:
        find_night("2026-11")
    assert EARLIER in error.value.hint
    (project / "tracekit.toml").unlink()
    assert find_night(str(earlier)).plan is None, "a folder needs no plan"


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
    with pytest.raises(InconclusiveError, match="no night of the plan attention") as raised:
        find_night()
    assert "m1-8gb" in raised.value.message
    assert find_night(NIGHT.id).night == night, "one that is named is judged"


def test_a_night_that_is_named_is_of_the_plan_that_is_named(keep: Keep, project: Path) -> None:
    folder = keep(id=LATER, plan="other")
    for name in (LATER, LATER[:10], str(folder)):
        assert find_night(name).plan is None
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
    assert find_night().night.id == LATER
    for name, history in ((EARLIER[:10], ""), (EARLIER, str(project / "history.db"))):
        found = find_night(name, history=history)
        assert (found.night.id, found.folder) == (EARLIER, None)


def test_no_night_no_history_and_no_plan_are_refused(project: Path) -> None:
    for name, said in (("latest", r"yet, and no history at .*history\.db"), ("2026", "'2026'")):
        with pytest.raises(UsageError, match=f"There is no night {said}"):
            find_night(name)
    assert not (project / "history.db").exists(), "who only asks makes nothing"
    with Store.open(str(project / "history.db")):
        pass
    for name, said in (("latest", "no night yet"), ("x", "has no night 'x'")):
        with pytest.raises(UsageError, match=said):
            find_night(name)
    (project / "tracekit.toml").unlink()
    with pytest.raises(UsageError, match=r"no tracekit\.toml"):
        find_night()


def test_a_document_that_cannot_be_read_is_refused(keep: Keep) -> None:
    folder = keep()
    (folder / "night.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        find_night(str(folder))
    for name in (str(folder.parent / "night.json"), "nights"):
        with pytest.raises(RecordingError, match=r"nights has no night\.json"):
            find_night(name)
    with pytest.raises(UsageError, match="no night at nights/2027"):
        find_night("nights/2027")


GOOD = of_night(replace(NIGHT, entries=(FINE,), outcome=Outcome.OK))
NOW = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
DAY = 24 * 3600.0


@pytest.mark.parametrize(
    ("started", "said"),
    [
        ("2026-11-20T02:29:59+00:00", r"24\.0 h ago; --max-age allows 24\.0 h"),
        ("2026-11-18T02:30:00", r"72\.0 h ago"),
        ("soon", "When it began is not known"),
    ],
)
def test_an_old_night_says_nothing_of_today(started: str, said: str) -> None:
    assert aged(GOOD, DAY, NOW) is GOOD
    old = aged(replace(GOOD, started=started), DAY, NOW)
    assert old.outcome is Outcome.INCONCLUSIVE
    assert re.search(said, old.reason)
    assert [one.outcome for one in old.cases] == [Outcome.OK, Outcome.INCONCLUSIVE]
    worse = replace(GOOD, outcome=Outcome.REGRESSION, started=started)
    assert aged(worse, 1.0, NOW) is worse


def test_a_capture_stands_at_its_line_of_the_plan(keep: Keep) -> None:
    keep()
    found = find_night()
    report = placed(of_night(found.night, found.plan), found.plan)
    assert report.file == "tracekit.toml"
    lines = {one.name: one.line for one in report.suites}
    assert lines == {"decode": 7, "prefill": 14, "serve": None, "micro": None}
    assert placed(report, None) is report


def test_a_file_is_named_from_the_repositorys_root_and_without_folders_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = project / "perf" / "tracekit.toml"
    nested.parent.mkdir()
    monkeypatch.chdir(nested.parent)
    assert in_repository(nested) == "perf/tracekit.toml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(nested.parent))
    assert in_repository(nested) == "tracekit.toml"
    assert in_repository(tmp_path / "ada" / "plan.toml") == "plan.toml"
