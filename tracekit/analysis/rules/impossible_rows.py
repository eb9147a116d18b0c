"""`impossible-rows`: the recording has rows that cannot be true."""

from tracekit.analysis.levers import Mechanism
from tracekit.analysis.physics.laws import Breach
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding

_SHOWN = 20


def impossible_rows(impossible: tuple[Breach, ...], *, limit: float = 0.01) -> Findings:
    """The recording has rows that cannot be true.

    What it looks for:
        Rows that break a law which every sound recording keeps, before anything is derived from
        them: device intervals that end before they start, take no time, had not ended when the next
        one on their lane of the channel started, or end more than 100 µs after the report of their
        command buffer; command buffers that were committed after their work had started, or
        reported before it had, or before their commit; encoders that encode after it; rows before
        or after the recording, longer than it, at 0 among others that are not, or of a target that
        had not been created; rows that repeat another; states of the device that overlap; counters
        that are not a share; threads that were sampled for longer than time went by. Every table is
        given without such rows, and without the length of a device interval whose end is
        impossible. Frames of the target that device intervals or encoders lack, compared with the
        other table, are a note if they are more than `limit` (default 1 %).

    Why it matters:
        One interval that is 150 ms too long hides most of the idle time of a fifth of a second, and
        another cause is named.

    What to do:
        Look at these rows in Instruments, and export or record again.

    When it abstains:
        When there is no table of a trace. If more than 5 % of a table's rows or of the device's
        time are impossible, or two tables contradict each other that often, rules that use the
        table abstain; this rule reports that.
    """
    for breach in impossible:
        if breach.missing and breach.share <= limit:
            continue
        first_time = int(breach.start[0])
        is_missing = bool(breach.missing)
        cost = str(breach.cost)
        stake = str(breach.stake)
        facts = (
            Fact("rows", breach.rows),
            Fact("table", breach.table),
            Fact("law", breach.law.name),
            Fact("broken", breach.law.words),
            Fact("first", first_time, "ns"),
            Fact("excess", breach.worst, "ns"),
            Fact("share", breach.share, "ratio"),
            Fact("missing", is_missing),
            Fact("witness", breach.witness),
            Fact("cost", cost),
            Fact("unsure", stake),
        )
        severity = Severity.WARNING
        if breach.missing:
            severity = Severity.NOTE
        evidence = _evidence(breach)
        yield finding(
            wording="impossible-rows",
            facts=facts,
            lever=Mechanism.IMPOSSIBLE_ROWS,
            cause=breach.law.name,
            evidence=evidence,
            severity=severity,
        )


def _evidence(breach: Breach) -> tuple[Evidence, ...]:
    first_starts = breach.start[:_SHOWN].tolist()
    first_ends = breach.end[:_SHOWN].tolist()
    times = zip(first_starts, first_ends, strict=True)
    return tuple(
        Evidence(breach.table, min(start, end), max(start, end), breach.law.name)
        for start, end in times
    )
