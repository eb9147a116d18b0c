"""The choices of a recording, each with its option of `tracekit capture`.

A plan, a run's provenance, the request to a recorder, a worker's instructions and the capture of a
night have the same choices. They take them from each other by name, through `from_document` and
`share_with`. A new option is one field here, and its declaration for the command line in
`tracekit/cli/options.py`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast, get_args

METAL_SYSTEM_TRACE = "Metal System Trace"
LIGHT = ("GPU", "Metal Application", "Metal Resource Events")
"""The instruments that trace a program's work on the GPU, and nothing else."""
_XCTRACE = "xctrace"
_AUTO = "auto"

RecorderChoice = Literal["auto", "xctrace", "host"]
MethodChoice = Literal["auto", "launch", "attach"]
CountersChoice = Literal["auto", "on", "off"]
TelemetryChoice = Literal["auto", "macmon", "powermetrics", "ioreg", "off"]
SymptomChoice = Literal["slow-decode", "slow-prefill", "memory", "crash", "wrong"]  # of `doctor`

_KEY = "option"
_DECIMALS = 9  # of a time in seconds, as a command line takes it


@dataclass(frozen=True, kw_only=True)
class CaptureOption:
    """The option of a choice, and the treatment of the choice in documents.

    Attributes:
        name: The option as a Python name, such as time_limit. It is empty if the choice is not made
            by an option of its own: the parameters of a workload, and the command after `--`.
        condition: The name by which comparisons show that two runs differ in the choice; empty if
            they do not show it.
        uncompared: Why comparisons do not show it; empty if they do.
        is_private: Whether the value may name people or machines, so that it is redacted.
        is_time: Whether the value is in seconds, which a command line has with a unit.
        of_xctrace: Whether only xctrace follows the choice; runs of other recorders do not have it.
        words: All words that the option takes; empty if it takes others.
        write: A function that returns the arguments of a command line; by default the option with
            its value, once for each value of several.
    """

    name: str = ""
    condition: str = ""
    uncompared: str = ""
    is_private: bool = False
    is_time: bool = False
    of_xctrace: bool = False
    words: tuple[str, ...] = ()
    write: "Callable[[RecordingChoices], list[str]] | None" = None


def _chosen_by(**values: Any) -> dict[str, CaptureOption]:
    """Return the metadata of a field with a choice."""
    return {_KEY: CaptureOption(**values)}


def _write_parameters(choices: "RecordingChoices") -> list[str]:
    arguments: list[str] = []
    for name, value in choices.parameters.items():
        arguments += write_option(name, value)
    return arguments


def _write_instruments(choices: "RecordingChoices") -> list[str]:
    """Return the instruments as options; without a template, --light takes the place of its own."""
    names = list(choices.instruments)
    arguments: list[str] = []
    if names and not choices.templates:
        arguments.append("--light")
        names = [name for name in names if name not in LIGHT]
    return [*arguments, *write_option("instrument", names)]


def _write_command(choices: "RecordingChoices") -> list[str]:
    if not choices.command:
        return []
    return ["--", *choices.command]


@dataclass(frozen=True, kw_only=True)
class RecordingChoices:
    """The user's choices for a recording; by default none is stated.

    Times are in seconds. `recorder`, `method`, `counters` and `telemetry` (a monitor of the
    machine) are words that the command line takes. `instruments` are added to the template, or
    recorded alone without one. `after` is the time for which a program runs before it is recorded,
    `warmup` the number of steps in a row without a new pipeline that end the warm-up, `repeats` the
    number of steady steps after which the workload stops; without it the time limit alone ends it.
    `patterns` describe the numbers that a program prints, as `--read` takes them.

    The fields have the order of the options on a command line, and of the conditions in a
    comparison.
    """

    parameters: dict[str, Any] = field(
        default_factory=dict[str, Any],
        metadata=_chosen_by(
            write=_write_parameters,
            uncompared="Each parameter is compared by its own name.",
            is_private=True,
        ),
    )
    recorder: str = field(
        default="",
        metadata=_chosen_by(
            name="recorder",
            uncompared="The clock of the recorder is compared.",
            words=get_args(RecorderChoice),
        ),
    )
    method: str = field(
        default=_AUTO,
        metadata=_chosen_by(
            name="method", condition="method", of_xctrace=True, words=get_args(MethodChoice)
        ),
    )
    counters: str = field(
        default=_AUTO,
        metadata=_chosen_by(name="counters", condition="counters", words=get_args(CountersChoice)),
    )
    telemetry: str = field(
        default=_AUTO,
        metadata=_chosen_by(
            name="telemetry",
            uncompared="It does not change the recorded work.",
            words=get_args(TelemetryChoice),
        ),
    )
    templates: tuple[str, ...] = field(
        default=(),
        metadata=_chosen_by(
            name="template", condition="templates", is_private=True, of_xctrace=True
        ),
    )
    instruments: tuple[str, ...] = field(
        default=(),
        metadata=_chosen_by(
            name="instrument",
            condition="instruments",
            is_private=True,
            of_xctrace=True,
            write=_write_instruments,
        ),
    )
    time_limit: float | None = field(
        default=None,
        metadata=_chosen_by(name="time_limit", condition="time limit", is_time=True),
    )
    after: float | None = field(
        default=None,
        metadata=_chosen_by(name="after", condition="recorded after", is_time=True),
    )
    warmup: int | None = field(
        default=None, metadata=_chosen_by(name="warmup", condition="warm-up steps")
    )
    repeats: int | None = field(
        default=None, metadata=_chosen_by(name="repeats", condition="repeats")
    )
    patterns: tuple[str, ...] = field(
        default=(),
        metadata=_chosen_by(
            name="read", uncompared="The numbers that both runs have are compared.", is_private=True
        ),
    )
    command: tuple[str, ...] = field(
        default=(),
        metadata=_chosen_by(write=_write_command, uncompared="Its program is compared as work."),
    )

    @classmethod
    def from_document(cls, document: Any) -> "RecordingChoices":
        """Return the choices of a document, without its other fields."""
        return RecordingChoices(**_take_shared(document, RecordingChoices))

    def share_with(self, kind: Any) -> dict[str, Any]:
        """Return the choices that a class of documents has as well, by name."""
        return _take_shared(self, kind)

    @staticmethod
    def options() -> list[tuple[str, CaptureOption]]:
        """Return the name of each choice, and its option."""
        options: list[tuple[str, CaptureOption]] = []
        for entry in fields(RecordingChoices):
            option = entry.metadata.get(_KEY)
            assert option is not None, f"give {entry.name} its option: metadata=_chosen_by(…)"
            options.append((entry.name, option))
        return options

    def leave_out_unfollowed(self) -> "RecordingChoices":
        """Return these choices, where those that the recorder does not follow are not stated."""
        unfollowed = {
            entry.name: entry.default
            for entry in fields(RecordingChoices)
            if not self.follows(entry.metadata[_KEY])
        }
        return replace(RecordingChoices.from_document(self), **unfollowed)

    @property
    def arguments(self) -> list[str]:
        """The arguments of `tracekit capture` that make these choices again.

        Choices that are not stated, are automatic, or have no effect on the recorder are left out.
        """
        arguments: list[str] = []
        for name, option in self.options():
            if self.follows(option):
                arguments += self.write(name)
        return arguments

    def follows(self, option: CaptureOption) -> bool:
        """Return whether the recorder, as far as it is chosen, follows an option."""
        return not option.of_xctrace or self.recorder in {"", _AUTO, _XCTRACE}

    def write(self, name: str) -> list[str]:
        """Return the arguments that make one choice again; none if it is automatic."""
        option = dict(self.options())[name]
        if option.write is not None:
            return option.write(self)
        value = getattr(self, name)
        if value in {_AUTO, ""}:
            return []
        if option.is_time and value is not None:
            value = _write_time(value)
        return write_option(option.name, value)

    @property
    def conditions(self) -> list[tuple[str, Any]]:
        """The name and the value of each choice that comparisons of two runs show."""
        return [
            (option.condition, getattr(self, name))
            for name, option in self.options()
            if option.condition
        ]

    def find_given_options(self, apart_from: Collection[str] = ()) -> list[str]:
        """Return the options, such as --time-limit, of choices that differ from their defaults.

        The defaults are those of the object's class. Choices in `apart_from` are left out.
        """
        defaults = {entry.name: entry.default for entry in fields(self)}
        given_options: list[str] = []
        for name, _ in self.options():
            if name not in apart_from and getattr(self, name) != defaults[name]:
                words = self.write(name)
                given_options += [word.partition("=")[0] for word in words if word.startswith("--")]
        return list(dict.fromkeys(given_options))


def is_public_choice(name: str) -> bool:
    """Return whether a field of a document is a choice that never names people or machines."""
    option = dict(RecordingChoices.options()).get(name)
    return option is not None and not option.is_private


def _take_shared(document: Any, kind: Any) -> dict[str, Any]:
    shared_names = {entry.name for entry in fields(document)} & {
        entry.name for entry in fields(kind)
    }
    return {
        name: getattr(document, name)
        for name, _ in RecordingChoices.options()
        if name in shared_names
    }


def write_option(name: str, value: Any) -> list[str]:
    """Return the arguments that set an option; values of a list repeat it, None leaves it out."""
    option = f"--{name.replace('_', '-')}"
    if value is None:
        return []
    if isinstance(value, list | tuple):
        arguments: list[str] = []
        for item in cast("list[object]", value):
            arguments += write_option(name, item)
        return arguments
    if value is True:
        return [option]
    if value is False:
        return [f"--no-{option.removeprefix('--')}"]
    text = str(value)
    if text.startswith("-"):
        return [f"{option}={text}"]
    return [option, text]


def _write_time(seconds: float) -> str:
    """Return a time as a command line takes it, without an exponent."""
    return f"{seconds:.{_DECIMALS}f}".rstrip("0").rstrip(".") + "s"
