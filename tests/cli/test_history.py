"""`history` and `baseline`: what they print, write and refuse."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from command_line import assert_error
from devices import device
from stored_nights import entry_of, judged_of, night_of, pair_of, two_nights
from tracekit.nightly.history.night import Described, Night, Outcome
from tracekit.nightly.history.store.store import Store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A history of three nights, one of them a regression, and one that was missed."""
    file = tmp_path / "nights" / "history.db"
    with Store.connect(str(file)) as store:
        two_nights(store)
        failed = "No room: /Users/ada/tmp is full."
        store.append(night_of(4, [], outcome=Outcome.FAILED, reason=failed))
        store.record_missed("nightly", "mini", "2026-03-03T02:30:00+00:00", "no night began")
    return file


@pytest.fixture
def history(tracekit: Any, file: Path) -> Any:
    return lambda *words: tracekit(*words, "--history", file)


def rows_of(printed_text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(printed_text), delimiter="\t"))[1:-1]


def test_nights_are_listed_a_line_each(history: Any) -> None:
    result = history("nightly", "history")
    assert result.code == 0
    head, *rows = rows_of(result.out)
    assert head == ["night", "outcome", "change", "pairs", "commit"]
    outcomes = {row[0][:10]: row[1] for row in rows}
    assert [*outcomes] == [f"2026-03-0{day}" for day in range(1, 5)]
    assert [*outcomes.values()] == ["ok", "regression", "missed", "failed"]
    assert rows[1][2:] == ["decode step_p50 +10.0 % [+8.0 % … +12.0 %]", "7 of 7", "1a2b3c4"]


def test_nights_are_chosen(tracekit: Any, file: Path) -> None:
    for options, days, missed_count in (
        ("--outcome regression", [2], 0),
        ("--limit 1", [4], 0),
        ("--limit 2", [2, 4], 1),
        ("--since 2026-03-02 --until 2026-03-03", [2], 0),
        ("--plan weekly", [], 0),
        ("--machine studio", [], 0),
    ):
        result = tracekit(
            "nightly", "history", "--history", f"sqlite:///{file}", "--json", *options.split()
        )
        document = json.loads(result.out)
        assert [int(night["id"][8:10]) for night in document["nights"]] == days, options
        assert len(document["missed"]) == missed_count, options


def test_a_metric_is_shown_over_nights(history: Any) -> None:
    head, *rows = rows_of(history("nightly", "history", "--metric", "step_p50").out)
    assert head[:4] == ["began", "value", "reference", "change"]
    assert rows[0][1:3] == ["110 ns", "100 ns"]
    assert rows[0][3].startswith("+10.0 % [")
    assert rows[2][1:3] + rows[2][4:6] == ["", "", "0", "failed"]
    assert "is full" in rows[2][3], "why there is no change"
    result = history("nightly", "history", "--metric", "step_p50", "--limit", "2")
    assert rows_of(result.out)[1:] == rows[-2:]
    as_json = json.loads(history("nightly", "history", "--metric", "all", "--json").out)
    assert [series["metric"] for series in as_json["entries"]] == ["step_p50"]


def test_every_value_is_exported(history: Any) -> None:
    result = history("nightly", "history", "--output", "-", "--samples")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert len(rows) == 2 * 7 * 4
    assert {row["value"] for row in rows} == {"109.0", "111.0", "99.0", "101.0"}


def test_senseless_options_and_places_are_reported(history: Any, tmp_path: Path) -> None:
    assert history("nightly", "history", "--samples").code == 2
    assert history("nightly", "history", "--output", "-", "--format", "otava").code == 2
    assert_error(history("nightly", "history", "--output", tmp_path), 3, "is a folder")
    result = history("nightly", "history", "--html", device(tmp_path, "full"))
    assert_error(result, 3, "full cannot be written: No space left on device.")
    assert result.out == ""


def measured_night(day: int, value: float) -> Night:
    """Make a night whose candidate took so long, and whose reference took 100 ns."""
    pairs = tuple(pair_of(number, value) for number in range(1, 4))
    change = value / 100 - 1
    judged = judged_of(candidate=value, change=change, low=change - 0.002, high=change + 0.002)
    candidate = Described("paged", commit=f"{day:07d}")
    entry = entry_of(pairs=pairs, judged=[judged], candidate=candidate)
    return night_of(day, [entry], commit=candidate.commit)


def changes_on_page(tracekit: Any, folder: Path, values: Sequence[float]) -> list[str]:
    """Return the rows of what changed on the trend page of such nights."""
    with Store.connect(str(folder / "history.db")) as store:
        for day, value in enumerate(values, 1):
            store.append(measured_night(day, value))
    page = folder / "trend.html"
    result = tracekit("nightly", "history", "--history", folder / "history.db", "--html", page)
    assert result.code == 0, result.err
    tree: Any = html.document_fromstring(page.read_text())
    rows = tree.xpath("//*[@aria-label='Steps and drifts']//tbody/tr")
    return [" ".join(row.text_content().split()) for row in rows]


def test_a_drift_is_one_change_with_a_rate_and_a_step_has_a_date(
    tracekit: Any, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    stepped = [100.0] * 12 + [107.0] * 12
    noise = [0.2, -0.3, 0.1, 0.0, -0.1, 0.3, -0.2]
    for name, values, expected_words in (
        ("drift", [100 * 1.01**night for night in range(30)],
         ["1 Mar 2026 to 30 Mar 2026", "+1.0 % a night, worse", "not in one of them"]),
        ("drift of six nights", [100.0] * 10 + [100 * 1.023**night for night in range(1, 7)],
         ["16 Mar 2026", "+2.3 % a night, worse", "not in one of them"]),
        ("step", [value + noise[place % 7] for place, value in enumerate(stepped)],
         ["13 Mar 2026", "+7.0 %, worse", "commit 0000012 → 0000013"]),
    ):  # fmt: skip
        with subtests.test(name):
            folder = tmp_path / name
            folder.mkdir()
            [row] = changes_on_page(tracekit, folder, values)
            assert [words for words in expected_words if words not in row] == [], row


def test_no_person_is_named_in_an_export_or_on_the_page(history: Any, tmp_path: Path) -> None:
    page = tmp_path / "trend.html"
    result = history("nightly", "history", "--output", "-", "--html", page)
    assert "No room: ~/tmp is full." in result.out
    assert "step_p50" in page.read_text()
    assert "ada" not in result.out + page.read_text()


def test_a_plan_says_the_history(
    tracekit: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    assert_error(tracekit("nightly", "history"), 2, "--history URL")
    plan = file.parent / "tracekit.toml"
    capture = '[[nightly.capture]]\nname = "decode"\nworkload = "paged"\n'
    plan.write_text(f'[nightly]\nhistory = "sqlite:///history.db"\n{capture}')
    assert tracekit("nightly", "history").code == 0
    monkeypatch.chdir(file.parent.parent)
    assert tracekit("nightly", "history", "--config", plan).code == 0


@pytest.mark.parametrize("command", ["history", "baseline list", "history unpin x"])
def test_nothing_is_made_by_looking(tracekit: Any, tmp_path: Path, command: str) -> None:
    result = tracekit("nightly", *command.split(), "--history", tmp_path / "none.db")
    assert_error(result, 3, "There is no history at")
    assert list(tmp_path.iterdir()) == []


def test_a_baseline_is_accepted_and_listed(history: Any) -> None:
    def accept(*words: str) -> Any:
        accepted = history("nightly", "baseline", "accept", *words)
        assert accepted.code == 0, accepted.err
        return accepted

    assert "Nothing was accepted" in history("nightly", "baseline", "list").err
    result = accept("2026-03-02", "--reason", "safer", "--by", "Ada")
    assert "decode\tstep_p50\t+10.0 % against the reference" in result.out
    assert "from the next night on" in result.err
    accept("2026-03-01", "--reason", "back", "--capture", "decode")
    _, *rows = rows_of(history("nightly", "baseline", "list").out)
    assert rows[0][1] == "Ada"
    assert [(row[2][:10], row[5], row[6]) for row in rows] == [
        ("2026-03-02", "no", "safer"),
        ("2026-03-01", "yes", "back"),
    ]
    accept("2026-03-01", "2026-03-02", "--reason", "surer")
    *_, last_row = rows_of(history("nightly", "baseline", "list").out)
    assert last_row[5] == "yes"
    assert last_row[6].startswith("surer (together with 2026-03-02")
    document = json.loads(history("nightly", "baseline", "list", "--json").out)
    first_baseline, second, _ = document["entries"]
    assert (first_baseline["machine"], first_baseline["holds"], second["holds"]) == (
        "mini",
        False,
        False,
    )


def test_a_baseline_without_sense_is_refused(history: Any) -> None:
    for words, message in (
        (["latest", "--reason", "x"], "failed, so nothing can be expected"),
        (["2026-03-02", "--reason", " "], "needs a reason"),
        (["2026-03-02"], "reason"),
        (["2026-03-02", "--reason", "x", "--capture", "prefill"], "no capture 'prefill'"),
        (["2026-04", "--reason", "x"], "no night '2026-04'"),
        (["2026", "--reason", "x"], "Several nights begin with"),
    ):
        assert_error(history("nightly", "baseline", "accept", *words), 2, message)
        assert history("nightly", "baseline", "list").out.startswith("# 0 accepted"), words


@pytest.mark.parametrize("other", [{"plan": "other"}, {"machine": "maxi"}])
def test_the_latest_night_is_none_where_several_plans_or_machines_have_one(
    history: Any, file: Path, other: dict[str, Any]
) -> None:
    """Nobody accepts the night of somebody else by mistake."""
    theirs = night_of(5, tail="else", **other)
    with Store.connect(str(file)) as store:
        store.append(theirs)
    for command in (("baseline", "accept"), ("history", "pin")):
        refused = history("nightly", *command, "latest", "--reason", "x")
        assert_error(refused, 2, theirs.id, night_of(4).id)
    with Store.connect(str(file)) as store:
        assert (store.acceptances(), store.list_pins()) == ([], frozenset())


def test_a_night_is_pinned_and_unpinned(history: Any) -> None:
    result = history("nightly", "history", "pin", "2026-03-02", "--reason", "odd")
    assert (result.code, result.out.strip()) == (0, night_of(2).id)
    assert f"{night_of(2).id} (pinned)" in history("nightly", "history").out
    assert history("nightly", "history", "unpin", "2026-03-02").code == 0
    assert_error(history("nightly", "history", "unpin", "2026-03-02"), 2, "is not pinned")
    assert history("nightly", "history", "unpin", "nowhere").code == 2
    assert history("nightly", "history", "pin", "2026-03-02", "--reason", "").code == 2
