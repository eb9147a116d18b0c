"""Compare servers of tokens: each is started, asked and stopped in turn, several times."""

import os
import shlex
import signal
import socket
import statistics
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psutil

from tracekit import machine
from tracekit.base import InputError, UsageError, processes
from tracekit.base.programs import require_program
from tracekit.lab.endpoint.client import (
    Endpoint,
    ModelNumbers,
    Reply,
    ask,
    check_numbers,
    run_coroutine,
)
from tracekit.lab.endpoint.model_memory import (
    ModelMemory,
    estimate_memory,
    find_config,
    read_config,
)
from tracekit.lab.endpoint.server_use import IdleMemory, ServerWatch
from tracekit.lab.endpoint.traffic import find_model, make_prompt
from tracekit.record import Progress

_ADAPTERS = Path(__file__).with_name("runtimes.toml")
_HOST = "127.0.0.1"
_POLL = 0.05  # seconds between two looks at a server that starts
_WATCH = 0.05  # seconds between two samples of its memory
_COMMAND = "command:"
_STOP = processes.StopPolicy(signals=((signal.SIGTERM, 10.0),), group=True)
_SECOND = 1_000_000_000
KIND = "runtimes"
ALIKE_PROMPTS = 1.05
"""Ratio of the tokens of two prompts up to which their prefills are compared."""


@dataclass(frozen=True)
class Runtime:
    """A server to start: a name to show, and its command with {model}, {host} and {port}."""

    name: str
    command: tuple[str, ...]
    model: str

    def argv(self, port: int) -> list[str]:
        """Return the command for a port."""
        words = {"{model}": self.model, "{host}": _HOST, "{port}": str(port)}
        argv: list[str] = []
        for word in self.command:
            filled_word = word
            for mark, value in words.items():
                filled_word = filled_word.replace(mark, value)
            argv.append(filled_word)
        return argv


@dataclass(frozen=True)
class RuntimeEffort:
    """How much is measured: rounds, replies in each, sizes in tokens, the limit of a start in s."""

    rounds: int = 3
    replies: int = 5
    prompt_tokens: int = 512
    output_tokens: int = 128
    start_limit: float = 300.0
    time_limit: float = 120.0


@dataclass(frozen=True)
class PhaseMemory:
    """The memory of a server's processes by phase: resident bytes, None without a sample.

    `baseline` is the memory in use on the machine before the start. `loaded` is the level after a
    first and a second short reply, `prefill` the peak from a request to its first token, `decode`
    the peak from there to the end of the reply. `idle` is a look after the last reply.
    """

    baseline: int
    loaded: int | None
    prefill: int | None
    decode: int | None
    idle: IdleMemory


@dataclass(frozen=True)
class RuntimeSample:
    """One round of one server: waits in ns, rates in tokens a second, memory in bytes.

    `start` is from the start of the program to the first token of a first short reply, so that a
    server that loads its model only then is measured like the others. `load` is the part of it that
    a second short reply does not take. The rest are medians of the replies after these; None is
    what no reply or no process could give.
    """

    start: float
    load: float | None
    first_token: float | None
    prefill: float | None
    decode: float | None
    prompt_tokens: float | None
    peak_memory: int | None
    failures: int
    coarse_replies: int  # whose parts hold several tokens, so that they time no decoding
    memory: PhaseMemory | None = None
    numbers: ModelNumbers = ModelNumbers.UNKNOWN


@dataclass(frozen=True)
class RuntimeFigure:
    """The median of the rounds, and the least and the largest of them."""

    median: float
    least: float
    largest: float


@dataclass(frozen=True)
class RuntimeRow:
    """The result of one server; `reason` says why a server has no figures.

    `estimate` is the memory of its model by its `config.json`, None if there is none.
    """

    name: str
    model: str
    command: list[str]
    samples: list[RuntimeSample] = field(default_factory=list)
    reason: str = ""
    estimate: ModelMemory | None = None

    @property
    def numbers(self) -> ModelNumbers:
        """Whether the numbers of its model are finite: not, if those of one round are not."""
        states = {sample.numbers for sample in self.samples}
        for state in (ModelNumbers.NOT_FINITE, ModelNumbers.FINITE):
            if state in states:
                return state
        return ModelNumbers.UNKNOWN

    def figure(self, name: str) -> RuntimeFigure | None:
        """Return the figure of a field of the samples; None if no round has it.

        A field of a part has a dotted name, such as "memory.idle.private".
        """
        values: list[float] = []
        for sample in self.samples:
            value: Any = sample
            for part in name.split("."):
                value = getattr(value, part, None)
            if value is not None:
                values.append(value)
        if not values:
            return None
        return RuntimeFigure(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class ComparedRuntimes:
    """All servers in the order of the command line, the machine, and the time of the start."""

    effort: RuntimeEffort
    rows: list[RuntimeRow]
    doubts: list[str]
    machine: dict[str, Any] = field(default_factory=dict)
    date: str = ""
    interrupted: bool = False
    kind: str = KIND
    format: int = 1


def parse_runtime(words: str, model: str | None) -> Runtime:
    """Return the runtime of "NAME", "NAME=MODEL" or "command:PROGRAM …".

    Raises UsageError for an unknown name, and for a command without {port}.
    """
    if words.startswith(_COMMAND):
        command = tuple(shlex.split(words.removeprefix(_COMMAND)))
        if not command or not any("{port}" in word for word in command):
            raise UsageError(
                f"The command {words.removeprefix(_COMMAND)!r} has no {{port}}.",
                hint="Write {port} for the port that the server listens on.",
            )
        return Runtime(Path(command[0]).name, command, model or "")
    name, _, named_model = words.partition("=")
    adapters = tomllib.loads(_ADAPTERS.read_text(encoding="utf-8"))
    if name not in adapters:
        raise UsageError(
            f"There is no runtime {name!r}.",
            hint=f"There are: {', '.join(adapters)}, and command:PROGRAM with {{port}}.",
        )
    chosen_model = named_model or model
    if not chosen_model:
        raise UsageError(
            f"{name} needs a model.", hint=f"Give --model MODEL, or --with {name}=MODEL."
        )
    return Runtime(name, tuple(adapters[name]["command"]), chosen_model)


def compare_runtimes(
    runtimes: Sequence[Runtime], effort: RuntimeEffort, *, progress: Progress
) -> ComparedRuntimes:
    """Measure each runtime in each round, in turn; a runtime that fails is left out from then on.

    An interruption keeps the rounds so far. The memory is estimated first, so that no error of it
    loses a measurement.
    """
    estimates = [estimate_runtime(runtime, effort) for runtime in runtimes]
    samples: dict[int, list[RuntimeSample]] = {place: [] for place in range(len(runtimes))}
    reasons: dict[int, str] = {}
    interrupted = False
    date = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        for number in range(effort.rounds):
            for place, runtime in enumerate(runtimes):
                if place in reasons:
                    continue
                progress(f"round {number + 1} of {effort.rounds}: {runtime.name}")
                try:
                    samples[place].append(_measure(runtime, effort, number))
                except _NoServerError as error:
                    reasons[place] = str(error)
    except KeyboardInterrupt:
        interrupted = True
    rows: list[RuntimeRow] = []
    for place, runtime in enumerate(runtimes):
        reason = reasons.get(place, "")
        command = list(runtime.command)
        row = RuntimeRow(
            runtime.name, runtime.model, command, samples[place], reason, estimates[place]
        )
        rows.append(row)
    facts = machine.describe()
    return ComparedRuntimes(effort, rows, list(_doubts(rows)), facts, date, interrupted)


def estimate_runtime(runtime: Runtime, effort: RuntimeEffort) -> ModelMemory | None:
    """Return the memory of a runtime's model for one reply; None if no `config.json` is found."""
    config = find_config(runtime.model)
    if config is None:
        return None
    tokens = effort.prompt_tokens + effort.output_tokens
    try:
        return estimate_memory(read_config(config), tokens)
    except InputError:
        return None


class _NoServerError(Exception):
    """A server that did not start, or gave no token."""


def _measure(runtime: Runtime, effort: RuntimeEffort, number: int) -> RuntimeSample:
    """Start the server, ask it and stop it."""
    environment = dict(os.environ)
    baseline = psutil.virtual_memory().used
    port = _free_port()
    argv = runtime.argv(port)
    try:
        require_program(argv[0], environment.get("PATH"))
    except UsageError as error:
        raise _NoServerError(error.message) from error
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output.txt"
        with output.open("wb") as file:
            started = time.perf_counter_ns()
            server = processes.start_child(argv, _STOP, env=environment, stdout=file, stderr=file)
        try:
            with ServerWatch(server.pid, _WATCH) as watch:
                conversation = _ask_server(server, output, port, effort, (started, number))
            use = watch.use()
            memory = _read_memory(conversation, watch, baseline)
        finally:
            server.note_descendants()
            server.stop()
            server.clean_up()
    return replace(_summarize(conversation), peak_memory=use.peak_memory, memory=memory)


def _read_memory(conversation: "_Conversation", watch: ServerWatch, baseline: int) -> PhaseMemory:
    """Return the memory by phase; the server is idle, and is looked at once more."""
    prefills: list[tuple[int, int]] = []
    decodes: list[tuple[int, int]] = []
    for reply in conversation.replies:
        if reply.is_complete:
            prefills.append((reply.due_moment, reply.arrivals[0]))
            decodes.append((reply.arrivals[0], reply.end))
    return PhaseMemory(
        baseline=baseline,
        loaded=watch.level_at(conversation.loaded),
        prefill=watch.peak_within(prefills),
        decode=watch.peak_within(decodes),
        idle=watch.read_idle_memory(),
    )


def _free_port() -> int:
    with socket.create_server((_HOST, 0)) as listener:
        return listener.getsockname()[1]


def _ask_server(
    server: processes.Child,
    output: Path,
    port: int,
    effort: RuntimeEffort,
    moment: tuple[int, int],
) -> "_Conversation":
    started, number = moment
    endpoint = Endpoint(f"http://{_HOST}:{port}/v1", time_limit=effort.time_limit)
    deadline = time.monotonic() + effort.start_limit
    while not _answers(endpoint):
        if server.exit_status is not None:
            words = processes.last_words(output).splitlines()[-1:]
            status = processes.exit_words(server.exit_status)
            raise _NoServerError(f"it ended with {status}: {' '.join(words)}".rstrip(": "))
        if time.monotonic() > deadline:
            raise _NoServerError(f"it did not answer within {effort.start_limit:g} s")
        time.sleep(_POLL)
    try:
        model = find_model(endpoint)
    except httpx2.HTTPError as error:
        raise _NoServerError(f"it lists no models: {error}") from error
    endpoint = Endpoint(endpoint.url, model=model, time_limit=effort.time_limit)
    return run_coroutine(_ask_in_a_row(endpoint, effort, started, number))


def _answers(endpoint: Endpoint) -> bool:
    try:
        with httpx2.Client(timeout=1.0, trust_env=False) as client:
            return client.get(f"{endpoint.url}/models").is_success
    except httpx2.HTTPError:
        return False


@dataclass(frozen=True)
class _Conversation:
    """Replies of a server: the first, counted from its start, a second alike, and those to measure.

    `loaded` is when the second one was over.
    """

    first_reply: Reply
    second_reply: Reply
    loaded: int
    replies: list[Reply]
    numbers: ModelNumbers


async def _ask_in_a_row(
    endpoint: Endpoint, effort: RuntimeEffort, started: int, number: int
) -> _Conversation:
    replies: list[Reply] = []
    async with httpx2.AsyncClient(timeout=endpoint.time_limit, trust_env=False) as client:
        warm_up = Reply(0, started)
        await ask(client, endpoint, warm_up, "time", 2)
        if not warm_up.arrivals:
            raise _NoServerError(f"its first reply was {warm_up.failure}: {warm_up.reason}")
        second = Reply(1, time.perf_counter_ns())
        await ask(client, endpoint, second, "year", 2)
        loaded = time.perf_counter_ns()
        for place in range(effort.replies):
            reply = Reply(place, time.perf_counter_ns())
            prompt = make_prompt(place, effort.prompt_tokens, number)
            await ask(client, endpoint, reply, prompt, effort.output_tokens)
            replies.append(reply)
        numbers = await check_numbers(client, endpoint)
    return _Conversation(warm_up, second, loaded, replies, numbers)


def _summarize(conversation: _Conversation) -> RuntimeSample:
    """Return the figures of a server's replies."""
    complete = [reply for reply in conversation.replies if reply.is_complete]
    prefills: list[float] = []
    decodes: list[float] = []
    prompts: list[float] = []
    waits: list[float] = []
    coarse_replies = 0
    for reply in complete:
        coarse_replies += reply.is_coarse
        wait = reply.arrivals[0] - reply.due_moment
        waits.append(wait)
        if reply.prompt_tokens:
            prompts.append(reply.prompt_tokens)
            prefills.append(reply.prompt_tokens / wait * _SECOND)
        if reply.time_per_token:
            decodes.append(_SECOND / reply.time_per_token)
    start = conversation.first_reply.arrivals[0] - conversation.first_reply.due_moment
    load = None
    if conversation.second_reply.arrivals:
        load = max(
            0,
            start - (conversation.second_reply.arrivals[0] - conversation.second_reply.due_moment),
        )
    return RuntimeSample(
        start=start,
        load=load,
        first_token=_median(waits),
        prefill=_median(prefills),
        decode=_median(decodes),
        prompt_tokens=_median(prompts),
        peak_memory=None,
        failures=len(conversation.replies) - len(complete),
        coarse_replies=coarse_replies,
        numbers=conversation.numbers,
    )


def _median(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return statistics.median(values)


def _doubts(rows: Sequence[RuntimeRow]) -> Iterator[str]:
    prompts: dict[str, float] = {}
    for row in rows:
        failures = 0
        coarse_replies = 0
        for sample in row.samples:
            failures += sample.failures
            coarse_replies += sample.coarse_replies
        if failures:
            yield f"{row.name}: {failures} replies did not come whole, and are in no figure."
        if coarse_replies:
            yield (
                f"{row.name}: {coarse_replies} replies came in parts of several tokens or "
                "all at once: no rate of decoding is known of them."
            )
        if row.numbers is ModelNumbers.NOT_FINITE:
            yield (
                f"{row.name}: its model gives NaN or infinite numbers: the logarithms of its "
                "tokens' probabilities are none."
            )
        figure = row.figure("prompt_tokens")
        if figure is not None:
            prompts[row.name] = figure.median
    if prompts and max(prompts.values()) > ALIKE_PROMPTS * min(prompts.values()):
        counts = ", ".join(f"{name} {count:.0f}" for name, count in prompts.items())
        yield f"The servers count other tokens in the same prompts: {counts}."
    models = dict.fromkeys(row.model for row in rows if row.samples and row.model)
    if len(models) > 1:
        yield f"The servers run other models: {', '.join(models)}."
