"""The plan of a night: captures, the reference of each, and the changes that count.

docs/reference/night-plan.md is the reference of the plan's file; a test compares their keys. Keys
have types that msgspec checks; text that represents a value is read first.
"""

import hashlib
import re
import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from tracekit.base import UsageError, choices, suggest_name, units, verdicts
from tracekit.machine import THERMAL_PRESSURES, StateLimits
from tracekit.workload import NeighbourModules, plan


@dataclass(frozen=True)
class FromText:
    """A key also takes text, described by `words`, which `read` turns into the value."""

    words: str
    read: Callable[[str], Any]


def _seconds(text: str) -> float:
    if re.fullmatch(r"0(ms|s|m|h)", text):
        return 0.0
    return plan.seconds(text)


def _pressure(text: str) -> int:
    pressures = [pressure.lower() for pressure in THERMAL_PRESSURES]
    return pressures.index(text.lower())


Text = Annotated[str, Meta(pattern=r"^[^\x00]+\Z", description="text")]
Name = Annotated[
    str, Meta(pattern=r"^\w[\w.+-]{0,63}\Z", description="name that can be a folder's")
]
Texts = Annotated[tuple[Text, ...], FromText("text, or an array of them", lambda text: [text])]
Command = Annotated[
    tuple[Text, ...],
    FromText("command: an array of its words, or one text", shlex.split),
    Meta(min_length=1),
]
Commands = Annotated[tuple[Command, ...], Meta(description="array of commands")]
Seconds = Annotated[float, FromText('time such as "5s", or seconds', _seconds)]
Bytes = Annotated[
    int, FromText('size such as "1GiB", or bytes', units.size_of), Meta(ge=0, le=1 << 60)
]
Share = Annotated[float, Meta(ge=0, le=1)]
Pressure = Annotated[
    int,
    FromText(f"one of {', '.join(THERMAL_PRESSURES)}, or its place from 0", _pressure),
    Meta(ge=0, lt=len(THERMAL_PRESSURES)),
]

STATE: dict[str, Any] = {
    "calibration": Annotated[float, Meta(ge=0, le=10)],
    "clock": Share,
    "load": Share,
    "memory_free": Bytes,
    "battery": Share,
    "thermal_pressure": Pressure,
    "gpu_others": Share,
    "low_power": bool,
}
"""The types of the keys of `machine-state`; all but the last also take `false`, which is None."""


def convert_value(value: Any, kind: Any) -> Any:
    """Return a value of TOML as its key's type; raise ValueError with the type that it lacks."""
    try:
        return msgspec.convert(_parse_texts(value, kind), kind, dec_hook=_path)
    except UsageError as error:
        raise ValueError(f"{error.message} {error.hint}") from error
    except msgspec.ValidationError as error:
        message = f"{error}."
        words = words_of(kind)
        if words:
            message = f"{message} It takes {words}."
        raise ValueError(message) from error


def words_of(kind: Any) -> str:
    """Return a description of the values that a key takes; empty if its type says it."""
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, FromText):
            return note.words
        if isinstance(note, Meta) and note.description:
            return note.description
    return ""


def _parse_texts(value: Any, kind: Any) -> Any:
    """Return a value in which each text of a `FromText` key is replaced by its meaning."""
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, FromText) and isinstance(value, str):
            value = note.read(value)
    inner_kind = kind
    if get_origin(kind) is Annotated:
        inner_kind = get_args(kind)[0]
    if get_origin(inner_kind) is tuple and isinstance(value, list):
        item_kind = get_args(inner_kind)[0]
        return [_parse_texts(item, item_kind) for item in value]
    return value


def _path(kind: type[Any], value: Any) -> Any:
    if kind is not Path or not isinstance(value, str):
        raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError(f"It names nobody's home: {error}") from error


@dataclass(frozen=True)
class Reference:
    """The other side of a capture, measured in the same session.

    Attributes:
        workload: Another workload, if it is not the candidate's.
        parameters: Values that differ from the candidate's.
        python: Another interpreter, which has tracekit; without one, the interpreter that runs the
            night. The path is relative to the worktree if there is a revision.
        revision: A commit, branch or tag of the repository that holds the plan. It is checked out
            in a separate worktree. A commit or a tag is fixed; all others move along.
        merge_base: A branch, such as "main": the reference is the commit at which HEAD left it.
        previous_night: Whether the reference is the commit that the night before measured.
        anchor_every: For a reference that moves along: the number of nights after which the
            candidate is also measured against the anchor, which is the commit that the first night
            was measured against, or that of the night accepted last.
        setup: A command that makes the worktree's environment, run there once for each commit.
        pythonpath: Folders of the worktree that are searched for modules first.
        program: Another command line, if the candidate is a program.
    """

    workload: Text = ""
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    python: Path | None = None
    revision: Text = ""
    merge_base: Text = ""
    previous_night: bool = False
    anchor_every: Annotated[int, Meta(ge=1, le=30)] = 7
    setup: Command = ()
    pythonpath: Texts = (".",)
    program: Command = ()

    @property
    def same_work(self) -> bool:
        """Whether it does the candidate's work, so that no difference is expected."""
        return not (self.workload or self.parameters)

    @property
    def has_commit(self) -> bool:
        """Whether it is a commit of the repository, in a worktree of its own."""
        return bool(self.revision or self.merge_base or self.previous_night)

    @property
    def is_revision_alone(self) -> bool:
        """Whether only the commit differs from the candidate."""
        return self.same_work and self.has_commit and self.python is None and not self.program

    @property
    def words(self) -> str:
        """The name of its commit, in words; empty if it is not a commit."""
        if self.merge_base:
            return f"branch point with {self.merge_base}"
        if self.previous_night:
            return f"previous night {self.revision}".strip()
        if self.revision:
            return f"revision {self.revision}"
        return ""


@contextmanager
def allow_imports(reference: Reference | None, folder: Path) -> Generator[None]:
    """Let this process import the modules of a capture's processes, to load its workload.

    If the reference is a revision, the same folders of the plan's own work tree precede all other
    modules; `folder` is the plan's.
    """
    module_folders: list[Path] = []
    if reference is not None and reference.has_commit:
        top = _find_work_tree(folder.resolve())
        if top is not None:
            module_folders = [top / part for part in reference.pythonpath]
    with NeighbourModules(module_folders).importing():
        yield


def _find_work_tree(folder: Path) -> Path | None:
    """Return the top of the work tree that holds a folder; None outside of one."""
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent
    return None


@dataclass(frozen=True)
class Gated:
    """A metric that is followed, and the least change of it that counts.

    Attributes:
        metric: The name of a metric or of a workload's own result.
        threshold: The smallest change for the worse that matters: a ratio (0.03 is 3 %), or a
            difference in the metric's unit.
        scale: Whether changes are ratios, or differences as for shares and counts.
        better: Which direction is good news, if it differs from the metric's own.
        gate: Whether it decides; else it is only followed.
    """

    metric: str
    threshold: Annotated[float, Meta(gt=0, le=1e300)] = 0.03
    scale: verdicts.Scale = "ratio"
    better: Literal["", "lower", "higher"] = ""
    gate: bool = True


@dataclass(frozen=True)
class Capture:
    """One piece of work of a night.

    Attributes:
        name: The capture's name in the history; unique in the plan.
        workload: The workload's name.
        workloads: A folder with your own workloads, in addition to those that tracekit ships.
        parameters: Values of the workload's parameters.
        reference: The side that it is measured against; without one, it is only followed over
            nights.
        pairs: The number of pairs of processes in a session, candidate and reference.
        turn: Length of one turn in seconds; a pair has four, a-b-b-a or b-a-a-b.
        together: Whether both processes of a pair are alive at once and take turns; else one runs
            after the other, as is necessary if both do not fit into memory.
        warmup: Number of consecutive steps without a new pipeline that end the warm-up.
        traced: The number of traced captures for each side; 0 for none.
        recorder: The recorder of traces; auto is xctrace if it is available, else host.
        templates: Templates of Instruments.
        counters: Whether GPU counters are requested.
        telemetry: The monitor that reads the machine's clock and heat.
        time_limit: Length of a traced capture in seconds.
        parity: The parity check that runs first: the quick grid of `tracekit kernel parity`, all of
            it, or nothing; auto is quick for attention workloads.
        checks: Commands that must succeed first, such as your own tests.
        metrics: The metrics that are followed and those that decide.
        fail_on: Rules whose findings in the candidate's traces are a regression if the reference's
            traces do not have them.
        program: A command line in place of a workload; it runs once in each turn, from the plan's
            folder or that of the worktree, and is not traced.
        read: How to read the program's numbers if tracekit does not know their format:
            NAME:UNIT:lower|higher|neither:REGEX.
    """

    name: Name
    workload: Text
    workloads: Path | None = None
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    reference: Reference | None = None
    pairs: Annotated[int, Meta(ge=1, le=1000)] = 10
    turn: Annotated[Seconds, Meta(ge=0.001, le=600)] = 0.3
    together: bool = True
    warmup: Annotated[int, Meta(ge=0, le=10_000)] = 5
    traced: Annotated[int, Meta(ge=0, le=100)] = 1
    recorder: choices.RecorderChoice = "auto"
    templates: Annotated[Texts, Meta(min_length=1)] = (choices.METAL_SYSTEM_TRACE,)
    counters: choices.CountersChoice = "auto"
    telemetry: choices.TelemetryChoice = "auto"
    time_limit: Annotated[Seconds, Meta(ge=0.1, le=3600)] = 5.0
    parity: Literal["auto", "quick", "full", "off"] = "auto"
    checks: Commands = ()
    metrics: tuple[Gated, ...] = ()
    fail_on: Texts = ()
    program: Command = ()
    read: Texts = ()


_WEEK = 7 * 24 * 3600


@dataclass(frozen=True)
class NightPlan:
    """A night: its captures, the place of its files, and its time limits.

    Attributes:
        name: The plan's name in the history.
        file: The file that it was read from.
        captures: The captures, in the order in which they run.
        output: The folder that receives a folder for each night.
        history: The SQLAlchemy URL of the history's database, SQLite or PostgreSQL.
        budget: Seconds after which the night is stopped and kept as partial.
        wait: Longest wait before a capture, in seconds, until the machine's state lets a pair
            count. If it never does, a few pairs are measured and shown as not counted. 0 measures
            immediately.
        machine: The machine's name in the history; without one, a name made from its hardware.
        state: The state of the machine that a pair requires to count.
        retries: The largest number of rejected pairs of a session that are measured again.
        digest: A digest of all that decides the measured work; a plan with another digest starts
            other series if its work differs.
    """

    name: Name
    file: Path
    captures: tuple[Capture, ...]
    output: Path
    history: Text
    budget: Annotated[Seconds, Meta(ge=1, le=_WEEK)] = 7200.0
    wait: Annotated[Seconds, Meta(ge=0, le=_WEEK)] = 0.0
    machine: Name = ""
    state: StateLimits = field(default_factory=StateLimits)
    retries: Annotated[int, Meta(ge=0, le=1000)] = 5
    digest: str = ""

    def select_captures(self, names: Sequence[str]) -> "NightPlan":
        """Return the plan with only the named captures; raise UsageError if it lacks one."""
        captures = {capture.name: capture for capture in self.captures}
        for name in names:
            if name not in captures:
                raise UsageError(
                    f"{self.file} has no capture {name!r}.", hint=suggest_name(name, [*captures])
                )
        chosen_captures = tuple(captures[name] for name in captures if name in names)
        return replace(self, captures=chosen_captures)


_LENGTH = 16  # hexadecimal digits


def add_digest(plan: NightPlan) -> NightPlan:
    """Return the plan with its digest: of the work, the references, and the pairs that count.

    It leaves out names, places, the budget, thresholds, rules, and checks. Paths count relative to
    the plan's file, so that a checkout elsewhere has the same digest.
    """
    folder = plan.file.parent
    state = msgspec.to_builtins(plan.state)
    state["canary"] = state.pop("calibration")  # the name that digests of earlier nights hold
    normalized_captures = [_normalize_capture(capture, folder) for capture in plan.captures]
    measured = {
        "captures": normalized_captures,
        "state": state,
        "retries": plan.retries,
    }
    return replace(plan, digest=digest_of(measured, _LENGTH))


def digest_of(value: object, length: int) -> str:
    """Return a digest of a value, which does not depend on the order of its keys."""
    content = msgspec.json.encode(value, enc_hook=str, order="sorted")
    return hashlib.sha256(content).hexdigest()[:length]


def relative(path: Path | None, folder: Path) -> Path | None:
    """Return a path relative to a folder; a path that lies elsewhere as it is."""
    if path is None or not path.is_relative_to(folder):
        return path
    return path.relative_to(folder)


def _normalize_capture(capture: Capture, folder: Path) -> Any:
    """Return the parts of a capture that its digest covers, as JSON takes them."""
    reference = capture.reference
    if reference is not None:
        reference = replace(reference, python=relative(reference.python, folder))
    reduced_capture = replace(
        capture,
        workloads=relative(capture.workloads, folder),
        reference=reference,
        metrics=(),
        fail_on=(),
        checks=(),
        parity="auto",
    )
    measured = msgspec.to_builtins(reduced_capture, enc_hook=str)
    # Digests of earlier nights lack the following keys, so their defaults are left out.
    for name in ("program", "read"):
        if not measured[name]:
            del measured[name]
    if reference is not None:
        for name in ("merge_base", "previous_night", "anchor_every", "program"):
            value = measured["reference"].pop(name)
            if value and value != getattr(Reference(), name):
                measured["reference"][name] = value
    return measured
