from tracekit.tables.bundle.cells.encodings import Evidence, gathered, noted, without_bundle

INFERRED = "read by an encoding that was never compared with an export"
UNKNOWN = "left empty, because how the type is stored is not known"


def test_columns_of_a_table_are_noted_by_how_surely_they_were_read() -> None:
    columns = {
        Evidence.NONE: ["d"],
        Evidence.VERIFIED: ["a"],
        Evidence.INFERRED: ["b", "c"],
    }
    assert noted("tick", columns) == (f"tick: {INFERRED}: b, c", f"tick: {UNKNOWN}: d")
    assert noted("tick", {Evidence.VERIFIED: ["a"]}) == ()


def test_notes_on_several_tables_become_one_sentence_where_the_first_stood() -> None:
    assert gathered(
        [
            "Something else: of it.",
            f"x.trace: tick: {INFERRED}: a, b.",
            f"x.trace: tick: {UNKNOWN}: c.",
            "The last.",
            f"x.trace: kdebug: {INFERRED}: d.",
            f"y.trace: kdebug: {INFERRED}: d.",
        ]
    ) == (
        "Something else: of it.",
        f"x.trace: {INFERRED}: tick (a, b), kdebug (d).",
        f"x.trace: tick: {UNKNOWN}: c.",
        "The last.",
        f"y.trace: kdebug: {INFERRED}: d.",
    )


def test_what_is_said_twice_stands_there_once() -> None:
    note = f"x.trace: kdebug: {INFERRED}: class, code."
    assert gathered([note, "One.", note, "One."]) == (note, "One.")
    assert gathered([]) == ()


def test_what_was_gathered_stays_as_it_is() -> None:
    once = gathered([f"x.trace: tick: {INFERRED}: a.", f"x.trace: kdebug: {INFERRED}: b."])
    assert gathered(once) == once


def test_notes_on_like_tables_of_several_bundles_are_alike() -> None:
    assert without_bundle(f"x.trace: tick: {INFERRED}: a.") == f"tick: {INFERRED}: a."
    assert without_bundle("x.trace: it has no rows.") == "x.trace: it has no rows."
