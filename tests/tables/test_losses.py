"""Losses in sentences, and the ledger of whoever collects them."""

from tracekit.tables.losses import (
    EncodingEvidence,
    Flaw,
    Loss,
    Severity,
    collecting,
    list_reported_losses,
    report,
    sentences,
)

INFERRED = "read by an encoding that was never compared with an export"
UNKNOWN = "left empty, because how the type is stored is not known"


def unsure(evidence: EncodingEvidence, schema: str, bundle: str, *columns: str) -> Loss:
    return Loss(Flaw.UNSURE, schema=schema, columns=columns, evidence=evidence, bundle=bundle)


TICK = unsure(EncodingEvidence.INFERRED, "tick", "x.trace", "a", "b")
KDEBUG = unsure(EncodingEvidence.INFERRED, "kdebug", "x.trace", "d")
EMPTY = unsure(EncodingEvidence.NONE, "tick", "x.trace", "c")
ELSEWHERE = unsure(EncodingEvidence.INFERRED, "kdebug", "y.trace", "d")
OLD, LAST = Loss(Flaw.NOTED, "It is old."), Loss(Flaw.NOTED, "The last.")
CUT, NAMELESS = Loss(Flaw.DAMAGED, "It is cut."), Loss(Flaw.UNNAMED, "It has no names.")


def test_losses_of_several_tables_become_one_sentence_at_the_first_place() -> None:
    assert sentences([OLD, TICK, EMPTY, LAST, KDEBUG, ELSEWHERE, OLD]) == (
        "It is old.",
        f"x.trace: {INFERRED}: tick (a, b), kdebug (d).",
        f"x.trace: tick: {UNKNOWN}: c.",
        "The last.",
        f"y.trace: kdebug: {INFERRED}: d.",
    )


def test_losses_of_like_tables_of_several_bundles_are_alike() -> None:
    for loss in (KDEBUG, ELSEWHERE):
        texts = sentences([loss, OLD], bundles=False)
        assert texts == (f"kdebug: {INFERRED}: d.", "It is old."), loss


def test_errors_are_damage_to_rows_and_names() -> None:
    errors = {flaw for flaw in Flaw if flaw.severity is Severity.ERROR}
    assert errors == {Flaw.DAMAGED, Flaw.UNNAMED}


def test_a_ledger_separates_requested_losses_from_others() -> None:
    report([CUT])  # nobody collects
    with collecting() as ledger:
        report([CUT, OLD], read=False)
        assert (ledger.losses, ledger.read, ledger.costs) == ((CUT, OLD), (), ())
        report([NAMELESS, OLD])
        assert ledger.costs == (NAMELESS,)
        report([CUT])
        report([CUT], read=False)
        assert (ledger.read, ledger.costs) == ((CUT, OLD, NAMELESS), (CUT, NAMELESS))
        assert list_reported_losses() == ("It is cut.", "It is old.", "It has no names.")
    assert list_reported_losses() == ()


def test_an_outer_ledger_does_not_get_an_inner_ones_losses() -> None:
    with collecting() as outer:
        with collecting() as inner:
            report([CUT])
        report([OLD])
    assert (inner.losses, outer.losses) == ((CUT,), (OLD,))
