"""Which night is meant, by which plan it was judged, how old it is, and where it is shown."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gate_night import FINE, NIGHT
from tracekit.base.documents import save
from tracekit.base.errors import (
    InconclusiveError,
    InputError,
    RecordingError,
    TracekitError,
    UsageError,
)
from tracekit.machine.environment import own_name
from tracekit.nightly.gate.lookup import add_plan_lines, find_night, judge_age
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.repository import in_repository
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.store import Store

PLAN = """[nightly]
name = "attention"
output = "nights"
history = "sqlite:///history.db"
machine = "m1-8gb"
[[nightly.capture]]
name = "decode"
workload = "paged"
fail-on = ["pipeline-churn"]
[[nightly.capture]]
name = "prefill"
workload = "paged"
"""
EARLIER, LATER = "2026-11-19T02-30-00-aaaa", "2026-11-20T02-30-00-bbbb"
Keep = Callable[..., Path]
Remember = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "tracekit.toml").write_text(PLAN)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def keep(project: Path) -> Keep:
    """Put a night where the plan puts its nights; return its folder."""

    def put_night(night: Night = NIGHT, **changes: Any) -> Path:
        night = replace(night, **changes)
        folder = project / "nights" / night.id
        folder.mkdir(parents=True)
        save(folder / "night.json", night)
        return folder

    return put_night


@pytest.fixture
def remember(project: Path) -> Remember:
    def add(*nights: Night) -> str:
        with Store.connect(str(project / "history.db")) as store:
            for night in nights:
                store.append(night)
        return str(project / "history.db")

    return add


def require_refusal(kind: type[TracekitError], words: str, *arguments: Any, **more: Any) -> None:
    with pytest.raises(kind, match=words):
        find_night(*arguments, **more)


def test_a_night_is_named_by_folder_or_id(
    keep: Keep, project: Path, remember: Remember, subtests: pytest.Subtests
) -> None:
    folder = keep(id=EARLIER)
    later = replace(NIGHT, id=LATER, started="2026-11-20T02:31:00+00:00")
    history = remember(replace(NIGHT, id=EARLIER), later)
    for name in (str(folder), str(folder / "night.json"), EARLIER, EARLIER[:10]):
        with subtests.test(name=name):
            night, plan = find_night(name)
            assert night.id == EARLIER
            assert plan is not None
            assert plan.captures[0].fail_on == ("pipeline-churn",)
    assert find_night(LATER, history=history)[0] == later
    require_refusal(UsageError, "Several nights begin with '2026-11'", "2026-11")
    (project / "tracekit.toml").unlink()
    assert find_night(str(folder))[1] is None, "a folder needs no plan"


PLANS = (("attention", "m1-8gb"), ("other", "m1-8gb"), ("attention", "m4-64gb"))


@pytest.mark.parametrize("kept", ["folders", "history", "named-history"])
def test_the_latest_night_is_never_one_of_another_plan_or_machine(
    kept: str, keep: Keep, project: Path, remember: Remember
) -> None:
    """Two nights of this plan and machine, and others since that ended well."""
    nights = [
        replace(
            *(NIGHT,), plan=plan, machine=machine, id=f"2026-11-{19 + number}T02-30-00-aaaa",
            started=f"2026-11-{19 + number}T02:30:00+00:00",
            outcome=Outcome.FAILED if number == 1 else Outcome.OK,
        )
        for number, (plan, machine) in enumerate((PLANS[0], *PLANS))
    ]  # fmt: skip
    history = ""
    if kept == "folders":
        for night in nights:
            keep(night)
    else:
        remember(*nights)
    if kept == "named-history":
        history = str((project / "history.db").rename(project / "other.db"))
    for file in (None, project / "tracekit.toml"):
        night, plan = find_night(plan=file, history=history)
        assert (night, plan and plan.name) == (nights[1], "attention"), file


def test_among_nights_of_others_only_the_latest_is_inconclusive(
    keep: Keep, project: Path, remember: Remember
) -> None:
    words = "no night of the plan attention on this machine, m1-8gb"
    foreign = replace(NIGHT, id=LATER, machine="m4-64gb")
    for other_night in (replace(NIGHT, plan="other"), foreign):
        remember(other_night)
        require_refusal(InconclusiveError, words)
        assert find_night(other_night.id)[0] == other_night, "one that is named is judged"
    (project / "history.db").unlink()
    folder = keep(foreign)
    require_refusal(InconclusiveError, words)
    remember()
    require_refusal(InconclusiveError, words)
    assert find_night(str(folder))[0] == foreign


def test_a_night_that_is_named_is_of_the_plan_that_is_named(keep: Keep, project: Path) -> None:
    folder = str(keep(id=LATER, plan="other"))
    assert find_night(folder)[1] is None
    words = "is of the plan other, not of attention"
    require_refusal(UsageError, words, folder, project / "tracekit.toml")


def test_without_a_plan_the_latest_night_must_be_clear(project: Path, remember: Remember) -> None:
    (project / "tracekit.toml").unlink()
    history = remember(replace(NIGHT, machine=own_name()))
    assert find_night(history=history)[0].id == NIGHT.id
    remember(replace(NIGHT, id=EARLIER, plan="other", started="2026-11-19T02:30:00+00:00"))
    newest_first = rf"{NIGHT.id} \(attention on .*, {EARLIER} \(other"
    require_refusal(UsageError, rf"plans or machines.*: {newest_first}", history=history)


def test_other_files_are_not_nights(keep: Keep, project: Path, remember: Remember) -> None:
    require_refusal(UsageError, r"no night yet, and no history at .*history\.db")
    require_refusal(UsageError, "There is no night '2026'", "2026")
    assert not (project / "history.db").exists(), "who only asks makes nothing"
    remember()
    require_refusal(UsageError, "There is no night yet")
    require_refusal(UsageError, "has no night 'x'", "x")
    folder = keep()
    for name in (str(folder.parent / "night.json"), "nights"):
        require_refusal(RecordingError, r"nights has no night\.json", name)
    require_refusal(UsageError, "no night at nights/2027", "nights/2027")
    (folder / "night.json").write_text("{")
    require_refusal(InputError, "cannot be read", str(folder))
    (project / "tracekit.toml").unlink()
    require_refusal(UsageError, r"no tracekit\.toml")


GOOD = of_night(replace(NIGHT, entries=(FINE,), outcome=Outcome.OK))
NOW = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
DAY = 24 * 3600.0


def test_an_old_night_says_nothing_of_today(subtests: pytest.Subtests) -> None:
    assert judge_age(GOOD, DAY, NOW) is GOOD
    for started, message in (
        ("2026-11-20T02:29:59+00:00", r"24\.0 h ago; --max-age allows 24\.0 h"),
        ("2026-11-18T02:30:00", r"72\.0 h ago"),
        ("soon", "When it began is not known"),
    ):
        with subtests.test(started=started):
            old = judge_age(replace(GOOD, started=started), DAY, NOW)
            assert old.outcome is Outcome.INCONCLUSIVE
            assert re.search(message, old.reason)
            assert [case.outcome for case in old.cases] == [Outcome.OK, Outcome.INCONCLUSIVE]
            worse = replace(GOOD, outcome=Outcome.REGRESSION, started=started)
            assert judge_age(worse, 1.0, NOW) is worse


def test_a_capture_points_to_its_line_of_the_plan(keep: Keep) -> None:
    night, plan = find_night(str(keep()))
    report = add_plan_lines(of_night(night, plan), plan)
    assert report.file == "tracekit.toml"
    lines = {suite.name: suite.line for suite in report.suites}
    assert lines == {"decode": 6, "prefill": 10, "serve": None, "micro": None}
    assert add_plan_lines(report, None) is report


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
