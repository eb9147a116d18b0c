"""Why a metric ended as it did, in words."""

from collections.abc import Sequence

from tracekit.nightly.gate.decision import Found


def reason(found: Found, change: str, parts: Sequence[str], threshold: str, short: str = "") -> str:
    """Say why a metric ended as it did.

    Args:
        found: What was found.
        change: The change of all sittings together, in words.
        parts: That of each sitting.
        threshold: The threshold in words.
        short: Which sitting has too few pairs that count, where one has.
    """
    whole = change
    if len(parts) > 1:
        whole = f"{parts[0]} at first, {parts[1]} when repeated; together {change}"
    return {
        Found.SAME: f"{change}: not worse by {threshold}.",
        Found.BETTER: f"{change}: better by at least {threshold}.",
        Found.UNREPEATED: f"{whole}: no second sitting has shown whether this is so.",
        Found.SHORT: f"{whole}: not confirmed, for {short}.",
        Found.GONE: f"{whole}: not worse by {threshold} when all pairs are counted.",
        Found.APART: f"{whole}: worse by {threshold} only if both are taken together; "
        "one of them alone shows less than half of that.",
        Found.MIXED: f"{whole}: worse by {threshold} in most pairs, but not in all.",
        Found.UNSURE: f"{whole}: beyond the threshold of {threshold}, and it may still be chance.",
        Found.WIDE: f"{whole}: so uncertain that a change of {threshold} could hide in it.",
        Found.WORSE: f"{whole}: worse by at least {threshold}, and both sittings show it.",
    }[found]
