"""The names of processes, threads and cores, as Instruments shows them.

Cells hold numbers only. The names are in the document of the bundle; without it, the tables of
processes and threads have most of them.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tracekit.tables.bundle.cells.encodings import ALL_32
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, ArchivedPart, Value
from tracekit.tables.bundle.container.records import read_records
from tracekit.tables.bundle.errors import ArchiveError, BundleError, name_bundle
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.values import without_collecting

if TYPE_CHECKING:
    from tracekit.tables.bundle.bundle import BundleRun

NAME = "form.template"
_LARGEST = 1 << 26
_RUNS = "com.apple.xray.run.data"


class BundleDocument:
    """The document of a bundle, read at its first use."""

    def __init__(self, files: Files) -> None:
        self._files = files

    @property
    def archive(self) -> Archive | None:
        """The document; None if it is missing or damaged."""
        return self._read[0]

    def run(self, number: int) -> ArchivedPart | None:
        """Return the part about a run; None if there is none that can be read."""
        if self.archive is not None and number in self.runs:
            with suppress(ArchiveError):
                self.archive.mapping(self.runs[number])
                return ArchivedPart(self.archive, self.runs[number])
        return None

    @cached_property
    def runs(self) -> Mapping[int, Value]:
        """The runs that it names, by number; none if it cannot be read."""
        if self.archive is None:
            return {}
        try:
            runs_node = self.archive.part(self.archive.top(_RUNS), "$1")
            return self.archive.get_numbered(runs_node)
        except ArchiveError:
            return {}

    def flaw(self) -> Flaw:
        """Return the flaw of a document that has nothing on a run: it is damaged, or left out."""
        if self._files.exists(NAME):
            return Flaw.UNNAMED
        return Flaw.UNSURE

    def why_not(self, number: int) -> str:
        """Return the reason why it has nothing on a run, to end a sentence; "" if it has."""
        if self.run(number) is not None:
            return ""
        _, reason = self._read
        return reason or f"the {NAME} of {name_bundle(self._files.bundle)} says nothing of it"

    @cached_property
    def _read(self) -> tuple[Archive | None, str]:
        if not self._files.exists(NAME):
            return None, f"{name_bundle(self._files.bundle)} has no {NAME}"
        try:
            with self._files.reading(NAME), without_collecting():
                return Archive(self._files.read(NAME, _LARGEST)), ""
        except BundleError as error:
            return None, error.message.removesuffix(".")


UNKNOWN = "Unknown"
MAIN_THREAD = "Main Thread"
PROCESSES = "processDatas"
THREADS = "threadsByTID"
_LONGEST = 1024  # letters of any name: it is repeated in the texts of all that have it
_KINDS = {1: "E Core", 2: "P Core"}
_LESS = (
    "Names of processes and threads are those of the tables process-info and thread-info, because "
    "{why}: some are cut, the kernel is called kernel_task, and kinds of cores are not available."
)


class ProcessNames(NamedTuple):
    """The names of a process in the document: its path or name, and the name for people."""

    execname: str
    display: str


@dataclass(frozen=True, eq=False)
class Names:
    """The names of a run; `losses` are those of missing and uncertain names."""

    processes: Mapping[int, str] = field(default_factory=dict[int, str])
    threads: Mapping[int, str] = field(default_factory=dict[int, str])
    cores: Mapping[int, str] = field(default_factory=dict[int, str])
    losses: tuple[Loss, ...] = ()

    def process(self, pid: int) -> str:
        """Return the name of a process, without its pid."""
        return self.processes.get(pid, UNKNOWN)

    def thread(self, tid: int, pid: int) -> str:
        """Return the name of a thread, without its tid: its own, or else that of its process.

        Exports show the name of a thread up to the first 0x in it, because the tid follows it:
        AppleT810xIO of tid 0x77 is "AppleT81 0x77". One thread of the real exports shows it.
        """
        name = self.threads.get(tid)
        if name is None:
            return UNKNOWN
        return name.partition("0x")[0] or name or self.process(pid)

    def process_with_pid(self, pid: int) -> str:
        """Return the text of a cell of a process, such as "backboardd (61)"."""
        return f"{self.process(pid)} ({pid})"

    def thread_with_tid(self, tid: int, pid: int) -> str:
        """Return the text of a cell of a thread: its name and tid, and its process."""
        return f"{self.thread(tid, pid)} {tid:#x} ({self.process(pid)}, pid: {pid})"

    def core(self, number: int) -> str:
        """Return the name of a core, with its kind if that is known."""
        kind = self.cores.get(number)
        if kind:
            return f"CPU {number} ({kind})"
        return f"CPU {number}"


def short_name(execname: str) -> str:
    """Return the name of a process that cells show: the last part of a path, or all of a name.

    The kernel knows 16 letters of the name of a process, and a document mostly has these. If it has
    more, exports show more.
    """
    _, _, name = execname.rpartition("/")
    return name[:_LONGEST]


def gather_names(run: "BundleRun") -> Names:
    """Return the names of a run."""
    processes = dict[int, str]()
    threads = dict[int, str]()
    document = run.document.run(run.number)
    unread: list[Loss] = []
    tables_of_names = (
        ("process-info", processes, _processes),
        ("thread-info", threads, _threads),
    )
    for schema, known_names, gather in tables_of_names:
        try:
            known_names.update(gather(run, schema))
        except BundleError as error:
            # Where the document has names, those of the tables are a second source.
            flaw = Flaw.UNNAMED if document is None else Flaw.UNSURE
            text = f"Names of {schema} are not available: {error.message}"
            unread.append(Loss(flaw, text, schema=schema, run=run.number))
    if document is None:
        less = _LESS.format(why=run.document.why_not(run.number))
        loss = Loss(run.document.flaw(), less, run=run.number)
        return Names(processes, threads, {}, (loss, *unread))
    own_processes = documented_processes(document)
    own_threads = _documented_threads(document, own_processes)
    name = f"The {NAME} of {name_bundle(run.files.bundle)}"
    losses: list[Loss] = []
    missing_processes = processes.keys() - own_processes.keys()
    missing_threads = threads.keys() - own_threads.keys()
    for kind, table, missing in (
        ("processes", "process-info", missing_processes),
        ("threads", "thread-info", missing_threads),
    ):
        if missing:
            text = (
                f"{name} lacks {len(missing):,} {kind} of the recording: these have the names of "
                f"the table {table}, some of which are cut."
            )
            losses.append(Loss(Flaw.UNSURE, text, run=run.number))
    cores, reason = _cores(document)
    if reason:
        text = f"{name} {reason}: kinds of cores are not available."
        losses.append(Loss(Flaw.UNNAMED, text, run=run.number))
    for pid, names in own_processes.items():
        processes[pid] = short_name(names.execname)
    threads.update(own_threads)
    return Names(processes, threads, cores, (*losses, *unread))


def documented_processes(document: ArchivedPart) -> dict[int, ProcessNames]:
    """Return the names of processes that the document has in a known form, by pid."""
    processes_by_pid: dict[int, ProcessNames] = {}
    with suppress(ArchiveError):
        for process in document.members(PROCESSES):
            pid = process.integer("_pid")
            execname = process.text("_execname")
            if pid is not None and execname:
                processes_by_pid[pid] = ProcessNames(execname, process.text("displayName"))
    return processes_by_pid


def _documented_threads(
    document: ArchivedPart, processes: Mapping[int, ProcessNames]
) -> dict[int, str]:
    """Return the names of threads that the document has, by tid.

    A thread with the name of its process, or without one, has the name that cells show for it.
    """
    archive = document.archive
    threads = dict[int, str]()
    with suppress(ArchiveError):
        thread_nodes = archive.get_numbered(document.get(THREADS))
        for tid, node in thread_nodes.items():
            thread = ArchivedPart(archive, node)
            pid = thread.integer("pid")
            name = thread.text("preferredName")[:_LONGEST]
            if pid is None and not name:
                continue
            if pid is not None and pid in processes and name == processes[pid].display:
                name = short_name(processes[pid].execname)
            threads[tid] = name
    return threads


def _cores(document: ArchivedPart) -> tuple[dict[int, str], str]:
    """Return the kinds of cores, by number, and the reason if some cannot be read, or ""."""
    kinds: dict[int, str] = {}
    if document.get("allObjects") is None:
        return kinds, ""
    try:
        for place, core in enumerate(document.members("allObjects")):
            topology = ArchivedPart(core.archive, core.get("topology"))
            flags = topology.integer("_clusterFlags")
            number = core.integer("$0")
            if number is None:
                number = place
            if flags in _KINDS:
                kinds[number] = _KINDS[flags]
    except ArchiveError as error:
        return kinds, str(error)
    return kinds, ""


def _processes(run: "BundleRun", schema: str) -> dict[int, str]:
    pids, numbers = _columns(run, schema, ("pid", "process-name"))
    strings = run.strings
    processes: dict[int, str] = {}
    for pid, number in zip(pids, numbers, strict=True):
        name = _text(strings, number)
        if name:
            processes[pid] = name
    return processes


def _threads(run: "BundleRun", schema: str) -> dict[int, str]:
    tids, names, main = _columns(run, schema, ("tid", "name", "main-thread"))
    threads: dict[int, str] = {}
    rows = zip(tids, names, main, strict=True)
    for tid, name, is_main in rows:
        if is_main == 1:
            threads[tid] = MAIN_THREAD
        else:
            threads[tid] = _text(run.strings, name >> 32)
    return threads


def _columns(run: "BundleRun", schema: str, mnemonics: Sequence[str]) -> list[list[int]]:
    """Return columns of all tables of a schema that have them; they are empty if there are none."""
    columns: list[list[int]] = [[] for _ in mnemonics]
    for store in run.find_stores(schema):
        fields = {entry.mnemonic: entry.field for entry in store.columns}
        if fields.keys() >= set(mnemonics):
            wanted_fields = [fields[name] for name in mnemonics]
            read = read_records(run.files, store, wanted_fields)
            for column, more in zip(columns, read, strict=True):
                column.extend(more.tolist())
    return columns


def _text(strings: Sequence[str], number: int) -> str:
    is_known = number < len(strings) and number != ALL_32
    if is_known:
        return strings[number][:_LONGEST]
    return ""
