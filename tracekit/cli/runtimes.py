"""`bench runtimes`: servers of tokens, started and measured in turns."""

from pathlib import Path
from typing import Annotated

from tracekit import lab, machine
from tracekit.base import InterruptedRunError, ToolError, UsageError, distribution, outputs
from tracekit.base.documents import save
from tracekit.cli import console, model_rates, options
from tracekit.cli.options import option

With = Annotated[
    list[str] | None,
    option(
        "RUNTIME",
        "mlx_lm, llama.cpp, vllm-metal, NAME=MODEL, or 'command:PROGRAM … {port}'; again for more.",
        "--with",
    ),
]
Model = Annotated[str | None, option("MODEL", "The model of runtimes that name none.")]
Rounds = Annotated[int, option("N", "Starts of each server, in turns.", min=1, max=100)]
Replies = Annotated[int, option("N", "Replies in a row in each round.", min=1, max=1000)]
PromptTokens = Annotated[int, option("N", "Words of a made prompt, mostly one token each.", min=1)]
OutputTokens = Annotated[int, option("N", "Tokens of a reply at most.", min=2)]
StartLimit = Annotated[float, option("SECONDS", "Wait for a server to answer.", min=0.1)]
Markdown = Annotated[Path | None, option("FILE", "Write the table as Markdown.")]
Output = Annotated[Path | None, option("FILE.json", "Write all rounds.", "--output", "-o")]


def runtimes(
    *,
    with_: With = None,
    model: Model = None,
    rounds: Rounds = 3,
    replies: Replies = 5,
    prompt_tokens: PromptTokens = 512,
    output_tokens: OutputTokens = 128,
    start_limit: StartLimit = 300.0,
    output: Output = None,
    markdown: Markdown = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Measure which runtime serves a model faster: mlx_lm, llama.cpp, vllm-metal or your own.

    Each server is started, asked and stopped in turn, several times, so that a slow minute falls on
    all. Shows the time from its start to a first token, the part of it that loading takes, the wait
    for a first token, tokens a second of prefill and decode, and the memory by phase; by component
    too, if the model is a folder with a `config.json`, or in Hugging Face's cache.
    """
    if not with_:
        raise UsageError(
            "No runtime is named.", hint="--with mlx_lm --with llama.cpp=model.gguf, for example."
        )
    distribution.require_extra("load")
    servers = [lab.endpoint.runtimes.parse_runtime(words, model) for words in with_]
    effort = lab.endpoint.runtimes.RuntimeEffort(
        rounds=rounds,
        replies=replies,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        start_limit=start_limit,
    )
    files = [file for file in (output, markdown) if file is not None]
    with outputs.writing(files, force=force):
        with console.progress("runtimes") as progress:
            compared = lab.endpoint.runtimes.compare_runtimes(servers, effort, progress=progress)
        if output is not None:
            save(output, compared)
        if markdown is not None:
            markdown.write_text(lab.endpoint.words.runtime_markdown(compared), encoding="utf-8")
    if json:
        console.show_json(compared)
    else:
        console.measurements(*lab.endpoint.words.runtime_table(compared))
        for table in lab.endpoint.words.memory_tables(compared):
            console.measurements(*table)
        _show_rates(compared)
        console.show_warnings(compared.doubts)
    for file in files:
        console.show_written(file)
    _end(compared)


def _show_rates(compared: "lab.endpoint.runtimes.ComparedRuntimes") -> None:
    """Print the rates of each model against published ones, and against the limits of the chip."""
    chip = machine.chips.this_chip(machine.describe())
    for row in compared.rows:
        decode = row.figure("decode")
        prefill = row.figure("prefill")
        if not row.model or (decode is None and prefill is None):
            continue
        rates = model_rates.ModelRates(
            row.model,
            decode and decode.median,
            prefill and prefill.median,
            row.name,
        )
        config = row.estimate and row.estimate.model
        context = compared.effort.prompt_tokens
        console.measurements(*model_rates.rate_table(rates, chip, config, context))


def _end(compared: "lab.endpoint.runtimes.ComparedRuntimes") -> None:
    """Raise the error of an interruption, or of servers that gave nothing."""
    if compared.interrupted:
        raise InterruptedRunError("The comparison was interrupted; rounds may be missing.")
    if not any(row.samples for row in compared.rows):
        reasons = "; ".join(f"{row.name}: {row.reason}" for row in compared.rows)
        raise ToolError("No server could be measured.", hint=reasons)
