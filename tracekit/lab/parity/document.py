"""Parity as people and programs read it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tracekit.base.tolerances import BOUNDS, NORM
from tracekit.lab.parity.compare import Outcome, Parity

VERSION = 1
COLUMNS = ("subject", "dtype", "cases", "error", "bound", "from dense", "bound", "verdict")


def rows(parity: Parity) -> list[tuple[str, ...]]:
    """Return a row for each implementation and type: its worst errors, and the bounds."""
    return [
        _row(subject, dtype, outcomes) for (subject, dtype), outcomes in _grouped(parity).items()
    ]


def repeat(outcome: Outcome, parity: Parity) -> str:
    """Return the command line that runs one outcome again."""
    words = ["tracekit parity", "--case", outcome.case, "--subject", outcome.subject]
    words += ["--seed", str(parity.seed)] if parity.seed else []
    return " ".join([*words, *(["--emulate"] if parity.emulated else [])])


def document(parity: Parity) -> dict[str, Any]:
    """Return everything as plain values; what is not finite is null, with its words beside it."""
    worst = parity.worst
    return {
        "kind": "parity",
        "version": VERSION,
        "norm": NORM,
        "bounds": dict(BOUNDS),
        "backend": parity.backend,
        "emulated": parity.emulated,
        "seed": parity.seed,
        "interrupted": parity.interrupted,
        "breaches": len(parity.breaches),
        "worst": None if worst is None else {"case": worst.case, "subject": worst.subject},
        "repeat": None if worst is None else repeat(worst, parity),
        "outcomes": [_plain(one) for one in parity.outcomes],
    }


def error_words(error: float | None) -> str:
    """Return an error in words: "1.2e-04", "not finite" for what is infinitely far off."""
    if error is None:
        return ""
    return "not finite" if error == float("inf") else f"{error:.1e}"


def _plain(one: Outcome) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(one)
    infinite = any(value == float("inf") for value in (one.error, one.apart))
    for name in ("error", "apart"):
        if plain[name] == float("inf"):
            plain[name] = None
    failure = one.failure or ("the result is not finite" if infinite else "")
    return plain | {"breach": one.breach, "failure": failure}


def _grouped(parity: Parity) -> Mapping[tuple[str, str], list[Outcome]]:
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for one in parity.outcomes:
        groups.setdefault((one.subject, one.case.partition("-")[0]), []).append(one)
    return groups


def _row(subject: str, dtype: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    errors = [one.error for one in outcomes if one.error is not None]
    apart = [one.apart for one in outcomes if one.apart is not None]
    breaches = sum(one.breach for one in outcomes)
    bound = BOUNDS[dtype]
    return (
        subject,
        dtype,
        str(len(outcomes)),
        error_words(max(errors, default=None)),
        f"{bound:g}",
        error_words(max(apart, default=None)),
        f"{2 * bound:g}" if apart else "",
        "ok" if not breaches else f"{breaches} of {len(outcomes)} breach",
    )
