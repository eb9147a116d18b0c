"""The names of processes, threads and cores, in the words that Instruments shows.

Layout: docs/explanation/trace-bundles.md. Cells hold numbers only. The names stand in the bundle's
document; without it, the tables of processes and threads have most of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tracekit.tables.bundle.about.document import RunDocument
from tracekit.tables.bundle.called import called
from tracekit.tables.bundle.cells.encodings import ALL_32
from tracekit.tables.bundle.container.keyed import Archive, ArchiveError, Value
from tracekit.tables.bundle.container.records import read_records
from tracekit.tables.bundle.errors import BundleError

if TYPE_CHECKING:
    from tracekit.tables.bundle.bundle import BundleRun

UNKNOWN = "Unknown"
MAIN_THREAD = "Main Thread"
_SHORT = 16
_LONGEST = 1024  # letters of any name: it is repeated in the texts of all that have it
_KINDS = {1: "E Core", 2: "P Core"}
_LESS = (
    "Names of processes and threads are those of the tables process-info and thread-info, because "
    "{why}: some are cut, the kernel is called kernel_task, and kinds of cores are not available."
)


@dataclass(frozen=True)
class ProcessNames:
    """What the document calls a process: by its path or name, and as people are shown it."""

    execname: str
    display: str

    @property
    def short(self) -> str:
        """The name that cells show."""
        return short_name(self.execname)


@dataclass(frozen=True, eq=False)
class Names:
    """The names of a run. `remarks` are sentences on names that are missing or may differ."""

    processes: Mapping[int, str] = field(default_factory=dict[int, str])
    threads: Mapping[int, str] = field(default_factory=dict[int, str])
    cores: Mapping[int, str] = field(default_factory=dict[int, str])
    remarks: tuple[str, ...] = ()

    def process(self, pid: int) -> str:
        """Return the name of a process, without its pid."""
        return self.processes.get(pid, UNKNOWN)

    def thread(self, tid: int, pid: int) -> str:
        """Return the name of a thread, without its tid: its own, or else that of its process."""
        name = self.threads.get(tid)
        return UNKNOWN if name is None else name or self.process(pid)

    def process_with_pid(self, pid: int) -> str:
        """Return what a cell of a process shows, such as "backboardd (61)"."""
        return f"{self.process(pid)} ({pid})"

    def thread_with_tid(self, tid: int, pid: int) -> str:
        """Return what a cell of a thread shows: its name and tid, and its process."""
        return f"{self.thread(tid, pid)} {tid:#x} ({self.process(pid)}, pid: {pid})"

    def core(self, number: int) -> str:
        """Return the name of a core: with its kind, where that is known."""
        kind = self.cores.get(number)
        return f"CPU {number} ({kind})" if kind else f"CPU {number}"


_names: WeakKeyDictionary["BundleRun", Names] = WeakKeyDictionary()


def names_of(run: "BundleRun") -> Names:
    """Return the names of a run; they are gathered once and kept as long as the run is."""
    known = _names.get(run)
    if known is None:
        known = _names[run] = _gather(run)
    return known


def short_name(execname: str) -> str:
    """Return the name of a process that cells show: of a path the last part, else 16 letters."""
    return execname.rpartition("/")[2][:_LONGEST] if "/" in execname else execname[:_SHORT]


def process_names(document: RunDocument) -> dict[int, ProcessNames]:
    """Return what the document calls each process, by pid; raise ArchiveError if damaged."""
    archive = document.archive
    found: dict[int, ProcessNames] = {}
    for one in archive.sequence(document.get("processDatas")):
        pid, execname, display = (
            archive.plain(archive.part(one, key)) for key in ("_pid", "_execname", "displayName")
        )
        if isinstance(pid, int) and isinstance(execname, str):
            found[pid] = ProcessNames(execname, display if isinstance(display, str) else "")
    return found


def _gather(run: "BundleRun") -> Names:
    document, why = run.document.run(run.number), run.document.why_not(run.number)
    if document is not None:
        try:
            return _documented(document)
        except ArchiveError as error:
            why = f"the document of {called(run.files.bundle)} {error}"
    return _tabled(run, why)


def _documented(document: RunDocument) -> Names:
    archive, processes = document.archive, process_names(document)
    threads: dict[int, str] = {}
    for tid, one in archive.by_number(document.get("threadsByTID")):
        name, pid = (archive.plain(archive.part(one, key)) for key in ("preferredName", "pid"))
        of = processes.get(pid) if isinstance(pid, int) else None
        own = name[:_LONGEST] if isinstance(name, str) else ""
        threads[tid] = of.short if of is not None and own == of.display else own
    return Names({pid: one.short for pid, one in processes.items()}, threads, _cores(document))


def _cores(document: RunDocument) -> dict[int, str]:
    """Return the kinds of cores, by number: collections of other objects have no topology."""
    archive, found = document.archive, dict[int, str]()
    for listed in document.nearby("allObjects"):
        try:
            members = archive.sequence(listed)
        except ArchiveError:
            continue
        for place, core in enumerate(members):
            flags = _number(archive, archive.part(core, "topology"), "_clusterFlags")
            number = _number(archive, core, "$0")
            if flags in _KINDS:
                found[place if number is None else number] = _KINDS[flags]
    return found


def _number(archive: Archive, node: Value, key: str) -> int | None:
    found = archive.plain(archive.part(node, key))
    return found if isinstance(found, int) else None


def _tabled(run: "BundleRun", why: str) -> Names:
    """Return the names that the tables of processes and threads have."""
    remarks = [_LESS.format(why=why)]
    found: list[dict[int, str]] = []
    for schema, gather in (("process-info", _processes), ("thread-info", _threads)):
        try:
            found.append(gather(run, schema))
        except BundleError as error:
            found.append({})
            remarks.append(f"Names of {schema} are not available: {error.message}")
    processes, threads = found
    return Names(processes, threads, {}, tuple(remarks))


def _processes(run: "BundleRun", schema: str) -> dict[int, str]:
    columns = _columns(run, schema, ("pid", "process-name"))
    texts = partial(_text, run.strings)
    named = ((pid, texts(name)) for pid, name in zip(*columns, strict=True))
    return {pid: name for pid, name in named if name}


def _threads(run: "BundleRun", schema: str) -> dict[int, str]:
    tids, names, main = _columns(run, schema, ("tid", "name", "main-thread"))
    rows = zip(tids, names, main, strict=True)
    return {
        tid: MAIN_THREAD if is_main == 1 else _text(run.strings, name >> 32)
        for tid, name, is_main in rows
    }


def _columns(run: "BundleRun", schema: str, wanted: Sequence[str]) -> list[list[int]]:
    """Return columns of all tables of a schema that have them; none where there is no such."""
    columns: list[list[int]] = [[] for _ in wanted]
    for store in run.stores:
        fields = {one.mnemonic: one.field for one in store.columns}
        if store.schema == schema and fields.keys() >= set(wanted):
            read = read_records(run.files, store, [fields[one] for one in wanted])
            for column, more in zip(columns, read, strict=True):
                column.extend(more.tolist())
    return columns


def _text(strings: Sequence[str], number: int) -> str:
    known = number < len(strings) and number != ALL_32
    return strings[number][:_LONGEST] if known else ""
