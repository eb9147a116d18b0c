"""A digest of all that decides what a night measures."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from tracekit.nightly.plan.plan import Capture, NightPlan, Reference

_LENGTH = 16  # hexadecimal digits


def digested(plan: NightPlan) -> NightPlan:
    """Return the plan with its digest.

    It holds what is measured, on which terms a pair counts, and against what. It leaves out what
    only names or judges: the plan's name, where files go, the budget, thresholds, rules, and what
    is checked first. Paths count relative to the plan's file, so that a checkout elsewhere has
    the same digest.
    """
    folder = plan.file.parent
    measured = {
        "captures": [_measured(one, folder) for one in plan.captures],
        "state": plan.state,
        "retries": plan.retries,
    }
    return replace(plan, digest=digest_of(measured, _LENGTH))


def digest_of(value: object, length: int) -> str:
    """Return a digest of a value, the same in whatever order its keys stand."""
    written = msgspec.json.encode(value, enc_hook=str, order="sorted")
    return hashlib.sha256(written).hexdigest()[:length]


def relative(path: Path | None, folder: Path) -> Path | None:
    """Return a path as it counts from a folder; one that lies elsewhere as it is."""
    return path.relative_to(folder) if path and path.is_relative_to(folder) else path


def _measured(capture: Capture, folder: Path) -> Any:
    plain = replace(
        capture,
        workloads=relative(capture.workloads, folder),
        reference=_plain(capture.reference, folder),
        metrics=(),
        fail_on=(),
        checks=(),
        parity="auto",
    )
    return msgspec.to_builtins(plain, enc_hook=str)


def _plain(reference: Reference | None, folder: Path) -> Reference | None:
    return reference and replace(reference, python=relative(reference.python, folder))
