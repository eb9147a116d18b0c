"""The JSON documents of all commands, their types, and the schema of them all."""

import dataclasses
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import msgspec

from tracekit.analysis.result import Result
from tracekit.app import summaries
from tracekit.app.checking import CaptureCheck, ComparedCaptures
from tracekit.app.symptoms.checklist import Checklist
from tracekit.base.recording import Provenance
from tracekit.cli import answers
from tracekit.cli.chip import ChipLimits
from tracekit.cli.console import ErrorDocument
from tracekit.cli.verify import VerifiedKernels
from tracekit.comparison.compare import Comparison
from tracekit.lab.bench.document import BenchDocument
from tracekit.lab.bench.tune import TuningDocument
from tracekit.lab.endpoint.figures import EndpointFigures
from tracekit.lab.endpoint.runtimes import ComparedRuntimes
from tracekit.lab.parity import ParityDocument
from tracekit.lab.replay.documents import DispatchReplay
from tracekit.lab.sweep.measurement import SweepDocument
from tracekit.nightly.dry_run import NightPreview
from tracekit.nightly.gate.report.model import GateReport
from tracekit.nightly.history.night import Night
from tracekit.nightly.pruning import Pruned
from tracekit.nightly.schedule.installation import Scheduled
from tracekit.record.doctor.examine import DiagnosisDocument
from tracekit.record.xctrace.templates import Overview

SAVED = (Result, Provenance, Comparison, GateReport, Night)
PRINTED = (
    *(CaptureCheck, ComparedCaptures, DispatchReplay, ComparedRuntimes, EndpointFigures, Pruned),
    *(Scheduled, NightPreview, Overview, ErrorDocument),
    *(BenchDocument, TuningDocument, ParityDocument, ChipLimits, VerifiedKernels),
    *(DiagnosisDocument, Checklist, SweepDocument),
)


def types_with_a_format(module: ModuleType) -> list[type]:
    """Return the documents of a module; its other classes are parts of them."""
    types: list[type] = []
    for value in vars(module).values():
        if not isinstance(value, type):
            continue
        names: tuple[str, ...] = ()
        if issubclass(value, msgspec.Struct):
            names = value.__struct_fields__
        elif dataclasses.is_dataclass(value):
            names = tuple([field.name for field in dataclasses.fields(value)])
        if "format" in names:
            types.append(value)
    return types


TYPES = (*SAVED, *PRINTED, *types_with_a_format(answers), *types_with_a_format(summaries))

# The type of the document of each command; a line of `LINES` may have one of its own.
BY_COMMAND = {
    "analyze": "Result",
    "report": "WrittenFiles",
    "demo": "WrittenFiles",
    "export": "WrittenFiles",
    "import": "RunFolders",
    "convert": "WrittenFiles",
    "tables": "WrittenFiles",
    "tables, shown": "TableRows",
    "tables, listed": "TableList",
    "query": "WrittenFiles",
    "query, shown": "TableRows",
    "query, listed": "QueryableTables",
    "compare": "Comparison",
    "bench load": "EndpointFigures",
    "bench runtimes": "ComparedRuntimes",
    "mcp": "AgentTools",
    "compare of captures": "ComparedCaptures",
    "open": "OpenedFile",
    "runs index": "WrittenFiles",
    "runs prune": "Pruned",
    "runs redact": "WrittenFiles",
    "runs verify": "VerifiedPlace",
    "list workloads": "WorkloadList",
    "bench chip": "ChipLimits",
    "bench run": "BenchDocument",
    "bench run, listed": "SubjectList",
    "bench tune": "TuningDocument",
    "bench sweep": "SweepDocument",
    "doctor": "DiagnosisDocument",
    "kernel check": "CaptureCheck",
    "kernel parity": "ParityDocument",
    "kernel parity, listed": "CaseList",
    "kernel verify": "VerifiedKernels",
    "kernel replay": "DispatchReplay",
    "list rules": "RuleList",
    "list templates": "Overview",
    "list templates make": "TemplateDraft",
    "nightly gate": "GateReport",
    "nightly run": "NightPreview",
    "nightly init": "WrittenFiles",
    "nightly install": "InstalledSchedule",
    "nightly uninstall": "RemovedSchedule",
    "nightly status": "Scheduled",
    "nightly history": "ListedNights",
    "nightly history --output": "WrittenFiles",
    "nightly history --html": "WrittenFiles",
    "nightly history sync": "SyncedNights",
    "nightly history pin": "Note",
    "nightly history unpin": "Note",
    "nightly baseline list": "Entries",
    "nightly baseline accept": "AcceptedNight",
    "nightly baseline revoke": "RevokedNight",
}

# And of the forms of commands that have no line, or take too long for one.
BY_FORM = BY_COMMAND | {
    "batch": "BatchTally",
    "bench ab": "Comparison",
    "capture": "Result",
    "doctor --symptom": "Checklist",
    "export RUN": "RunFolders",
    "nightly history --metric": "Entries",
    "nightly rehearse": "Entries",
    "nightly run": "Night",
    "nightly run --dry-run": "NightPreview",
    "record": "RunFolders",
    "report --evidence": "EvidenceDocument",
    "runs recover": "RunFolders",
}


SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "reference" / "json.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text())


def require_schema(document: Any, kind: str) -> None:
    """Hold that a document is as the published schema of its type says.

    The schema itself is checked once, by a test: that takes far longer than a document.
    """
    jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{kind}"}).validate(document)


def type_of_line(name: str, command: str) -> str:
    """Return the type of the document of a line, by its own name or that of its command."""
    return BY_COMMAND.get(name) or BY_COMMAND[command]


def schema_page() -> str:
    """Return the schema of all documents as JSON, a definition for each type."""
    _, definitions = msgspec.json.schema_components(
        TYPES, schema_hook=_schema_of_foreign, ref_template="#/$defs/{name}"
    )
    page = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The documents of tracekit",
        "$defs": definitions,
    }
    return json.dumps(page, indent=1) + "\n"


def _schema_of_foreign(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string"}
    raise NotImplementedError(kind)
