"""Rates of tokens against those that others published, and against the limits of the chip.

The work of a token is computed from the model's `config.json`:

- Decoding one sequence reads each active weight once, and the KV cache of the context. Of the input
  embeddings it reads one row, which does not count.
- A token takes 2 operations for each active weight that is multiplied, and 4 x layers x query heads
  x elements of a head for each token before it (J. Kaplan et al., Scaling Laws for Neural Language
  Models, section 2.1, both products of attention counted). In a prompt, the mean token has half
  the prompt before it.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tracekit.base import units
from tracekit.lab.endpoint.model_memory import ModelConfig, WeightCounts, estimate_memory
from tracekit.machine import chips

_DATA = Path(__file__).with_name("published.toml")
FAR_BELOW = 0.2
"""Share below the least published rate from which on the cause should be looked for."""
RatePhase = Literal["prefill", "decode"]
_BITS = re.compile(
    r"(?:^|[^a-z0-9])(?:(\d)[-_ ]?(?:bit|bpw)|(?:iq|q|w|int|mxfp|nvfp|fp)(\d)(?![0-9])"
    r"|(?:bf|fp|f)(16|32)(?![0-9]))"
)


@dataclass(frozen=True)
class PublishedRate:
    """A range of tokens a second that somebody published; equal ends are one value.

    `context` is the length that the source states, in its words, or empty.
    """

    chip: str
    model: str
    bits: int
    tool: str
    phase: RatePhase
    least: float
    largest: float
    source: str
    context: str = ""


@dataclass(frozen=True)
class RateJudgement:
    """A rate of tokens against a published range.

    `verdict` is None with the `reason` if nothing was published. `distance` is the share by which
    the rate is below the least, or above the largest, published rate.
    """

    phase: RatePhase
    rate: float
    verdict: Literal["below", "within", "above"] | None = None
    distance: float = 0.0
    published: PublishedRate | None = None
    reason: str = ""

    @property
    def is_far_below(self) -> bool:
        """Whether the rate is more than 20 % below the range."""
        return self.verdict == "below" and self.distance > FAR_BELOW


@dataclass(frozen=True)
class TokenWork:
    """The work of one token of a model: bytes that memory must move, and operations."""

    read: int
    flops: float


@cache
def published_rates() -> tuple[PublishedRate, ...]:
    """Return all published rates."""
    document = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    rates: list[PublishedRate] = []
    for entry in document["rate"]:
        source = document["sources"][entry["source"]]
        tool = entry.get("tool") or source["tool"]
        for phase in ("prefill", "decode"):
            rates.extend(_read_phase(entry, phase, tool, source["words"]))
    return tuple(rates)


def _read_phase(
    entry: Mapping[str, Any], phase: RatePhase, tool: str, source: str
) -> Iterator[PublishedRate]:
    ranges: Mapping[str, Sequence[float]] = entry.get(phase, {})
    for chip, (least, largest) in ranges.items():
        yield PublishedRate(
            chip=f"Apple {chip}",
            model=entry["model"],
            bits=entry["bits"],
            tool=tool,
            phase=phase,
            least=least,
            largest=largest,
            source=source,
            context=entry.get(f"{phase}_context", ""),
        )


def recognize_model(words: str) -> tuple[str, int | None]:
    """Return the published model that a name or path is of, and the bits of its weights.

    The name is empty, or the bits None, if the words do not say it: "Qwen3-8B-Q4_K_M.gguf" has
    both, and "Qwen3-8B" has no bits. The last part of a path that says it counts: first behind the
    name of the model, then before it.
    """
    model = ""
    bits = None
    for part in reversed(words.casefold().split("/")):
        name, end = _find_name(part)
        model = model or name
        if bits is None:
            bits = _find_bits(part[end:])
        if bits is None:
            bits = _find_bits(part[:end])
    return model, bits


def _find_name(text: str) -> tuple[str, int]:
    """Return the published model that a text names, and the place of its end; else "" and 0."""
    for name in dict.fromkeys(rate.model for rate in published_rates()):
        pattern = r"[-_. :]?".join(re.split(r"[-.]", re.escape(name.casefold()).replace("\\", "")))
        match = re.search(rf"(?<![a-z0-9]){pattern}(?![a-z0-9.])", text)
        if match is not None:
            return name, match.end()
    return "", 0


def _find_bits(text: str) -> int | None:
    match = _BITS.search(text)
    if match is None:
        return None
    return int(match[1] or match[2] or match[3])


def judge_rate(
    rate: float, phase: RatePhase, *, chip: str, model: str, bits: int | None = None, tool: str = ""
) -> RateJudgement:
    """Compare tokens a second with those that were published for a chip and a model.

    `model` is a name or a path; `bits` of a weight come from it unless they are given. Rates of the
    same tool are preferred, then those of any.
    """
    name, named_bits = recognize_model(model)
    known_bits = bits or named_bits
    if not name:
        reason = f"nobody published rates of {model or 'an unnamed model'} that are known here"
        return RateJudgement(phase, rate, reason=reason)
    if known_bits is None:
        return RateJudgement(phase, rate, reason=f"{model} does not say the bits of its weights")
    matching = [
        published
        for published in published_rates()
        if (published.model, published.bits, published.phase) == (name, known_bits, phase)
        and published.chip == chip
    ]
    if not matching:
        kind = f"{phase} of {name} with {known_bits} bits on {chip or 'an unknown chip'}"
        return RateJudgement(phase, rate, reason=f"nobody published the {kind}")
    matching.sort(key=lambda published: published.tool != tool)
    published = matching[0]
    if rate < published.least:
        distance = 1 - rate / published.least
        return RateJudgement(phase, rate, "below", distance, published)
    if rate > published.largest:
        distance = rate / published.largest - 1
        return RateJudgement(phase, rate, "above", distance, published)
    return RateJudgement(phase, rate, "within", 0.0, published)


def describe_judgement(judgement: RateJudgement) -> str:
    """Return a judgement in words, with the next command if the rate is far below the range."""
    published = judgement.published
    if published is None:
        return units.unavailable(judgement.reason)
    rates = f"{published.least:g} tokens/s"
    if published.largest != published.least:
        rates = f"{published.least:g} to {published.largest:g} tokens/s"
    place = f"{judgement.verdict} the published {rates}"
    if judgement.verdict != "within":
        place = f"{units.quantity(judgement.distance, 'ratio')} {place}"
    words = f"{place} of {published.tool}"
    if published.context:
        words += f" at {published.context}"
    if judgement.is_far_below:
        words += f"; look at `tracekit doctor --symptom slow-{judgement.phase} -- PROGRAM`"
    return words


def work_of_decode(model: ModelConfig, context: int) -> TokenWork | None:
    """Return the work of a token that follows `context` others; None for unknown weights."""
    counts = model.count_weights()
    active = _count_active(model)
    memory = estimate_memory(model, context)
    weights = memory.size_of("weights")
    cache = memory.size_of("KV cache")
    if counts is None or active is None or weights is None or cache is None:
        return None
    whole_size = model.measure_weights(counts)
    active_size = model.measure_weights(active)
    if not whole_size or active_size is None:
        return None
    read = round(weights * active_size / whole_size) + cache
    return TokenWork(read, _count_operations(model, active.total, context))


def work_of_prefill(model: ModelConfig, prompt: int) -> TokenWork | None:
    """Return the mean work of a token of a prompt; its bytes are those of a whole prompt's share.

    All tokens of a prompt share one reading of the weights.
    """
    active = _count_active(model)
    decode = work_of_decode(model, 0)
    if active is None or decode is None:
        return None
    read = round(decode.read / prompt)
    return TokenWork(read, _count_operations(model, active.total, prompt / 2))


def _count_active(model: ModelConfig) -> WeightCounts | None:
    """Return the weights that a token is multiplied with: no other expert, no input embedding."""
    counts = model.count_weights()
    if counts is None or "active" in model.reasons:
        return None
    remainder = counts.remainder
    if not model.has_tied_embeddings:
        remainder -= model.vocabulary * model.hidden
    experts = 0
    if model.experts:
        experts = counts.experts // model.experts * min(model.active_experts, model.experts)
    return WeightCounts(experts, counts.norms, remainder)


def _explain_unknown_work(model: ModelConfig) -> str:
    for name in ("parameters", "bits", "active", "cache"):
        if name in model.reasons:
            return f"the weights of a token are not known: {model.reasons[name]}"
    return "the weights of this model are not known"


def _count_operations(model: ModelConfig, active: int, context: float) -> float:
    return 2 * active + 4 * model.layers * model.q_heads * model.head_dim * context


def list_limits(
    model: ModelConfig,
    chip: chips.Chip,
    *,
    context: int,
    prefill: float | None = None,
    decode: float | None = None,
) -> Iterator[tuple[str, str, str]]:
    """Yield rates against the chip's limits: the name, the rate with its share, and the source."""
    if decode is not None:
        work = work_of_decode(model, context)
        if work is None:
            yield "bandwidth", units.unavailable(_explain_unknown_work(model)), ""
        else:
            size = units.size(work.read)
            is_bound = model.may_have_windows(context)
            if is_bound:
                size = f"at most {size}"
            source = f"{size} a token after {context:,} others; {chips.ATTAINABLE}"
            rate = work.read * decode
            words = _share(rate, chip.bandwidth, 1e9, "GB/s")
            if not is_bound and chip.bandwidth.value is not None and rate > chip.bandwidth.value:
                words += ", which is impossible: the chip, the model or the rate is wrong"
            yield "bandwidth", words, source
    if prefill is not None:
        prompt_work = work_of_prefill(model, context)
        if prompt_work is None:
            yield "arithmetic", units.unavailable(_explain_unknown_work(model)), ""
            return
        operations = units.quantity(prompt_work.flops, "operations")
        source = f"{operations} a token of a prompt of {context:,}"
        rate = prompt_work.flops * prefill
        yield "of float16", _share(rate, chip.fp16, 1e12, "TFLOP/s"), source
        yield "of float32", _share(rate, chip.fp32, 1e12, "TFLOP/s"), source


def _share(rate: float, peak: chips.Figure, scale: float, unit: str) -> str:
    """Return a rate with its share of a peak, or with the reason why there is none."""
    words = f"{rate / scale:.3g} {unit}"
    if peak.value is None:
        return f"{words}; the share is {units.unavailable(peak.reason.rstrip('.'))}"
    share = units.quantity(rate / peak.value, "ratio")
    return f"{words}, {share} of {peak.value / scale:.4g} {unit}"
