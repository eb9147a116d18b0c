"""`history` and `baseline`: what they print, write and refuse."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devices import device
from stored_nights import entry_of, judged_of, night_of, pair_of
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store

Run = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A history of three nights, one of them a regression, and one that was missed."""
    file = tmp_path / "nights" / "history.db"
    pairs = [pair_of(number) for number in range(1, 8)]
    fine = judged_of(outcome=Outcome.OK, change=0.01, low=-0.01, high=0.02)
    with Store.open(str(file)) as store:
        entry = entry_of(pairs=pairs, judged=[fine], outcome=Outcome.OK)
        store.append(night_of(1, [entry], outcome=Outcome.OK, reason=""))
        store.append(night_of(2, [entry_of(pairs=pairs)]))
        failed = "No room: /Users/ada/tmp is full."
        store.append(night_of(4, [], outcome=Outcome.FAILED, reason=failed))
        store.missed("nightly", "mini", "2026-03-03T02:30:00+00:00", "no night began")
    return file


def rows_of(out: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(out), delimiter="\t"))[1:-1]


def test_nights_are_listed_a_line_each(tracekit: Run, file: Path) -> None:
    shown = tracekit("history", "--history", str(file))
    assert shown.code == 0
    head, *rows = rows_of(shown.out)
    assert head == ["night", "outcome", "change", "pairs", "commit"]
    assert [(row[0][:10], row[1]) for row in rows] == [
        ("2026-03-01", "ok"),
        ("2026-03-02", "regression"),
        ("2026-03-03", "missed"),
        ("2026-03-04", "failed"),
    ]
    assert rows[1][2:] == ["decode step_p50 +10.0 % [+8.0 % … +12.0 %]", "7 of 7", "1a2b3c4"]


@pytest.mark.parametrize(
    ("options", "nights"),
    [
        (["--outcome", "regression"], ["2026-03-02"]),
        (["--limit", "1"], ["2026-03-04"]),
        (["--since", "2026-03-02", "--until", "2026-03-03"], ["2026-03-02"]),
        (["--plan", "weekly"], []),
        (["--machine", "studio"], []),
    ],
)
def test_nights_are_chosen(
    tracekit: Run, file: Path, options: list[str], nights: list[str]
) -> None:
    shown = tracekit("history", "--history", f"sqlite:///{file}", "--json", *options)
    assert shown.code == 0
    assert [one["id"][:10] for one in json.loads(shown.out)["nights"]] == nights


@pytest.mark.parametrize(("limit", "missed"), [(1, 0), (2, 1), (3, 1)])
def test_nights_that_were_missed_before_those_listed_are_left_out(
    tracekit: Run, file: Path, limit: int, missed: int
) -> None:
    shown = tracekit("history", "--history", str(file), "--json", "--limit", limit)
    assert len(json.loads(shown.out)["missed"]) == missed


def test_a_metric_is_shown_over_nights(tracekit: Run, file: Path) -> None:
    shown = tracekit("history", "--history", str(file), "--metric", "step_p50")
    head, *rows = rows_of(shown.out)
    assert head[:4] == ["began", "value", "reference", "change"]
    assert rows[0][1:3] == ["110 ns", "100 ns"]
    assert rows[0][3].startswith("+10.0 % [")
    assert rows[2][1:3] + rows[2][4:6] == ["", "", "0", "failed"]
    assert "is full" in rows[2][3], "why there is no change"
    last = tracekit("history", "--history", str(file), "--metric", "step_p50", "--limit", "2")
    assert rows_of(last.out)[1:] == rows[-2:]
    as_json = tracekit("history", "--history", str(file), "--metric", "all", "--json")
    assert [one["metric"] for one in json.loads(as_json.out)] == ["step_p50"]


def test_every_value_is_exported(tracekit: Run, file: Path) -> None:
    shown = tracekit("history", "--history", str(file), "--export", "-", "--samples")
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert len(rows) == 2 * 7 * 4
    assert {row["value"] for row in rows} == {"109.0", "111.0", "99.0", "101.0"}


def test_options_that_do_not_go_together_are_told(
    tracekit: Run, file: Path, tmp_path: Path
) -> None:
    shown = tracekit("history", "--history", str(file), "--samples")
    assert shown.code == 2
    shown = tracekit("history", "--history", str(file), "--export", "-", "--format", "otava")
    assert shown.code == 2
    shown = tracekit("history", "--history", str(file), "--export", str(tmp_path))
    assert (shown.code, "is a folder" in shown.err) == (3, True)


def test_no_person_is_named_in_an_export_or_on_the_page(
    tracekit: Run, file: Path, tmp_path: Path
) -> None:
    page = tmp_path / "trend.html"
    shown = tracekit("history", "--history", str(file), "--export", "-", "--html", str(page))
    assert "No room: ~/tmp is full." in shown.out
    assert "step_p50" in page.read_text()
    assert "ada" not in shown.out + page.read_text()


def test_a_page_that_finds_no_room_is_an_error(tracekit: Run, file: Path, tmp_path: Path) -> None:
    shown = tracekit("history", "--history", str(file), "--html", str(device(tmp_path, "full")))
    assert (shown.code, shown.out) == (3, "")
    assert "full cannot be written: No space left on device." in shown.err


def test_the_plan_says_which_history(
    tracekit: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    shown = tracekit("history")
    assert shown.code == 2
    assert "--history URL" in shown.err
    plan = file.parent / "tracekit.toml"
    plan.write_text(
        '[nightly]\nhistory = "sqlite:///history.db"\n[[nightly.capture]]\nname = "decode"\n'
        'workload = "paged"\n'
    )
    shown = tracekit("history")
    assert shown.code == 0, shown.err
    monkeypatch.chdir(file.parent.parent)
    assert tracekit("history", "--config", str(plan)).code == 0


@pytest.mark.parametrize("command", [["history"], ["baseline", "list"], ["history", "unpin", "x"]])
def test_nothing_is_made_by_looking(tracekit: Run, tmp_path: Path, command: list[str]) -> None:
    shown = tracekit(*command, "--history", str(tmp_path / "none.db"))
    assert shown.code == 3
    assert "There is no history at" in shown.err
    assert list(tmp_path.iterdir()) == []


def test_a_baseline_is_accepted_and_listed(tracekit: Run, file: Path) -> None:
    of = ("--history", str(file))
    assert "Nothing was accepted" in tracekit("baseline", "list", *of).err
    words = ("2026-03-02", "--reason", "safer", "--by", "Ada")
    shown = tracekit("baseline", "accept", *words, *of)
    assert shown.code == 0, shown.err
    assert "decode\tstep_p50\t+10.0 % against the reference" in shown.out
    assert "from the next night on" in shown.err
    tracekit("baseline", "accept", "2026-03-01", "--reason", "back", "--capture", "decode", *of)
    _, *rows = rows_of(tracekit("baseline", "list", *of).out)
    assert rows[0][1] == "Ada"
    assert [(row[2][:10], row[5], row[6]) for row in rows] == [
        ("2026-03-02", "no", "safer"),
        ("2026-03-01", "yes", "back"),
    ]
    nights = ("2026-03-01", "2026-03-02")
    both = tracekit("baseline", "accept", *nights, "--reason", "surer", *of)
    assert both.code == 0, both.err
    *_, last = rows_of(tracekit("baseline", "list", *of).out)
    assert last[5] == "yes"
    assert last[6].startswith("surer (together with 2026-03-02")
    listed = json.loads(tracekit("baseline", "list", "--json", *of).out)[:2]
    assert [(one["machine"], one["holds"]) for one in listed] == [("mini", False), ("mini", False)]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["latest", "--reason", "x"], "failed, so nothing can be expected"),
        (["2026-03-02", "--reason", " "], "needs a reason"),
        (["2026-03-02"], "reason"),
        (["2026-03-02", "--reason", "x", "--capture", "prefill"], "no capture 'prefill'"),
        (["2026-04", "--reason", "x"], "no night '2026-04'"),
        (["2026", "--reason", "x"], "Several nights begin with"),
    ],
)
def test_a_baseline_that_makes_no_sense_is_refused(
    tracekit: Run, file: Path, words: list[str], told: str
) -> None:
    shown = tracekit("baseline", "accept", *words, "--history", str(file))
    assert shown.code == 2
    assert told in shown.err
    assert tracekit("baseline", "list", "--history", str(file)).out.startswith("# 0 accepted")


@pytest.mark.parametrize("other", [{"plan": "other"}, {"machine": "maxi"}])
def test_the_latest_night_is_none_where_several_plans_or_machines_have_one(
    tracekit: Run, file: Path, other: dict[str, str]
) -> None:
    """Nobody accepts the night of somebody else by mistake."""
    of = ("--reason", "x", "--history", str(file))
    with Store.open(str(file)) as store:
        store.append(night_of(5, tail="else", **other))
    for command in (("baseline", "accept"), ("history", "pin")):
        shown = tracekit(*command, "latest", *of)
        assert shown.code == 2
        assert night_of(5, tail="else").id in shown.err
        assert night_of(4).id in shown.err
    with Store.open(str(file)) as store:
        assert (store.acceptances(), store.pinned()) == ([], frozenset())


def test_a_night_is_pinned_and_unpinned(tracekit: Run, file: Path) -> None:
    of = ("--history", str(file))
    shown = tracekit("history", "pin", "2026-03-02", "--reason", "odd", *of)
    assert (shown.code, shown.out.strip()) == (0, night_of(2).id)
    assert f"{night_of(2).id} (pinned)" in tracekit("history", *of).out
    assert tracekit("history", "unpin", "2026-03-02", *of).code == 0
    shown = tracekit("history", "unpin", "2026-03-02", *of)
    assert tracekit("history", "unpin", "nowhere", *of).code == 2
    assert (shown.code, "is not pinned" in shown.err) == (2, True)
    assert tracekit("history", "pin", "2026-03-02", "--reason", "", *of).code == 2
