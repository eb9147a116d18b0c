"""Links from the page to the reports of nights, and the table that has all of them."""

from pathlib import Path
from typing import Any

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.trend.course import State, links_from, reports_of
from tracekit.nightly.trend.page import table_of


def beside(path: str) -> str:
    return path


def test_links_lead_to_files_that_are_there(tmp_path: Path) -> None:
    history, page = tmp_path / "history", tmp_path / "nights"
    file = page / "n 1" / "report.html"
    file.parent.mkdir(parents=True)
    history.mkdir()
    file.write_text("")
    link = links_from(page, history)
    assert link("../nights/n 1/report.html") == "n%201/report.html"
    assert link(str(file)) == "n%201/report.html"
    assert link("../nights/pruned/report.html") == ""


def test_reports_of_both_sides_are_linked_candidates_first(made: Any) -> None:
    pairs = (made.traced("c-1", "r-1"), made.traced("c-2", "r-2"), made.traced())
    course = made.course([made.night(1, made.entry(pairs=pairs))])
    assert list(reports_of(course.fared[0], beside)) == [
        ("n01/c-1/report.html", "candidate 1"),
        ("n01/c-2/report.html", "candidate 2"),
        ("n01/r-1/report.html", "reference 1"),
        ("n01/r-2/report.html", "reference 2"),
    ]


def test_a_single_pair_needs_no_number(made: Any) -> None:
    course = made.course([made.night(1, made.entry(pairs=(made.traced("c", "r"),)))])
    assert [words for _, words in reports_of(course.fared[0], beside)] == [
        "candidate",
        "reference",
    ]


def test_what_has_no_report_has_no_link(made: Any) -> None:
    untraced = made.night(1, made.entry())
    homeless = made.night(2, made.entry(pairs=(made.traced("c"),)), folder="")
    pruned = made.night(3, made.entry(pairs=(made.traced("c"),)))
    course = made.course([untraced, homeless, pruned, made.night(4)])
    assert not any(list(reports_of(one, lambda _: "")) for one in course.fared)
    assert [len(list(reports_of(one, beside))) for one in course.fared] == [0, 0, 1, 0]


def test_the_table_has_all_nights_the_latest_first(made: Any) -> None:
    nights = [
        made.night(1, made.entry(pairs=(made.traced("c"),)), commit="0123456789abcdef"),
        made.night(2, made.entry(Outcome.FAILED, reason="It broke.")),
    ]
    step = made.series(
        made.point(1, 1e6, change=0.02, low=0.01, high=0.03, reference=1e6), made.point(2, None)
    )
    idle = made.series(made.point(1, 0.2), metric="gpu_idle_ratio", unit="ratio", gated=False)
    table = table_of(made.course(nights, step, idle), beside)
    (failed, nothing, _), (good, cells, reports) = table
    assert (failed.at, failed.state, failed.reason) == (made.at(2), State.FAILED, "It broke.")
    assert nothing == ["", ""]
    assert cells == ["1 ms; +2.0 % [+1.0 % … +3.0 %]", "20.0 %"]
    assert (good.at, reports) == (made.at(1), [("n01/c/report.html", "candidate")])
