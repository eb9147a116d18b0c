"""The tables of measured servers, in words."""

from collections.abc import Iterator, Sequence

from tracekit.base import units
from tracekit.lab.endpoint.figures import EndpointFigures, TrafficPhase, WaitSummary
from tracekit.lab.endpoint.model_memory import ModelMemory, list_parts
from tracekit.lab.endpoint.runtimes import ComparedRuntimes, RuntimeRow

WordTable = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""A title, the heads of the columns, and the rows."""


def tables(figures: EndpointFigures) -> list[WordTable]:
    """Return the tables that are shown, in order."""
    word_tables = [_phases(figures), _waits(figures)]
    if figures.failures:
        word_tables.append(_failures(figures))
    if figures.slowest:
        word_tables.append(_slowest(figures))
    word_tables.append(_server(figures))
    return word_tables


def _phases(figures: EndpointFigures) -> WordTable:
    if figures.loop == "closed":
        how = f"{figures.concurrency} clients, each waiting for its reply"
    else:
        how = f"{figures.rate:g} requests a second, whatever the server does"
    success = "no request was sent"
    if figures.success is not None:
        success = f"{figures.complete} of {figures.sent} complete ({figures.success:.1%})"
    title = f"{figures.model or 'The model'} at {figures.url}: {how}; {success}"
    columns = ("phase", "from", "to", "replies", "requests/s", "tokens/s")
    return title, columns, [_phase_row(phase) for phase in figures.phases]


def _phase_row(phase: TrafficPhase) -> tuple[str, ...]:
    return (
        phase.name,
        f"{phase.start:.2f} s",
        f"{phase.end:.2f} s",
        f"{phase.replies:,}",
        _number(phase.requests_per_s),
        _number(phase.tokens_per_s),
    )


def _number(value: float | None) -> str:
    if value is None:
        return units.NOT_AVAILABLE
    return f"{value:,.4g}"


def _waits(figures: EndpointFigures) -> WordTable:
    waits = (
        ("first token", figures.first_token),
        ("time per token", figures.per_token),
        ("between parts", figures.between_parts),
        ("whole reply", figures.whole_reply),
    )
    columns = ("wait", "mean", "p50", "p95", "p99", "longest", "of")
    title = f"Waits of complete replies; {_tokens_words(figures)}"
    return title, columns, [_wait_row(*wait) for wait in waits]


def _tokens_words(figures: EndpointFigures) -> str:
    """Return the mean tokens of a reply, and of a prompt if the server counted them."""
    if not figures.complete:
        return "there are none"
    words = f"{figures.output_tokens / figures.complete:.0f} tokens each on average"
    if figures.prompt_tokens is not None:
        words += f", after {figures.prompt_tokens / figures.complete:.0f} of the prompt"
    return words


def _wait_row(name: str, wait: WaitSummary) -> tuple[str, ...]:
    values = (wait.mean, wait.p50, wait.p95, wait.p99, wait.longest)
    words = [units.NOT_AVAILABLE if value is None else units.duration(value) for value in values]
    return (name, *words, f"{wait.count:,}")


def _failures(figures: EndpointFigures) -> WordTable:
    rows: list[tuple[str, ...]] = []
    for kind, count in figures.failures.items():
        share = f"{count / figures.sent:.1%}"
        rows.append((kind, f"{count:,}", share, figures.reasons.get(kind, "")))
    return "Failures", ("kind", "requests", "share", "reason of the first"), rows


def _slowest(figures: EndpointFigures) -> WordTable:
    rows: list[tuple[str, ...]] = []
    for reply in figures.slowest:
        pause = ""
        if reply.longest_pause is not None:
            pause = f"{units.duration(reply.longest_pause * 1e9)} at {reply.longest_pause_at:.2f} s"
        first_token = ""
        if reply.first_token is not None:
            first_token = f"{reply.first_token:.2f} s"
        rows.append(
            (
                f"{reply.number}",
                f"{reply.due_second:.2f} s",
                first_token,
                f"{reply.end:.2f} s",
                pause,
            )
        )
    columns = ("request", "due", "first token", "end", "longest pause")
    return f"The slowest replies; 0 s is {figures.started}", columns, rows


def _server(figures: EndpointFigures) -> WordTable:
    return "The server's process", ("name", "cores", "memory"), list(_server_rows(figures))


def _server_rows(figures: EndpointFigures) -> Iterator[tuple[str, ...]]:
    use = figures.server
    if use is None:
        yield units.NOT_AVAILABLE, "", figures.server_reason
        return
    cores = _number(use.cores)
    memory = units.NOT_AVAILABLE
    if use.peak_memory is not None:
        memory = units.size(use.peak_memory)
    yield f"{use.name} ({use.pid}) and its children", cores, memory


_FIGURES = (
    ("start", "start to first token"),
    ("load", "load"),
    ("first_token", "first token"),
    ("prefill", "prefill tokens/s"),
    ("decode", "decode tokens/s"),
    ("peak_memory", "peak memory"),
)


def runtime_table(compared: ComparedRuntimes) -> WordTable:
    """Return the table of compared servers."""
    effort = compared.effort
    title = (
        f"Medians of {effort.rounds} rounds in turns, and their range; {effort.replies} replies in "
        f"a row, prompts of {effort.prompt_tokens} words, {effort.output_tokens} tokens at most"
    )
    rows: list[tuple[str, ...]] = []
    for row in compared.rows:
        cells = [row.name]
        for name, _ in _FIGURES:
            cells.append(_figure_words(row, name))
        cells.append(str(row.numbers) if row.samples else units.NOT_AVAILABLE)
        cells.append(row.reason)
        rows.append(tuple(cells))
    return title, ("runtime", *(head for _, head in _FIGURES), "numbers", "reason"), rows


_PHASES = (
    ("memory.baseline", "machine before"),
    ("memory.loaded", "loaded"),
    ("memory.prefill", "prefill"),
    ("memory.decode", "decode"),
    ("peak_memory", "peak"),
    ("memory.idle.private", "private"),
    ("memory.idle.footprint", "footprint"),
    ("memory.idle.accelerator", "of the GPU"),
)


def memory_tables(compared: ComparedRuntimes) -> Iterator[WordTable]:
    """Yield the memory by phase, and that of each model by component next to what was measured."""
    rows: list[tuple[str, ...]] = []
    for row in compared.rows:
        if row.figure("memory.baseline") is not None:
            cells = [row.name]
            for name, _ in _PHASES:
                cells.append(_level_words(row, name))
            rows.append(tuple(cells))
    title = (
        "Resident memory of each server's processes, medians; private, footprint and of the GPU "
        "after the last reply, the latter two by vmmap of macOS"
    )
    if rows:
        yield title, ("runtime", *(head for _, head in _PHASES)), rows
    for row in compared.rows:
        if row.samples and row.estimate is not None:
            yield _component_table(row, row.estimate)


def _component_table(row: RuntimeRow, estimate: ModelMemory) -> WordTable:
    """Return the components of a model's memory, and the rest that the server took at its peak."""
    model = estimate.model
    title = f"{row.name}, {model.name}: computed for a reply of {estimate.context:,} tokens"
    rows = list(list_parts(estimate))
    peak = row.figure("peak_memory")
    if peak is not None and estimate.total is not None:
        other = units.size(peak.median - estimate.total)
        if peak.median < estimate.total:
            other = units.unavailable("the processes had less resident memory than that")
        rows.append(("other", other, f"the peak of {units.size(peak.median)} without these"))
    return title, ("memory", "size", "computed from"), rows


def _level_words(row: RuntimeRow, name: str) -> str:
    figure = row.figure(name)
    if figure is None:
        return units.NOT_AVAILABLE
    return units.size(figure.median)


def runtime_markdown(compared: ComparedRuntimes) -> str:
    """Return the tables as Markdown, with the doubts below them."""
    lines: list[str] = []
    for title, columns, rows in (runtime_table(compared), *memory_tables(compared)):
        lines += [title, "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        for row in rows:
            cells = [cell.replace("|", "\\|") for cell in row]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines.pop()
    if compared.doubts:
        lines.append("")
    for doubt in compared.doubts:
        lines.append(f"- {doubt}")
    return "\n".join(lines) + "\n"


def _figure_words(row: RuntimeRow, name: str) -> str:
    figure = row.figure(name)
    if figure is None:
        return units.NOT_AVAILABLE
    words: list[str] = []
    for value in (figure.median, figure.least, figure.largest):
        if name in {"start", "load", "first_token"}:
            words.append(units.duration(value))
        elif name == "peak_memory":
            words.append(units.size(int(value)))
        else:
            words.append(f"{value:,.4g}")
    median, least, largest = words
    return f"{median} ({least} to {largest})"
