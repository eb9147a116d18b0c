"""The memory that a language model needs, by its `config.json`: an estimate before it runs.

The names in `config.json` are those of Hugging Face's transformers, which mlx_lm keeps. Of a GGUF
file the metadata are read; its KV cache is taken to have 16 bits, llama.cpp's default.

- Weights: the size of the files next to it. Without files, the parameters of a decoder with a gated
  MLP, times their bits; norms stay in the type of the model.
- KV cache: keys and values of every layer, 2 x K/V heads x elements of a head for each token;
  mlx_lm rounds up to 256 tokens. A layer with a sliding window keeps the tokens of the window; one
  without attention keeps none. A window without a list of layers gives the most that it can be: no
  layer has it. Where keys and values are compressed (`kv_lora_rank`), a token needs
  that rank and the rotary part.
- Activations: at least the widest part of a layer for a piece of a prompt: the residual stream, its
  normed copy, and either queries, keys and values, or both halves of the gated MLP. MLX 0.32 on a
  CPU, whose attention is not fused, took 2.6 to 3.9 times as much for 128 to 512 tokens.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import InputError, files, units
from tracekit.lab.endpoint import gguf
from tracekit.lab.endpoint.model_layers import (
    AttentionLayers,
    MlpLayout,
    count_layers,
    read_layout,
    read_size,
)
from tracekit.lab.endpoint.model_weights import WeightBits, find_weights, read_bits

CONFIG = "config.json"
PIECE = 2048
"""Tokens of a prompt that mlx_lm takes at a time (its `prefill_step_size`)."""
_ITEM_BITS = {"float32": 32, "float16": 16, "bfloat16": 16}
_MOST_DIFFERENCE = 0.01  # of weights that are counted from those of all tensors
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_TIED = frozenset({"gemma", "gemma2", "gemma3", "gemma3_text"})
"""Types of models whose embeddings are tied unless the config denies it."""


@dataclass(frozen=True)
class WeightCounts:
    """Numbers of weights: of routed experts, of norms, and of the remainder."""

    experts: int
    norms: int
    remainder: int

    @property
    def total(self) -> int:
        """The number of all."""
        return self.experts + self.norms + self.remainder


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a model.

    Attributes:
        name: The name of the folder, or of the model that Hugging Face's cache keeps.
        layers, hidden, q_heads, kv_heads, head_dim, vocabulary: As in `config.json`; the heads of
            the layer with most, if the layers differ.
        inner: Elements of the MLP between its two sides, of the widest layer; those of one expert,
            if there are some.
        experts, active_experts: Experts of a layer, and those that a token takes; 0 without.
        has_tied_embeddings: Whether the last layer takes the weights of the first.
        item_bits: Bits of an element of activations, norms and cache.
        weight_bits: Bits of a weight, those of its group included; None if they are not known.
        bits: Bits of a weight without those of its group; 0 if they are not known.
        has_plain_rest: Whether the weights outside of experts are not quantized.
        mlps: The MLPs next to experts.
        reasons: Why something is not known: `files`, `parameters`, `bits`, `active`, `cache` or
            `activations`.
        quantization: In words, empty if there is none.
        full_layers, sliding_layers: Layers that keep all tokens, or those of `window`.
        compressed: Elements that a token keeps in a layer, if keys and values are compressed.
        weight_files, weight_bytes: The files of weights next to it, and their size.
        cached_heads: K/V heads of all full layers together, and of all sliding ones, if layers with
            some have different numbers of them.
    """

    name: str
    layers: int
    hidden: int
    q_heads: int
    kv_heads: int
    head_dim: int
    inner: int
    vocabulary: int
    experts: int
    active_experts: int
    has_tied_embeddings: bool
    item_bits: int
    weight_bits: float | None
    quantization: str
    full_layers: int
    sliding_layers: int
    window: int
    compressed: int | None
    weight_files: int
    weight_bytes: int
    bits: int = 0
    has_plain_rest: bool = False
    mlps: MlpLayout = field(default_factory=MlpLayout)
    reasons: dict[str, str] = field(default_factory=dict)
    cached_heads: tuple[int, int] | None = None

    @property
    def parameters(self) -> int | None:
        """The number of weights; None if they cannot be counted."""
        counts = self.count_weights()
        return counts and counts.total

    def count_weights(self) -> WeightCounts | None:
        """Return the numbers of weights; None for a reason of `parameters`.

        Compressed attention has matrices of its own.
        """
        if self.compressed is not None or "parameters" in self.reasons:
            return None
        heads = 2 * self.q_heads + 2 * self.kv_heads
        attention = self.hidden * heads * self.head_dim
        matrices = 3 * self.hidden
        embeddings = self.vocabulary * self.hidden
        if not self.has_tied_embeddings:
            embeddings *= 2
        remainder = self.layers * attention + embeddings
        norms = (2 * self.layers + 1) * self.hidden  # two of a layer, and the last one
        if not self.experts:
            return WeightCounts(0, norms, remainder + self.layers * matrices * self.inner)
        expert_layers = self.layers - self.mlps.dense_layers
        routers = self.hidden * (self.experts + int(self.mlps.has_shared_gate))
        remainder += expert_layers * (routers + matrices * self.mlps.shared_inner)
        remainder += self.mlps.dense_layers * matrices * self.mlps.dense_inner
        return WeightCounts(expert_layers * self.experts * matrices * self.inner, norms, remainder)

    def measure_weights(self, counts: WeightCounts) -> int | None:
        """Return the bytes of so many weights; None if their bits are not known."""
        if self.weight_bits is None or "bits" in self.reasons:
            return None
        other_bits = self.weight_bits
        if self.has_plain_rest:
            other_bits = self.item_bits
        bits = counts.experts * self.weight_bits + counts.remainder * other_bits
        return round((bits + counts.norms * self.item_bits) / 8)

    def may_have_windows(self, context: int) -> bool:
        """Tell whether layers may keep less than `context`, but the config does not say which."""
        return 0 < self.window < context and not self.sliding_layers


@dataclass(frozen=True)
class MemoryPart:
    """A component of the memory in bytes, None if it is not known, and how it is computed."""

    name: str
    size: int | None
    how: str


@dataclass(frozen=True)
class ModelMemory:
    """The memory of a model for `batch` sequences of `context` tokens.

    `total` is the sum of the parts, None if one is not known.
    """

    model: ModelConfig
    context: int
    batch: int
    parts: tuple[MemoryPart, ...]
    total: int | None

    def size_of(self, name: str) -> int | None:
        """Return the bytes of a part."""
        return next((part.size for part in self.parts if part.name == name), None)


def find_config(words: str) -> Path | None:
    """Return the `config.json` of a folder or of a model of Hugging Face's cache, a file, or None.

    A file is a `config.json` itself, or a model of llama.cpp (`.gguf`).
    """
    path = Path(words).expanduser()
    if path.is_file() and path.suffix in {".json", gguf.SUFFIX}:
        return path
    if (path / CONFIG).is_file():
        return path / CONFIG
    if words.count("/") != 1:
        return None
    snapshots = _cache_folder() / f"models--{words.replace('/', '--')}" / "snapshots"
    configs = list(snapshots.glob(f"*/{CONFIG}"))
    return max(configs, key=lambda config: config.stat().st_mtime, default=None)


def _cache_folder() -> Path:
    """Return the folder of Hugging Face's cache, by its environment variables."""
    if hub := os.environ.get("HF_HUB_CACHE"):
        return Path(hub)
    home = os.environ.get("HF_HOME", "~/.cache/huggingface")
    return Path(home).expanduser() / "hub"


def read_config(path: Path) -> ModelConfig:
    """Read a `config.json` and the sizes of the weights next to it, or a GGUF file.

    Raises InputError if it is not that of a decoder, or cannot be read.
    """
    try:
        if path.suffix == gguf.SUFFIX:
            return _read_gguf(path)
        return _read_json(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except OSError as error:
        raise files.unreadable(path, error) from error


def _read_json(path: Path) -> ModelConfig:
    try:
        document = msgspec.json.decode(files.read_input(path))
    except msgspec.MsgspecError as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    except RecursionError:
        raise InputError(f"{path} is nested too deeply.") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} is not a JSON object.")
    text_config = document.get("text_config")
    values: dict[str, Any] = dict(document)
    if isinstance(text_config, dict):
        values.update(text_config)
    return _make_config(values, path)


_GGUF_NAMES = {
    "num_hidden_layers": "block_count",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "vocab_size": "vocab_size",
    "sliding_window": "attention.sliding_window",
    "num_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
    "n_shared_experts": "expert_shared_count",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    "first_k_dense_replace": "leading_dense_block_count",
    "kv_lora_rank": "attention.kv_lora_rank",
    "qk_rope_head_dim": "rope.dimension_count",
}
"""The names of `config.json`, and those of GGUF after the name of the architecture."""


def _read_gguf(path: Path) -> ModelConfig:
    """Read the sizes of a model of llama.cpp; its bits of a weight are those of the whole file."""
    model = gguf.read_model(path)
    head = model.head
    architecture = head.values.get("general.architecture", "")
    values: dict[str, Any] = {"tie_word_embeddings": "output.weight" not in head.tensors}
    for name, gguf_name in _GGUF_NAMES.items():
        values[name] = head.values.get(f"{architecture}.{gguf_name}")
    if not values["vocab_size"]:
        values["vocab_size"] = head.lengths.get("tokenizer.ggml.tokens")
    bits = 8 * model.size / max(head.weights, 1)
    config = _make_config(values, path)
    reasons = {name: reason for name, reason in config.reasons.items() if name != "files"}
    counted = config.parameters
    if config.experts and counted and abs(counted / max(head.weights, 1) - 1) > _MOST_DIFFERENCE:
        reasons["parameters"] = f"its tensors have {head.weights:,} weights, not {counted:,}"
    return replace(
        config,
        reasons=reasons,
        name=model.name,
        weight_bits=bits,
        bits=int(bits),
        quantization=f"{bits:.3g} bits a weight on average",
        weight_files=model.files,
        weight_bytes=model.size,
    )


def _make_config(values: dict[str, Any], path: Path) -> ModelConfig:
    numbers = _ConfigNumbers(values, path)
    layers = numbers.require("num_hidden_layers")
    hidden = numbers.require("hidden_size")
    q_heads_of_layers = numbers.list_layers("num_attention_heads", layers)
    q_heads = max(q_heads_of_layers, default=0) or numbers.require("num_attention_heads")
    kv_heads = numbers.choose("num_key_value_heads")
    kv_heads_of_layers = numbers.list_layers("num_key_value_heads", layers)
    if not kv_heads and not kv_heads_of_layers:
        kv_heads = q_heads
        kv_heads_of_layers = q_heads_of_layers
    inner_of_layers = numbers.list_layers("intermediate_size", layers)
    experts = numbers.choose(*_EXPERTS)
    inner = max(inner_of_layers, default=0) or numbers.choose("intermediate_size")
    if experts:
        inner = numbers.choose("moe_intermediate_size") or inner
    item_bits = _ITEM_BITS.get(str(values.get("torch_dtype") or values.get("dtype")), 16)
    bits = read_bits(values, item_bits)
    kv_heads = max(kv_heads_of_layers, default=kv_heads)
    attention = count_layers(values, layers, kv_heads, kv_heads_of_layers)
    layout = read_layout(values, layers, experts, inner)
    compressed = None
    if rank := numbers.choose("kv_lora_rank"):
        compressed = rank + numbers.choose("qk_rope_head_dim")
    weights = find_weights(path.parent)
    reasons = {
        "files": weights.reason,
        "parameters": attention.reason or attention.weights_reason or layout.reason,
        "bits": bits.reason,
        "cache": attention.reason,
    }
    for sizes in (q_heads_of_layers, kv_heads_of_layers, inner_of_layers):
        if len(set(sizes)) > 1:
            reasons["parameters"] = "layers that differ"
    reasons.update(_find_gaps(numbers, attention, bits, has_inner=inner > 0))
    return ModelConfig(
        name=_name_model(path),
        layers=layers,
        hidden=hidden,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=numbers.choose("head_dim") or hidden // q_heads,
        inner=inner,
        vocabulary=numbers.choose("vocab_size"),
        experts=experts,
        active_experts=numbers.choose("num_experts_per_tok"),
        has_tied_embeddings=_has_tied_embeddings(values),
        item_bits=item_bits,
        weight_bits=bits.with_group,
        quantization=bits.words,
        full_layers=attention.full,
        sliding_layers=attention.sliding,
        window=attention.window,
        compressed=compressed,
        weight_files=weights.count,
        weight_bytes=weights.size,
        bits=bits.bits,
        has_plain_rest=bits.experts_only,
        mlps=layout,
        reasons={name: reason for name, reason in reasons.items() if reason},
        cached_heads=attention.heads,
    )


class _ConfigNumbers:
    """Reads whole numbers of a `config.json`."""

    def __init__(self, values: dict[str, Any], path: Path) -> None:
        self._values = values
        self._path = path

    def choose(self, *names: str) -> int:
        """Return the first of these numbers that is there, or 0."""
        return next(filter(None, (read_size(self._values, name) for name in names)), 0)

    def miss(self, name: str) -> str:
        """Return the reason of what needs a number that is not there."""
        return f"{self._path.name} has no {name} that is a number"

    def list_layers(self, name: str, layers: int) -> tuple[int, ...]:
        """Return a number of each layer; empty if all layers share one, or none is there.

        Raise InputError unless each layer has a number of 0 or more.
        """
        value = self._values.get(name)
        if not isinstance(value, list | tuple):
            return ()
        if len(value) != layers:
            raise InputError(f"{self._path} has {len(value)} values of {name} for {layers} layers.")
        numbers: list[int] = []
        for number in value:
            if not isinstance(number, int) or number < 0:
                raise InputError(f"{self._path} has a {name} of {number!r}.")
            numbers.append(number)
        return tuple(numbers)

    def require(self, name: str) -> int:
        """Return a number; raise InputError without it."""
        value = self.choose(name)
        if not value:
            raise InputError(
                f"{self._path} has no {name}.",
                hint="It must be the config.json of a language model.",
            )
        return value


def _name_model(path: Path) -> str:
    """Return the name of the folder; of a snapshot of the cache, the name of its model."""
    folder = path.resolve().parent
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.name


def _find_gaps(
    numbers: _ConfigNumbers, attention: AttentionLayers, bits: WeightBits, *, has_inner: bool
) -> Iterator[tuple[str, str]]:
    """Yield each part that lacks a number, and the reason; a later reason of a part counts."""
    has_experts = numbers.choose(*_EXPERTS) > 0
    if bits.experts_only and not has_experts:
        yield "bits", "it has no experts to be quantized"
    if attention.sliding and not attention.window:
        yield "cache", numbers.miss("sliding_window")
    if has_experts and not numbers.choose("num_experts_per_tok"):
        yield "active", numbers.miss("num_experts_per_tok")
    if not numbers.choose("vocab_size"):
        yield "parameters", numbers.miss("vocab_size")
    if not has_inner:
        yield "parameters", numbers.miss("intermediate_size")
        yield "activations", numbers.miss("intermediate_size")
    if not numbers.choose("kv_lora_rank"):
        return
    yield "parameters", "compressed attention"
    if not numbers.choose("qk_rope_head_dim"):
        yield "cache", numbers.miss("qk_rope_head_dim")


def _has_tied_embeddings(values: dict[str, Any]) -> bool:
    if values.get("tie_word_embeddings") is None:
        return str(values.get("model_type")) in _TIED
    return values["tie_word_embeddings"] is True


def estimate_memory(model: ModelConfig, context: int, batch: int = 1) -> ModelMemory:
    """Return the memory of a model for `batch` sequences of `context` tokens each."""
    parts = (
        _weigh(model),
        MemoryPart("KV cache", *_measure_cache(model, context, batch)),
        MemoryPart("activations", *_measure_activations(model, min(context, PIECE))),
    )
    total = None
    sizes = [part.size for part in parts if part.size is not None]
    if len(sizes) == len(parts):
        total = sum(sizes)
    return ModelMemory(model, context, batch, parts, total)


def _weigh(model: ModelConfig) -> MemoryPart:
    if model.weight_files:
        return MemoryPart("weights", model.weight_bytes, "the size of its files")
    counts = model.count_weights()
    size = counts and model.measure_weights(counts)
    if counts is None or size is None:
        reason = model.reasons.get("parameters") or model.reasons.get("bits")
        missing = model.reasons.get("files", "no file of weights")
        return MemoryPart("weights", None, f"{reason}, and {missing}")
    words = f"{units.quantity(counts.total, 'parameters')} of {model.weight_bits:g} bits"
    if model.has_plain_rest:
        words += f", {model.item_bits} outside of experts"
    if "files" in model.reasons:
        words += f"; {model.reasons['files']}"
    return MemoryPart("weights", size, words)


def _measure_cache(model: ModelConfig, context: int, batch: int) -> tuple[int | None, str]:
    if "cache" in model.reasons:
        return None, model.reasons["cache"]
    elements = 2 * model.kv_heads * model.head_dim
    words = f"2 x {model.kv_heads} heads of {model.head_dim}"
    full_count = model.full_layers
    sliding_count = model.sliding_layers
    layer_words = f"{full_count} layers"
    window = min(context, model.window or context)
    if model.sliding_layers:
        layer_words += f" and {sliding_count} of the last {window:,}"
    if model.compressed is not None:
        elements = model.compressed
        words = f"{elements} compressed elements"
    elif model.cached_heads is not None:
        full_count, sliding_count = model.cached_heads
        elements = 2 * model.head_dim
        words = f"2 x {full_count + sliding_count} heads of {model.head_dim}"
        layer_words = f"all of {layer_words}"
    kept_tokens = full_count * context + sliding_count * window
    item_size = model.item_bits // 8
    words += f" of {item_size} bytes, {layer_words}, {context:,} tokens"
    if batch > 1:
        words += f", {batch} sequences"
    if model.may_have_windows(context):
        words = f"at most, all layers full because none is named for the window: {words}"
    return elements * kept_tokens * batch * item_size, words


def _measure_activations(model: ModelConfig, piece: int) -> tuple[int | None, str]:
    if "activations" in model.reasons:
        return None, model.reasons["activations"]
    projections = (model.q_heads + 2 * model.kv_heads) * model.head_dim
    inner = 2 * model.inner * max(1, model.active_experts)
    elements = 2 * model.hidden + max(projections, inner)
    item_size = model.item_bits // 8
    words = f"at least: {elements:,} elements of {item_size} bytes, {piece:,} prompt tokens"
    return elements * piece * item_size, words


def judge_fit(total: int | None, limit: int) -> str:
    """Return in words whether a model fits into a limit in bytes."""
    if total is None:
        return units.unavailable("a part is not known")
    if total > limit:
        return f"no: {units.size(total - limit)} too much"
    return f"yes: {units.size(limit - total)} remain"


def list_parts(memory: ModelMemory) -> Iterator[tuple[str, str, str]]:
    """Yield the parts and their sum in words: the name, the size, and how it is computed."""
    for part in memory.parts:
        size = units.unavailable(part.how) if part.size is None else units.size(part.size)
        how = "" if part.size is None else part.how
        yield part.name, size, how
    if memory.total is not None:
        yield "all", units.size(memory.total), "the runtime and its buffers come on top"
