"""All that was told beside a recorder's own tables: by the workload, a monitor, the output."""

from dataclasses import replace

from tracekit.base.recording import Recording
from tracekit.record.host.export_writer import ExportTable
from tracekit.record.host.mark_tables import GAUGES, MARKS, RESULTS
from tracekit.record.throughput.output import read_output
from tracekit.workload.journal import WorkloadReport, fold


def account(recording: Recording) -> WorkloadReport:
    """Return the worker's account, with a monitor's gauges and what a program's output says.

    Where there is no worker, the account is empty but for those.
    """
    report, monitored = fold(recording.journal_file), fold(recording.gauges_file)
    _, printed = read_output(recording.output_file)
    return replace(
        report,
        anchors=report.anchors or monitored.anchors,
        gauges=(*report.gauges, *monitored.gauges),
        results={**printed, **report.results},
    )


def told_tables(recording: Recording, report: WorkloadReport) -> tuple[ExportTable, ...]:
    """Return the tables of an account: all of a worker's, of any other program those with rows."""
    if recording.journal_file.exists():
        return MARKS
    filled = (GAUGES, report.gauges), (RESULTS, report.results)
    return tuple(table for table, rows in filled if rows)
