"""How nights become courses: one for each piece of work, with all nights that concern it."""

from typing import Any

from tracekit.nightly.history.night import Accepted, Outcome
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import State, courses_of


def states(course: Any) -> list[tuple[str, str]]:
    return [(one.at[8:10], one.state.value) for one in course.fared]


def test_every_night_is_there_as_what_it_was(made: Any) -> None:
    nights = [
        made.night(1, made.entry()),
        made.night(2, made.entry(Outcome.REGRESSION, reason="slower")),
        made.night(3, made.entry(Outcome.INCONCLUSIVE)),
        made.night(4, made.entry(Outcome.FAILED)),
        made.night(5, made.entry(None)),
        made.night(6, made.entry(capture="sdpa"), partial=True, reason="The budget was spent."),
    ]
    missed = [Missed("p", "m", made.at(7), "It slept."), Missed("other", "m", made.at(7), "")]
    paged = made.course(nights, missed=missed)
    assert states(paged) == [
        ("01", "ok"),
        ("02", "regression"),
        ("03", "inconclusive"),
        ("04", "failed"),
        ("05", "unfinished"),
        ("06", "not run"),
        ("07", "missed"),
    ]
    assert [one.reason for one in paged.fared[1::4]] == ["slower", "The budget was spent."]
    assert paged.fared[-1].reason == "It slept."
    assert paged.last.at == made.at(6)


def test_a_night_that_failed_before_the_capture_is_failed_there_too(made: Any) -> None:
    broken = made.night(2, outcome=Outcome.FAILED, reason="The disk is full.")
    course = made.course([made.night(1, made.entry()), broken])
    assert (course.fared[1].state, course.fared[1].reason) == (State.FAILED, "The disk is full.")


def test_nights_before_the_first_of_a_capture_do_not_concern_it(made: Any) -> None:
    nights = [made.night(1, made.entry(capture="sdpa")), made.night(2, made.entry())]
    found = {one.capture: one for one in courses_of([], nights, [], [])}
    assert states(found["paged"]) == [("02", "ok")]
    assert states(found["sdpa"]) == [("01", "ok"), ("02", "not run")]


def test_other_work_of_the_same_name_is_another_course_and_the_latest_comes_first(
    made: Any,
) -> None:
    nights = [
        made.night(1, made.entry(work="old")),
        made.night(2),
        made.night(3, made.entry(work="old")),
        made.night(4, made.entry(work="new")),
        made.night(5),
    ]
    new, old = courses_of([], nights, [], [])
    assert (new.work, new.current, new.name) == ("new", True, "capture-1")
    assert (old.work, old.current, old.name) == ("old", False, "capture-2")
    assert states(new) == [("04", "ok"), ("05", "not run")]
    assert states(old) == [("01", "ok"), ("02", "not run"), ("03", "ok")]


def test_machines_and_plans_are_kept_apart(made: Any) -> None:
    nights = [
        made.night(1, made.entry()),
        made.replace(made.night(1, made.entry(Outcome.FAILED)), id="x", machine="other"),
    ]
    first, second = courses_of([], nights, [], [])
    assert (first.machine, states(first)) == ("m", [("01", "ok")])
    assert (second.machine, states(second)) == ("other", [("01", "failed")])


def test_what_was_accepted_of_another_machine_or_other_work_is_not_its_own(made: Any) -> None:
    here, there = made.night(1, made.entry()), made.night(2, made.entry(), machine="other")
    accepted = [
        Accepted("n01", "paged", "w1", made.at(3), "here"),
        Accepted("n02", "paged", "w1", made.at(3), "there"),
        Accepted("n01", "paged", "w9", made.at(3), "other work"),
        Accepted("gone", "paged", "w1", made.at(3), "a night that is not shown"),
    ]
    course = next(one for one in courses_of([], [here, there], accepted, []) if one.machine == "m")
    assert [one.reason for one in course.accepted] == ["here", "a night that is not shown"]


def test_series_without_their_nights_tell_of_nights_themselves(made: Any) -> None:
    points = (
        made.point(1, 1.0, outcome=Outcome.OK),
        made.point(2, None, night_outcome=Outcome.FAILED, reason="It broke."),
    )
    course = made.course([], made.series(*points))
    assert states(course) == [("01", "ok"), ("02", "failed")]
    assert course.fared[1].reason == "It broke."


def test_series_that_decide_come_first(made: Any) -> None:
    followed = made.series(made.point(1, 1.0), metric="gpu_busy", gated=False)
    deciding = made.series(made.point(1, 1.0))
    course = made.course([made.night(1, made.entry())], followed, deciding)
    assert [one.metric for one in course.series] == ["step_p50", "gpu_busy"]


def test_order_of_what_is_given_does_not_matter(made: Any) -> None:
    nights = [made.night(day, made.entry()) for day in (3, 1, 2)]
    assert courses_of([], nights, [], []) == courses_of([], nights[::-1], [], [])
    assert courses_of([], [], [], [Missed("p", "m", made.at(1), "")]) == ()
