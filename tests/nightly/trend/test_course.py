"""How nights become courses, what happened between them, and where their reports are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import short_nights as made
from tracekit.base.recording import Overhead
from tracekit.nightly.history.night import Accepted, Described, Entry, Missed, Outcome
from tracekit.nightly.trend import course as courses


def states(course: courses.Course) -> str:
    return ", ".join(f"{fared.at[8:10]} {fared.state}" for fared in course.fared)


def test_every_night_is_shown_with_its_outcome() -> None:
    nights = [
        made.night(1, made.entry()),
        made.night(2, made.entry(Outcome.REGRESSION, reason="slower")),
        made.night(5, made.entry(None)),
        made.night(6, made.entry(capture="sdpa"), partial=True, reason="The budget was spent."),
        made.night(8, outcome=Outcome.FAILED, reason="The disk is full."),
    ]
    missed_nights = [
        Missed("p", "m", made.make_start_time(7), "It slept."),
        Missed("other", "m", made.make_start_time(7), ""),
    ]
    paged = made.course(nights[::-1], missed=missed_nights)
    expected_states = "01 ok, 02 regression, 05 unfinished, 06 not run, 07 missed, 08 failed"
    assert states(paged) == expected_states
    reasons = ["slower", "The budget was spent.", "It slept.", "The disk is full."]
    assert [fared.reason for fared in paged.fared if fared.reason] == reasons
    assert (paged.last.at, courses.courses_of([], [], [], missed_nights)) == (
        made.make_start_time(8),
        (),
    )


def test_other_work_is_another_course_the_latest_first_and_an_anchor_is_not_due() -> None:
    nights = [
        made.night(1, made.entry(capture="sdpa")),
        made.night(2, made.entry(work="old")),
        made.night(3),
        made.night(4, made.entry(work="old"), made.entry(capture="paged-anchor")),
        made.night(5, made.entry(work="new")),
        made.night(6),
    ]
    all_courses = courses.courses_of(
        [], nights, [], [Missed("p", "m", made.make_start_time(7), "")]
    )
    rows = [(course.work, course.current, course.name, states(course)) for course in all_courses]
    assert rows == [
        ("w1", True, "capture-1", ", ".join(
            ["01 ok", *(f"0{day} not run" for day in range(2, 7)), "07 missed"])),
        ("w1", True, "capture-2", "04 ok"),
        ("new", True, "capture-3", "05 ok, 06 not run, 07 missed"),
        ("old", False, "capture-4", "02 ok, 03 not run, 04 ok"),
    ]  # fmt: skip
    back = courses.courses_of([], [*nights, made.night(8, made.entry(work="old"))], [], [])
    assert [course.work for course in back if course.capture == "paged" and course.current] == [
        "old"
    ]


def test_other_machines_and_other_work_are_kept_apart() -> None:
    here, there = made.night(1, made.entry()), made.night(2, made.entry(), machine="other")
    accepted = [
        Accepted("n01", "paged", "w1", made.make_start_time(3), "here"),
        Accepted("n02", "paged", "w1", made.make_start_time(3), "there"),
        Accepted("n01", "paged", "w9", made.make_start_time(3), "other work"),
        Accepted("gone", "paged", "w1", made.make_start_time(3), "a night that is not shown"),
    ]
    followed = made.series(made.point(1, 1.0), metric="gpu_busy", gated=False)
    blank = made.series(made.point(1, None), metric="gpu_idle", gated=False)
    deciding = made.series(made.point(1, None))
    series = [followed, blank, deciding, replace(deciding, machine="other")]
    first_course, second = courses.courses_of(series, [here, there], accepted, [])
    assert [acceptance.reason for acceptance in first_course.accepted] == [
        "here",
        "a night that is not shown",
    ]
    assert (first_course.machine, first_course.series) == ("m", (deciding, followed, blank))
    assert (first_course.shown, second.machine, states(second)) == (
        (deciding, followed),
        "other",
        "02 ok",
    )


def make_sided_entry(mlx: str, reference: str, **facts: Any) -> Entry:
    candidate = Described("paged", mlx=mlx, **facts)
    return made.entry(candidate=candidate, reference=Described("paged", mlx=reference))


def test_changes_are_lettered_with_their_before_and_after() -> None:
    nights = [
        made.night(1, make_sided_entry("1", "1"), environment={"mlx": "1", "os_build": "A"}),
        made.night(2, environment={"mlx": "9"}),
        made.night(3, make_sided_entry("2", "1"), environment={"mlx": "2", "os_build": "B"}),
        made.night(4, make_sided_entry("2", "2"), environment={"mlx": "2"}),
    ]
    accepted = [
        Accepted("n03", "paged", "w1", made.make_start_time(9), "New tile size.", who="ada"),
        Accepted("gone", "paged", "w1", made.make_start_time(8), "Not shown."),
    ]
    assert courses.happenings(made.course(nights, accepted=accepted)) == (
        courses.CourseEvent("A", made.make_start_time(3), False, "MLX 1 → 2; OS build A → B"),
        courses.CourseEvent(
            "B", made.make_start_time(3), True, "accepted on 9 Nov 2026 by ada: New tile size."),
        courses.CourseEvent(
            "C", made.make_start_time(4), False, "OS build B → not stated; reference's MLX 1 → 2"
        ),
        courses.CourseEvent(
            "D", made.make_start_time(8), True, "accepted on 8 Nov 2026: Not shown."),
    )  # fmt: skip
    many = [
        Accepted("n01", "paged", "w1", made.make_start_time(1), str(place)) for place in range(28)
    ]
    changes = courses.happenings(made.course(nights, accepted=many))
    assert [changes[place].letter for place in (0, 25, 26, 27)] == ["A", "Z", "AA", "AB"]


def test_commits_are_shown_only_at_change_points() -> None:
    course = made.course([
        made.night(1, make_sided_entry("1", "1", commit="a" * 40), digest="1" * 64),
        made.night(2, make_sided_entry("1", "1", commit="b" * 40), digest="2" * 64),
    ])  # fmt: skip
    plan = "plan 111111111111 → 222222222222"
    commit = "candidate's commit aaaaaaaaaaaa → bbbbbbbbbbbb"
    assert courses.describe_changes(course, commits=True) == {
        made.make_start_time(2): f"{plan}; {commit}"
    }
    assert [event.words for event in courses.happenings(course)] == [plan]


def test_links_lead_to_files_that_are_there(tmp_path: Path) -> None:
    history, page = tmp_path / "history", tmp_path / "nights"
    file = page / "n 1" / "report.html"
    file.parent.mkdir(parents=True)
    history.mkdir()
    file.write_text("")
    link = courses.links_from(page, history)
    links = [link(path) for path in ("../nights/n 1/report.html", str(file), "../nights/n 1")]
    assert links == ["n%201/report.html", "n%201/report.html", ""]


def test_reports_of_both_sides_are_linked_candidates_first() -> None:
    several_pairs = (
        made.make_traced_pair("c-1", "r-1"),
        made.make_traced_pair("c-2", "r-2"),
        made.make_traced_pair(),
    )
    course = made.course([
        made.night(1, made.entry(pairs=several_pairs)),
        made.night(2, made.entry(pairs=(made.make_traced_pair("c", "r"),))),
        made.night(3, made.entry(pairs=(made.make_traced_pair("c"),)), folder=""),
        made.night(4),
    ])  # fmt: skip
    assert [list(courses.reports_of(fared, str)) for fared in course.fared] == [
        [(f"n01/{side[0]}-{number}/report.html", f"{side} {number}")
         for side in ("candidate", "reference") for number in (1, 2)],
        [("n02/c/report.html", "candidate"), ("n02/r/report.html", "reference")],
        [],
        [],
    ]  # fmt: skip
    assert not any(list(courses.reports_of(fared, lambda _: "")) for fared in course.fared)


def test_changes_days_and_costs_in_words() -> None:
    ways = [courses.direction(change, "lower") for change in (0.1, -0.1, 0.0)]
    assert ways == ["worse", "better", "changed"]
    assert [courses.direction(change, "higher") for change in (0.1, -0.1)] == ["better", "worse"]
    assert courses.direction(0.1, "neither") == "changed"
    assert courses.day("2026-11-20T23:30:00-02:00") == "21 Nov 2026", "days are those of UTC"
    same_day, later = "2026-11-20T02:30:00+00:00", "2026-12-03T02:30:00+00:00"
    assert courses.days(same_day, "2026-11-20T22:30:00+00:00") == "20 Nov 2026"
    assert courses.days(same_day, later) == "20 Nov 2026 to 3 Dec 2026"
    then = ("2026-11-19T08:00", "2026-11-20T08:00", "2026-11-21T00:00", "2026-12-20T08:00")
    words = [courses.ago("2026-11-20T02:30:00+00:00", current_time) for current_time in then]
    assert words == ["today", "today", "yesterday", "30 days ago"]
    costs = (None, Overhead(0.021, 0.006), Overhead(0.05), Overhead(reason="no."), Overhead())
    assert [courses.cost_of(cost) for cost in costs] == [
        "",
        "Tracing costs 2.1 % ± 0.6 % of a step's time.",
        "Tracing costs 5.0 % of a step's time.",
        "The cost of tracing is not known, because no.",
        "The cost of tracing is not known.",
    ]
