"""`bench load`: a server that streams tokens, measured from the outside."""

import os
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer

from tracekit import lab
from tracekit.base import (
    InterruptedRunError,
    ToolError,
    UsageError,
    distribution,
    documents,
    outputs,
)
from tracekit.cli import console, options
from tracekit.cli.options import flag, option

_CLIENTS = 8

Url = Annotated[str, option("URL", "Up to /completions: http://127.0.0.1:8080/v1.", "--url")]
Concurrency = Annotated[
    int | None,
    option("N", "Clients that each wait for a reply before they ask again.  [default: 8]", min=1),
]
RequestRate = Annotated[
    float | None, option("N", "Requests a second, whatever the server does.", "--rate", min=0.001)
]
Duration = Annotated[float, option("SECONDS", "How long to send requests.", min=0.1)]
PromptTokens = Annotated[int, option("N", "Words of a made prompt, mostly one token each.", min=1)]
OutputTokens = Annotated[int, option("N", "Tokens of a reply at most.", min=1)]
Spread = Annotated[
    Literal["fixed", "lognormal"],
    typer.Option("--lengths", help="All alike, or from a quarter of it to four times it."),
]
Prompt = Annotated[Path | None, option("FILE", "Send the text of this file instead.")]
ApiName = Annotated[
    Literal["completions", "chat"], typer.Option("--api", help="Which of OpenAI's two interfaces.")
]
Model = Annotated[str | None, option("NAME", "The model.  [default: the first that is listed]")]
KeyVariable = Annotated[
    str | None, option("NAME", "Environment variable with the key to send.  [default: none]")
]
Pid = Annotated[
    int | None, option("PID", "The server's process.  [default: the one on the port]", min=1)
]
Patience = Annotated[
    float, option("SECONDS", "Wait for a connection or a part of a reply.", "--patience", min=0.01)
]
IgnoreEos = Annotated[
    bool, flag("--ignore-eos", "Ask for all tokens, as llama.cpp and vLLM can do.")
]
Seed = Annotated[int, option("N", "Draws prompts, lengths and arrivals.", min=0)]
Output = Annotated[
    Path | None, option("FILE.json", "Write the figures and each reply.", "--output", "-o")
]


def load(
    url: Url,
    *,
    concurrency: Concurrency = None,
    rate: RequestRate = None,
    duration: Duration = 30.0,
    prompt_tokens: PromptTokens = 512,
    output_tokens: OutputTokens = 128,
    lengths: Spread = "fixed",
    prompt: Prompt = None,
    api: ApiName = "completions",
    model: Model = None,
    key_variable: KeyVariable = None,
    pid: Pid = None,
    patience: Patience = 120.0,
    ignore_eos: IgnoreEos = False,
    seed: Seed = 0,
    output: Output = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Measure a server that streams tokens as OpenAI's interface asks, such as llama.cpp's.

    Shows requests and tokens a second in ramp, steady phase and tail, the waits for a first token,
    between tokens and for a whole reply, each failure by its kind, and the use of the server's
    process. With --concurrency the server's speed decides how many requests come; with --rate they
    come anyway, and waits count from the moment that was due.
    """
    if concurrency is not None and rate is not None:
        raise UsageError(
            "--concurrency and --rate exclude each other.",
            hint="Clients that wait for replies, or requests that come at a rate.",
        )
    distribution.require_extra("load")
    endpoint = lab.endpoint.client.Endpoint(
        url=_normalize_url(url),
        api=api,
        model=model or "",
        key=_read_key(key_variable),
        time_limit=patience,
        ignores_end=ignore_eos,
    )
    text = None
    if prompt is not None:
        text = _read_prompt(prompt)
    clients = concurrency
    if rate is None and clients is None:
        clients = _CLIENTS
    drawn_load = lab.endpoint.traffic.make_load(
        rate=rate,
        duration=duration,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        lengths=lengths,
        seed=seed,
    )
    plan = lab.endpoint.traffic.TrafficPlan(endpoint, drawn_load, clients, text)
    inputs = [prompt] if prompt else []
    with outputs.writing([output] if output else [], inputs, force=force):
        if model is None:
            plan = lab.endpoint.traffic.with_listed_model(plan)
        with console.progress("load") as progress:
            traffic = lab.endpoint.traffic.measure_endpoint(plan, pid=pid, progress=progress)
        figures = lab.endpoint.figures.figures_of(traffic)
        if output is not None:
            documents.save(output, lab.endpoint.figures.document_of(traffic, figures))
    if json:
        console.show_json(figures)
    else:
        for title, columns, rows in lab.endpoint.words.tables(figures):
            console.measurements(title, columns, rows)
        console.show_warnings(figures.doubts)
    if output is not None:
        console.show_written(output)
    _end(figures)


def _normalize_url(url: str) -> str:
    """Return the URL without a slash at its end, or raise UsageError."""
    address = urlsplit(url)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise UsageError(
            f"Invalid URL {url!r}.", hint="Give the whole of it: http://127.0.0.1:8080/v1."
        )
    base_url = url.rstrip("/")
    for ending in ("/chat/completions", "/completions"):
        base_url = base_url.removesuffix(ending)
    return base_url


def _read_key(variable: str | None) -> str:
    """Return the key in a variable of the environment; no key is sent unless one is named."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise UsageError(f"The environment variable {variable} is not set.")
    return key


def _read_prompt(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{file} cannot be read as text: {error}") from error
    if not text.strip():
        raise UsageError(f"{file} holds no text.")
    return text


def _end(figures: "lab.endpoint.figures.EndpointFigures") -> None:
    """Raise the error of an interruption, or of a server that gave no whole reply."""
    if figures.interrupted:
        raise InterruptedRunError(
            "The measurement was interrupted.", hint=f"{figures.complete} replies were complete."
        )
    if not figures.complete:
        kinds = ", ".join(f"{count} {kind}" for kind, count in figures.failures.items())
        reason = next(iter(figures.reasons.values()), "")
        raise ToolError(
            f"None of {figures.sent} requests to {figures.url} got a complete reply: {kinds}.",
            hint=reason or "Look at the server's own output.",
        )
