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
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.store import Store

Keep = Callable[..., Path]
EARLIER, LATER = "2026-11-19T02-30-00-aaaa", "2026-11-20T02-30-00-bbbb"


@pytest.fixture
def remember(project: Path) -> Callable[..., str]:
    """Add nights to the plan's history; return its file."""

    def add(*nights: Night) -> str:
        with Store.open(str(project / "history.db")) as store:
            for night in nights:
                store.append(night)
        return str(project / "history.db")

    return add


def test_a_night_is_named_by_its_folder_its_id_or_the_beginning_of_that(
    keep: Keep, project: Path, remember: Callable[..., str]
) -> None:
    folder = keep(id=EARLIER)
    later = replace(NIGHT, id=LATER, started="2026-11-20T02:31:00+00:00")
    history = remember(replace(NIGHT, id=EARLIER), later)
    for name in (str(folder), str(folder / "night.json"), EARLIER, EARLIER[:10]):
        night, plan = find_night(name)
        assert night.id == EARLIER
        assert plan is not None
        assert plan.captures[0].fail_on == ("pipeline-churn",)
    assert find_night(LATER, history=history)[0] == later
    with pytest.raises(UsageError, match="Several nights begin with '2026-11'"):
        find_night("2026-11")
    (project / "tracekit.toml").unlink()
    assert find_night(str(folder))[1] is None, "a folder needs no plan"


PLANS = (("attention", "m1-8gb"), ("other", "m1-8gb"), ("attention", "m4-64gb"))


@pytest.mark.parametrize("kept", ["folders", "history", "named-history"])
def test_the_latest_night_is_never_one_of_another_plan_or_machine(
    kept: str, keep: Keep, project: Path, remember: Callable[..., str]
) -> None:
    """A failed night of the 20th, and good ones since, of another plan and another machine."""
    nights = [
        replace(
            *(NIGHT,), plan=plan, machine=machine, id=f"2026-11-{20 + number}T02-30-00-aaaa",
            started=f"2026-11-{20 + number}T02:30:00+00:00",
            outcome=Outcome.OK if number else Outcome.FAILED,
        )
        for number, (plan, machine) in enumerate(PLANS)
    ]  # fmt: skip
    history = remember(*nights if kept != "folders" else ())
    for night in nights if kept == "folders" else ():
        keep(night)
    for file in (None, project / "tracekit.toml"):
        found = find_night(plan=file, history=history if kept == "named-history" else "")
        assert found[0] == nights[0]
        assert found[1] is not None


@pytest.mark.parametrize("kept", ["folder", "history"])
@pytest.mark.parametrize("other", [{"plan": "other"}, {"machine": "m4-64gb"}])
def test_where_there_are_nights_of_others_only_the_latest_is_inconclusive(
    other: dict[str, Any], kept: str, keep: Keep, remember: Callable[..., str]
) -> None:
    night = replace(NIGHT, outcome=Outcome.OK, **other)
    name = str(keep(night)) if kept == "folder" else night.id
    if kept == "history":
        remember(night)
    with pytest.raises(InconclusiveError, match="no night of the plan attention") as raised:
        find_night()
    assert "m1-8gb" in raised.value.message
    assert find_night(name)[0] == night, "one that is named is judged"


def test_a_night_that_is_named_is_of_the_plan_that_is_named(keep: Keep, project: Path) -> None:
    folder = str(keep(id=LATER, plan="other"))
    assert find_night(folder)[1] is None
    with pytest.raises(UsageError, match="is of the plan other, not of attention"):
        find_night(folder, project / "tracekit.toml")


def test_without_a_plan_the_latest_of_a_history_must_be_clear(
    project: Path, remember: Callable[..., str]
) -> None:
    (project / "tracekit.toml").unlink()
    history = remember(replace(NIGHT, machine=own_name()))
    assert find_night(history=history)[0].id == NIGHT.id
    remember(replace(NIGHT, id=EARLIER, plan="other", started="2026-11-19T02:30:00+00:00"))
    said = rf"plans or machines.*: {NIGHT.id} \(attention on .*, {EARLIER} \(other"
    with pytest.raises(UsageError, match=said):  # the newest first
        find_night(history=history)


def test_no_night_no_history_and_no_plan_are_refused(
    project: Path, remember: Callable[..., str]
) -> None:
    for name, said in (("latest", r"yet, and no history at .*history\.db"), ("2026", "'2026'")):
        with pytest.raises(UsageError, match=f"There is no night {said}"):
            find_night(name)
    assert not (project / "history.db").exists(), "who only asks makes nothing"
    remember()
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
    assert [case.outcome for case in old.cases] == [Outcome.OK, Outcome.INCONCLUSIVE]
    worse = replace(GOOD, outcome=Outcome.REGRESSION, started=started)
    assert aged(worse, 1.0, NOW) is worse


def test_a_capture_stands_at_its_line_of_the_plan(keep: Keep) -> None:
    night, plan = find_night(str(keep()))
    report = placed(of_night(night, plan), plan)
    assert report.file == "tracekit.toml"
    lines = {suite.name: suite.line for suite in report.suites}
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
