"""A night as the document holds it, in literal numbers."""

from pathlib import Path

import pytest

from played_nights import Played
from tracekit.base.recording import Overhead
from tracekit.nightly.history.night import (
    Described,
    Entry,
    Judged,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)

SPEED = Judged(
    metric="tokens_per_second",
    unit="tokens/s",
    better="higher",
    outcome=Outcome.REGRESSION,
    candidate=940.0,
    reference=1000.0,
    change=-0.06,
    low=-0.071,
    high=-0.052,
    expected=0.0,
    pairs=20,
    reproduced=True,
    reason="6.0 % slower, and 5.8 % when it was repeated.",
)
IDLE = Judged(
    metric="gpu_idle_ratio",
    unit="ratio",
    better="lower",
    scale="difference",
    threshold=0.02,
    gated=False,
    candidate=0.31,
    reference=0.3,
    change=0.01,
)
ENTRY = Entry(
    capture="decode",
    work="0011aabb",
    candidate=Described("paged", {"batch": 16}, words="paged"),
    reference=Described("paged", {"batch": 16}, words="revision 1a2b3c4"),
    pairs=(
        Pair(1, 1, "abba", candidate={"step_p50": (1e6, 1.1e6)}, reference={"step_p50": (1e6,)}),
    ),
    judged=(SPEED, IDLE),
    findings=(TracedFinding("bubbles", "The GPU waited.", "warning", traces=2, of=2),),
    outcome=Outcome.REGRESSION,
    reason="tokens_per_second is worse.",
    overhead=Overhead(0.041, 0.01, 1041, 1000),
    parity="parity of 12 cases held.",
)


@pytest.fixture
def night() -> Night:
    """A night of one capture that found a regression."""
    return Night(
        id="2026-11-20T02-30-00-abcd",
        plan="paged",
        machine="mini-1",
        started="2026-11-20T02:30:00.000+00:00",
        entries=(ENTRY,),
        outcome=Outcome.REGRESSION,
        reason="decode: tokens_per_second is worse.",
    )


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """A repository of nights by a made clock, whose work trees lie in its own folder."""
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "cache"))
    return Played(tmp_path / "repository")
