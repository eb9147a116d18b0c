"""The JSON documents of commands that save no document of their own.

Each has `format`, the version of its fields. docs/reference/json.md lists the documents of all
commands, and docs/reference/json.schema.json has their schemas. They are structs of msgspec, which
a start defines in a thirtieth of the time of dataclasses.
"""

from typing import Any

from msgspec import Raw, Struct


class WrittenFiles(Struct, frozen=True):
    """The files that a command wrote, in order; `warnings` are about their content."""

    files: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    format: int = 1


class RunFolders(Struct, frozen=True):
    """The folders of runs that a command made, and the command that comes next."""

    runs: tuple[str, ...]
    next: str
    warnings: tuple[str, ...] = ()
    format: int = 1


class ListedTable(Struct, frozen=True):
    """A table of a run; without rows if it is not available, and `reason` says why.

    `name` ends with the number of the table if several tables have one schema.
    """

    name: str
    rows: int | None
    columns: tuple[str, ...]
    reason: str = ""


class TableList(Struct, frozen=True):
    """The tables of a run or a bundle."""

    tables: tuple[ListedTable, ...]
    warnings: tuple[str, ...] = ()
    format: int = 1


class TableRows(Struct, frozen=True):
    """The first rows of a table or of an answer, each an object; `total` counts all rows.

    `types` has the type of each column, in the words of pandas for a table, of SQL for an answer.
    """

    types: dict[str, str]
    rows: Raw
    total: int
    warnings: tuple[str, ...] = ()
    format: int = 1


class AgentTools(Struct, frozen=True):
    """The tools of `mcp` as a client receives them, and about how many tokens they cost it."""

    tools: tuple[Any, ...]
    tokens: int
    format: int = 1


class QueryableTable(Struct, frozen=True):
    """A table that a query can name, the number of runs that have it, and its columns."""

    name: str
    runs: int
    columns: tuple[str, ...]


class QueryableTables(Struct, frozen=True):
    """The tables that a query can name."""

    tables: tuple[QueryableTable, ...]
    warnings: tuple[str, ...] = ()
    format: int = 1


class ListedWorkload(Struct, frozen=True):
    """A workload, and its purpose in a sentence."""

    name: str
    description: str


class WorkloadList(Struct, frozen=True):
    """The workloads that can be recorded."""

    workloads: tuple[ListedWorkload, ...]
    format: int = 1


class ListedSubject(Struct, frozen=True):
    """An implementation that `bench run` measures; those of one family do the same work."""

    name: str
    suite: str
    family: str
    description: str


class SubjectList(Struct, frozen=True):
    """The subjects of `bench run`."""

    subjects: tuple[ListedSubject, ...]
    format: int = 1


class ListedCase(Struct, frozen=True):
    """A case of `kernel parity`, and the lengths of its sequences in words."""

    name: str
    lengths: str


class CaseList(Struct, frozen=True):
    """The cases of `kernel parity`."""

    cases: tuple[ListedCase, ...]
    format: int = 1


class ExplainedRule(Struct, frozen=True):
    """A rule, what it finds, and if it was named, the sections of its explanation by heading."""

    name: str
    title: str
    sections: dict[str, str]


class RuleList(Struct, frozen=True):
    """The rules; one alone if it was named."""

    rules: tuple[ExplainedRule, ...]
    format: int = 1


class OpenedFile(Struct, frozen=True):
    """The file to open, and the command line that opens it."""

    kind: str
    path: str
    argv: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    format: int = 1


class BatchFailure(Struct, frozen=True):
    """A recording that could not be analyzed."""

    recording: str
    error: str
    hint: str


class BatchTally(Struct, frozen=True):
    """The numbers of sources of a batch, now and before; `failures` are the first ones."""

    page: str
    total: int
    done: int
    done_before: int
    failed: int
    failed_before: int
    recordings: int
    failures: tuple[BatchFailure, ...]
    format: int = 1


class TemplateChange(Struct, frozen=True):
    """A setting of a template, before and after."""

    place: str
    before: str
    after: str


class TemplateDraft(Struct, frozen=True):
    """The changes to a copy of a template; `file` is empty for a dry run."""

    changes: tuple[TemplateChange, ...]
    file: str
    format: int = 1


class InstalledSchedule(Struct, frozen=True):
    """The files of a schedule by their path, a line for cron if needed, and the next night."""

    files: dict[str, str]
    line: str
    next: str
    log: str
    warnings: tuple[str, ...] = ()
    format: int = 1


class RemovedJob(Struct, frozen=True):
    """A job that a scheduler no longer runs."""

    method: str
    file: str


class RemovedSchedule(Struct, frozen=True):
    """The jobs of a plan that were removed; none if none was installed."""

    removed: tuple[RemovedJob, ...]
    warnings: tuple[str, ...] = ()
    format: int = 1


class Note(Struct, frozen=True):
    """A change of the history, in words."""

    message: str
    format: int = 1


class ExpectedChange(Struct, frozen=True):
    """A change that later nights are judged against."""

    capture: str
    metric: str
    expected: str


class AcceptedNight(Struct, frozen=True):
    """The changes of a night that are expected from now on; `refused` are reasons by capture."""

    night: str
    machine: str
    accepted: tuple[ExpectedChange, ...]
    refused: dict[str, str]
    format: int = 1


class RevokedNight(Struct, frozen=True):
    """The captures of a night whose acceptance was withdrawn."""

    night: str
    captures: tuple[str, ...]
    format: int = 1


class VerifiedPlace(Struct, frozen=True):
    """Whether a run, a bundle or a history is whole: `state`, with each fault in words.

    `checked` has the numbers of what was checked; `unknown` are reasons why it cannot be said.
    """

    kind: str
    place: str
    state: str
    checked: dict[str, int]
    faults: tuple[str, ...]
    unknown: tuple[str, ...]
    format: int = 1


class ListedNights(Struct, frozen=True):
    """The nights of a history, and those that were due and did not run."""

    nights: tuple[Any, ...]
    missed: tuple[Any, ...]
    format: int = 1


class WaitingNight(Struct, frozen=True):
    """A night that the history does not have, and the reason."""

    night: str
    why: str


class SyncedNights(Struct, frozen=True):
    """The nights that were added to a history; `ended` is the error that ended it early."""

    added: tuple[str, ...]
    missed: tuple[str, ...]
    wait: tuple[WaitingNight, ...]
    failed: tuple[WaitingNight, ...]
    ended: str
    format: int = 1


class Entries(Struct, frozen=True):
    """A list of records, such as accepted changes or series."""

    entries: tuple[Any, ...]
    format: int = 1
