"""Names that a shell completes: workloads, rules, tables, metrics."""

from collections.abc import Iterable

from tracekit import analysis, tables, workload


def complete_workload(incomplete: str) -> list[str]:
    """Return the workloads that begin so."""
    return _select(incomplete, (entry.name for entry in workload.all_workloads(None)))


def complete_rule(incomplete: str) -> list[str]:
    """Return the rules that begin so."""
    return _select(incomplete, analysis.RULES)


def complete_table(incomplete: str) -> list[str]:
    """Return the tables that begin so, whether a run has them or not."""
    return _select(incomplete, tables.SCHEMAS)


def complete_metric(incomplete: str) -> list[str]:
    """Return the metrics that begin so; workloads and programs have others."""
    return _select(incomplete, analysis.METRICS)


def _select(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
