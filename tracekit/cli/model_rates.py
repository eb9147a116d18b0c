"""Rates of a model on the command line: against published ones, and the limits of a chip."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit import analysis, lab, machine
from tracekit.base import units

Table = tuple[str, tuple[str, ...], list[tuple[str, str, str]]]


_SPEED = re.compile(r"(prompt|pp\d+\S*|generation|tg\d+\S*)_tokens_per_second")
"""The names of speeds of llama.cpp, mlx_lm and, with sizes, llama-bench."""


@dataclass(frozen=True)
class ModelRates:
    """Tokens a second of a model, by its name or path, and the tool that reached them."""

    model: str
    decode: float | None = None
    prefill: float | None = None
    tool: str = ""

    def judge(
        self, chip: str, config: "lab.endpoint.model_memory.ModelConfig | None"
    ) -> "Iterator[lab.endpoint.published.RateJudgement]":
        """Yield each rate against those that were published for a chip."""
        published = lab.endpoint.published
        name = self.model
        bits = None
        if config is not None:
            name = config.name
            bits = config.bits or None
        if self.prefill is not None:
            yield published.judge_rate(
                self.prefill, "prefill", chip=chip, model=name, bits=bits, tool=self.tool
            )
        if self.decode is not None:
            yield published.judge_rate(
                self.decode, "decode", chip=chip, model=name, bits=bits, tool=self.tool
            )


def rate_table(
    rates: ModelRates,
    chip: "machine.chips.Chip",
    config: "lab.endpoint.model_memory.ModelConfig | None",
    context: int,
) -> Table:
    """Return the rates with their published ranges, and with the chip's limits, by a config."""
    published = lab.endpoint.published
    rows: list[tuple[str, str, str]] = []
    for judgement in rates.judge(chip.name, config):
        source = ""
        if judgement.published is not None:
            source = judgement.published.source
        rate = f"{judgement.rate:g} tokens/s: {published.describe_judgement(judgement)}"
        rows.append((judgement.phase, rate, source))
    if config is None:
        reason = units.unavailable("its config.json is not here")
        rows.append(("of the chip", reason, ""))
    else:
        limits = published.list_limits(
            config, chip, context=context, prefill=rates.prefill, decode=rates.decode
        )
        rows.extend(limits)
    name = rates.model
    if config is not None:
        name = config.name
    return f"{name} on {chip.name or 'this machine'}", ("rate", "value", "source"), rows


def describe_printed_rates(result: "analysis.Result") -> Iterator[str]:
    """Yield the speeds that a program printed against published ones, if it names such a model."""
    provenance = result.provenance
    model = ""
    for word in provenance.command:
        if lab.endpoint.published.recognize_model(word)[0]:
            model = word
    if not model:
        return
    chip = str(provenance.machine.get("chip", ""))
    for number in result.results:
        match = _SPEED.fullmatch(number.name)
        if match is None or number.value is None:
            continue
        phase = "decode"
        if match[1].startswith("p"):
            phase = "prefill"
        tool = _recognize_tool(match[1], provenance.command)
        judgement = lab.endpoint.published.judge_rate(
            number.value, phase, chip=chip, model=model, tool=tool
        )
        words = lab.endpoint.published.describe_judgement(judgement)
        yield f"{number.name}: {words}"


def _recognize_tool(speed: str, command: Sequence[str]) -> str:
    """Return the tool that prints speeds of this name, or that a command names."""
    text = " ".join(command)
    if "mlx_lm" in text:
        return "mlx_lm"
    if speed.startswith(("pp", "tg")) or "llama" in Path(command[0]).name:
        return "llama.cpp"
    return ""
