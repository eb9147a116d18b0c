"""What a night says beside its numbers."""

from dataclasses import replace

from tracekit.base.recording import Overhead
from tracekit.nightly import run
from tracekit.nightly.history.night import Night


def test_the_notes_say_why_what_was_checked_and_what_tracing_cost(night: Night) -> None:
    assert list(run.notes(night)) == [
        "decode: parity of 12 cases held.",
        "decode: Tracing costs 4.1 % ± 1.0 % of a step's time.",
    ]


def test_an_unknown_cost_of_tracing_is_told_as_unknown(night: Night) -> None:
    entry = replace(night.entries[0], overhead=Overhead(reason="nothing was traced"))
    assert list(run.notes(replace(night, entries=(entry,))))[-1] == (
        "decode: What tracing costs is not known, because nothing was traced."
    )
