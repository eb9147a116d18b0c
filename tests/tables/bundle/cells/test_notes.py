from tracekit.tables.bundle.cells.encodings import (
    Evidence,
    Unsure,
    sentences,
    unsure,
)

INFERRED = "read by an encoding that was never compared with an export"
UNKNOWN = "left empty, because how the type is stored is not known"

TICK = Unsure(Evidence.INFERRED, "tick", ("a", "b"), "x.trace")
KDEBUG = Unsure(Evidence.INFERRED, "kdebug", ("d",), "x.trace")
EMPTY = Unsure(Evidence.NONE, "tick", ("c",), "x.trace")
ELSEWHERE = Unsure(Evidence.INFERRED, "kdebug", ("d",), "y.trace")


def test_columns_of_a_table_are_noted_by_how_surely_they_were_read() -> None:
    columns = {
        Evidence.NONE: ["d"],
        Evidence.VERIFIED: ["a"],
        Evidence.INFERRED: ["b", "c"],
    }
    assert unsure("tick", columns) == (
        Unsure(Evidence.INFERRED, "tick", ("b", "c")),
        Unsure(Evidence.NONE, "tick", ("d",)),
    )
    assert unsure("tick", {Evidence.VERIFIED: ["a"]}) == ()


def test_notes_on_several_tables_become_one_sentence_where_the_first_stood() -> None:
    assert sentences(["It is old.", TICK, EMPTY, "The last.", KDEBUG, ELSEWHERE]) == (
        "It is old.",
        f"x.trace: {INFERRED}: tick (a, b), kdebug (d).",
        f"x.trace: tick: {UNKNOWN}: c.",
        "The last.",
        f"y.trace: kdebug: {INFERRED}: d.",
    )


def test_what_is_said_twice_stands_there_once() -> None:
    assert sentences([KDEBUG, "One.", KDEBUG, "One."]) == (str(KDEBUG), "One.")
    assert sentences([]) == ()


def test_notes_on_like_tables_of_several_bundles_are_alike() -> None:
    said = f"kdebug: {INFERRED}: d."
    for one in (KDEBUG, ELSEWHERE):
        assert sentences([one, "It has no rows."], bundles=False) == (said, "It has no rows.")
