"""What happened between nights."""

from typing import Any

import pytest

from tracekit.nightly.history.night import Accepted, Described
from tracekit.nightly.trend.course import Happening, changed_at, happenings


def night(made: Any, day: int, *, digest: str = "", entry: Any = None, **environment: Any) -> Any:
    return made.night(day, entry or made.entry(), digest=digest, environment=environment)


def test_what_changed_is_lettered_and_says_from_what_to_what(made: Any) -> None:
    nights = [
        night(made, 1, chip="M3", mlx="0.29", os_build="25A1"),
        night(made, 2, chip="M3", mlx="0.29", os_build="25A1"),
        night(made, 3, chip="M3", mlx="0.30", os_build="25B7"),
        night(made, 4, chip="M3", mlx="0.30"),
    ]
    assert happenings(made.course(nights)) == (
        Happening("A", made.at(3), False, "MLX 0.29 → 0.30; OS build 25A1 → 25B7"),
        Happening("B", made.at(4), False, "OS build 25B7 → not stated"),
    )


def test_nights_that_did_not_run_change_nothing(made: Any) -> None:
    nights = [
        night(made, 1, mlx="1"),
        made.night(2, environment={"mlx": "2"}),
        night(made, 3, mlx="1"),
    ]
    assert happenings(made.course(nights)) == ()


def test_a_baseline_stands_at_the_night_that_was_accepted(made: Any) -> None:
    nights = [night(made, day) for day in (1, 2, 3)]
    accepted = [
        Accepted("n02", "paged", "w1", made.at(9), "New tile size."),
        Accepted("gone", "paged", "w1", made.at(5), "Of a night that is not shown."),
    ]
    assert happenings(made.course(nights, accepted=accepted)) == (
        Happening("A", made.at(2), True, "accepted on 9 Nov 2026: New tile size."),
        Happening("B", made.at(5), True, "accepted on 5 Nov 2026: Of a night that is not shown."),
    )


def test_sides_are_told_apart_and_what_all_have_in_common_is_said_once(made: Any) -> None:
    def sides(mlx: str, reference: str) -> Any:
        return made.replace(
            made.entry(),
            candidate=Described("paged", mlx=mlx),
            reference=Described("paged", mlx=reference),
        )

    nights = [
        night(made, 1, mlx="1", entry=sides("1", "1")),
        night(made, 2, mlx="2", entry=sides("2", "1")),
        night(made, 3, mlx="2", entry=sides("2", "2")),
    ]
    assert [one.words for one in happenings(made.course(nights))] == [
        "MLX 1 → 2",
        "reference's MLX 1 → 2",
    ]


def test_a_commit_and_the_plan_are_shown_in_short(made: Any) -> None:
    def own(letter: str) -> Any:
        return made.replace(made.entry(), candidate=Described("paged", commit=letter * 40))

    nights = [
        night(made, 1, digest="1" * 64, entry=own("a")),
        night(made, 2, digest="2" * 64, entry=own("b")),
    ]
    course = made.course(nights)
    commit = "candidate's commit aaaaaaaaaaaa → bbbbbbbbbbbb"
    assert changed_at(course, made.at(2)) == f"plan 111111111111 → 222222222222; {commit}"
    assert changed_at(course, made.at(1)) == ""
    [one] = happenings(course)
    assert one.words == "plan 111111111111 → 222222222222", "commits change in most nights"


@pytest.mark.parametrize(("place", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB")])
def test_letters_do_not_end(made: Any, place: int, letter: str) -> None:
    accepted = [Accepted("n01", "paged", "w1", made.at(1), str(one)) for one in range(28)]
    found = happenings(made.course([night(made, 1)], accepted=accepted))
    assert (found[place].letter, found[place].words[-2:].strip()) == (letter, str(place))
