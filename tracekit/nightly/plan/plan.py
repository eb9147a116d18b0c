"""What a night is to do: captures, what each is measured against, and what counts as a change.

docs/reference/night-plan.md is the reference of the plan's file; a test holds their keys alike.
Keys have types that msgspec checks; text that stands for a value is read first.
"""

import hashlib
import re
import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from tracekit.base import UsageError, size_of
from tracekit.compare import Scale
from tracekit.machine import THERMAL_PRESSURES, StateLimits
from tracekit.workload import METAL_SYSTEM_TRACE, NeighbourModules, plan


@dataclass(frozen=True)
class FromText:
    """A key takes `words` as well: text, of which `read` makes the value."""

    words: str
    read: Callable[[str], Any]


def _seconds(text: str) -> float:
    return 0.0 if re.fullmatch(r"0(ms|s|m|h)", text) else plan.seconds(text)


def _pressure(text: str) -> int:
    return [pressure.lower() for pressure in THERMAL_PRESSURES].index(text.lower())


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
Bytes = Annotated[int, FromText('size such as "1GiB", or bytes', size_of), Meta(ge=0, le=1 << 60)]
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
"""What the keys of `machine-state` take; all but the last also `false`, which is None."""


def convert_value(value: Any, kind: Any) -> Any:
    """Return a value of TOML as its key's type; raise ValueError that says what it is not."""
    try:
        return msgspec.convert(_parse_texts(value, kind), kind, dec_hook=_path)
    except UsageError as error:
        raise ValueError(f"{error.message} {error.hint}") from error
    except msgspec.ValidationError as error:
        words = words_of(kind)
        raise ValueError(f"{error}.{f' It takes {words}.' if words else ''}") from error


def words_of(kind: Any) -> str:
    """Return what a key takes, where its type does not say it."""
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, FromText):
            return note.words
        if isinstance(note, Meta) and note.description:
            return note.description
    return ""


def _parse_texts(value: Any, kind: Any) -> Any:
    """Return a value with each text in it read that stands for something else."""
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, FromText) and isinstance(value, str):
            value = note.read(value)
    inner_kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(inner_kind) is tuple and isinstance(value, list):
        return [_parse_texts(item, get_args(inner_kind)[0]) for item in value]
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
    """What a capture is measured against, in the same session.

    Attributes:
        workload: Another workload, where it is not the candidate's.
        parameters: Values that differ from the candidate's.
        python: Another interpreter, which has tracekit; without one it is what runs the night.
            Relative to the worktree where there is a revision.
        revision: A commit, branch or tag of the repository that holds the plan. It is checked out
            in a worktree of its own. A commit or a tag is fixed; all else moves along.
        merge_base: A branch, as "main": the reference is the commit at which HEAD left it.
        previous_night: Whether the reference is the commit that the night before measured.
        anchor_every: Of a reference that moves along: after how many nights the candidate is
            measured against the anchor too, which is the commit that the first night was measured
            against, or that of the night accepted last.
        setup: A command that makes the worktree's environment, run there once for each commit.
        pythonpath: Folders of the worktree that are searched for modules before all others.
        program: Another command line, where the candidate is a program.
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
        """Whether it does what the candidate does, so that they are expected to be alike."""
        return not (self.workload or self.parameters)

    @property
    def has_commit(self) -> bool:
        """Whether it is a commit of the repository, in a worktree of its own."""
        return bool(self.revision or self.merge_base or self.previous_night)

    @property
    def is_revision_alone(self) -> bool:
        """Whether nothing but the commit differs from the candidate."""
        return self.same_work and self.has_commit and self.python is None and not self.program

    @property
    def words(self) -> str:
        """What names its commit, in words; empty where it is none."""
        if self.merge_base:
            return f"branch point with {self.merge_base}"
        if self.previous_night:
            return f"previous night {self.revision}".strip()
        return f"revision {self.revision}" if self.revision else ""


@contextmanager
def allow_imports(reference: Reference | None, folder: Path) -> Generator[None]:
    """Let this process import what a capture's processes can, while its workload is loaded.

    Of a reference that is a revision, the same folders of the plan's own work tree go before all
    other modules; `folder` is the plan's.
    """
    folders: list[Path] = []
    if reference is not None and reference.has_commit:
        plan_folder = folder.resolve()
        tops = [top for top in (plan_folder, *plan_folder.parents) if (top / ".git").exists()]
        folders = [top / part for top in tops[:1] for part in reference.pythonpath]
    with NeighbourModules(folders).importing():
        yield


@dataclass(frozen=True)
class Gated:
    """A metric that is followed, and what counts as a change of it.

    Attributes:
        metric: Its name, of a metric or of a workload's own result.
        threshold: The least change for the worse that matters: a ratio (0.03 is 3 %), or a
            difference in the metric's unit.
        scale: Whether changes are ratios or differences, as of shares and counts.
        better: Which direction is good news, where it is not what the metric says itself.
        gate: Whether it decides; else it is followed only.
    """

    metric: str
    threshold: Annotated[float, Meta(gt=0, le=1e300)] = 0.03
    scale: Scale = "ratio"
    better: Literal["", "lower", "higher"] = ""
    gate: bool = True


@dataclass(frozen=True)
class Capture:
    """One piece of work of a night.

    Attributes:
        name: What the history calls it; unique in the plan.
        workload: The workload's name.
        workloads: A folder with workloads of one's own, beside those that tracekit ships.
        parameters: Values of the workload's parameters.
        reference: What it is measured against; without one it is followed over nights only.
        pairs: How many pairs of processes a session has, candidate and reference.
        turn: Seconds of one turn; a pair has four, a-b-b-a or b-a-a-b.
        together: Whether both processes of a pair live at once, and take turns; else one runs
            after the other, as two that do not fit into memory must.
        warmup: Steps in a row without a new pipeline that end the warm-up.
        traced: How many captures are traced for each side; 0 for none.
        recorder: Who traces; auto is xctrace where it is, else host.
        templates: Templates of Instruments.
        counters: Whether GPU counters are asked for.
        telemetry: Who reads the machine's clock and heat.
        time_limit: Seconds of a traced capture.
        parity: What is checked first: the quick grid of `tracekit parity`, all of it, or nothing;
            auto is quick for workloads of attention.
        checks: Commands that must succeed first, as tests of one's own.
        metrics: What is followed and what decides.
        fail_on: Rules whose findings in the candidate's traces are a regression, where the
            reference's do not have them.
        program: A command line in place of a workload; it is run once in a turn, from the plan's
            folder or that of the worktree, and not traced.
        read: How to read the program's numbers, where tracekit does not know them:
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
    recorder: plan.RecorderChoice = "auto"
    templates: Annotated[Texts, Meta(min_length=1)] = (METAL_SYSTEM_TRACE,)
    counters: plan.CountersChoice = "auto"
    telemetry: plan.TelemetryChoice = "auto"
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
    """A night: what runs, where its files go, and how long it may take.

    Attributes:
        name: What the history calls the plan.
        file: The file that it was read from.
        captures: What runs, in this order.
        output: The folder that takes a folder for each night.
        history: The URL of the history's database, as SQLAlchemy takes it: of SQLite or of
            PostgreSQL.
        budget: Seconds after which the night is stopped, and kept as partial.
        wait: Seconds to wait before a capture, at most, until the machine's state lets a pair
            count; where it never does, a few pairs are measured, and shown as not counted. 0
            measures at once.
        machine: What the history calls this machine; without one a name made of what it is.
        state: What a machine must be like for a pair to count.
        retries: How many rejected pairs of a session are measured again, at most.
        digest: A digest of all that decides what is measured; a plan of another digest starts
            other series where its work differs.
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


_LENGTH = 16  # hexadecimal digits


def add_digest(plan: NightPlan) -> NightPlan:
    """Return the plan with its digest: of what is measured, against what, and which pairs count.

    It leaves out names, places, the budget, thresholds, rules, and what is checked first. Paths
    count relative to the plan's file, so that a checkout elsewhere has the same digest.
    """
    folder = plan.file.parent
    state = msgspec.to_builtins(plan.state)
    state["canary"] = state.pop("calibration")  # the name that digests of earlier nights hold
    measured = {
        "captures": [_normalize_capture(capture, folder) for capture in plan.captures],
        "state": state,
        "retries": plan.retries,
    }
    return replace(plan, digest=digest_of(measured, _LENGTH))


def digest_of(value: object, length: int) -> str:
    """Return a digest of a value, the same in whatever order its keys stand."""
    content = msgspec.json.encode(value, enc_hook=str, order="sorted")
    return hashlib.sha256(content).hexdigest()[:length]


def relative(path: Path | None, folder: Path) -> Path | None:
    """Return a path as it counts from a folder; one that lies elsewhere as it is."""
    return path.relative_to(folder) if path and path.is_relative_to(folder) else path


def _normalize_capture(capture: Capture, folder: Path) -> Any:
    reference = capture.reference
    reduced_capture = replace(
        capture,
        workloads=relative(capture.workloads, folder),
        reference=reference and replace(reference, python=relative(reference.python, folder)),
        metrics=(),
        fail_on=(),
        checks=(),
        parity="auto",
    )
    measured = msgspec.to_builtins(reduced_capture, enc_hook=str)
    for name in ("program", "read"):
        if not measured[name]:
            del measured[name]
    for name in ("merge_base", "previous_night", "anchor_every", "program") if reference else ():
        value = measured["reference"].pop(name)  # digests of earlier nights do not hold them
        if value and value != getattr(Reference(), name):
            measured["reference"][name] = value
    return measured
