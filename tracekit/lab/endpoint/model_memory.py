"""The memory that a language model needs, by its `config.json`: an estimate before it runs.

The names in `config.json` are those of Hugging Face's transformers, which mlx_lm keeps. Of a GGUF
file the metadata are read; its KV cache is taken to have 16 bits, llama.cpp's default.

- Weights: the size of the files next to it. Without files, the parameters of a decoder with a gated
  MLP, times their bits. MLX's affine quantization keeps a scale and a bias of 16 bits for each
  group of weights, its other modes a scale of 8 bits; norms stay in the type of the model.
- KV cache: keys and values of every layer, 2 x K/V heads x elements of a head for each token;
  mlx_lm rounds up to 256 tokens. A layer with a sliding window keeps the tokens of the window; one
  without attention keeps none. Where keys and values are compressed (`kv_lora_rank`), a token needs
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
from tracekit.lab.endpoint.model_weights import find_weights

CONFIG = "config.json"
PIECE = 2048
"""Tokens of a prompt that mlx_lm takes at a time (its `prefill_step_size`)."""
_ITEM_BITS = {"float32": 32, "float16": 16, "bfloat16": 16}
_AFFINE_BITS = 32  # of scale and bias of a group
_SCALE_BITS = 8  # of a group in the other modes
_FULL = "full_attention"
_SLIDING = "sliding_attention"


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a model.

    Attributes:
        name: The name of the folder, or of the model that Hugging Face's cache keeps.
        layers, hidden, q_heads, kv_heads, head_dim, vocabulary: As in `config.json`.
        inner: Elements of the MLP between its two sides; those of one expert, if there are some.
        experts, active_experts: Experts of a layer, and those that a token takes; 0 without.
        has_tied_embeddings: Whether the last layer takes the weights of the first.
        item_bits: Bits of an element of activations, norms and cache.
        weight_bits: Bits of a weight, those of its group included.
        bits: Bits of a weight without those of its group; 0 if they are not known.
        reasons: Why something is not known, by what it is: `files`.
        quantization: In words, empty if there is none.
        full_layers, sliding_layers: Layers that keep all tokens, or those of `window`.
        compressed: Elements that a token keeps in a layer, if keys and values are compressed.
        weight_files, weight_bytes: The files of weights next to it, and their size.
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
    weight_bits: float
    quantization: str
    full_layers: int
    sliding_layers: int
    window: int
    compressed: int | None
    weight_files: int
    weight_bytes: int
    bits: int = 0
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> int | None:
        """The number of weights; None for compressed attention, which has matrices of its own."""
        if self.compressed is not None:
            return None
        heads = 2 * self.q_heads + 2 * self.kv_heads
        attention = self.hidden * heads * self.head_dim
        mlp = 3 * self.hidden * self.inner
        if self.experts:
            mlp = self.experts * mlp + self.hidden * self.experts
        embeddings = self.vocabulary * self.hidden * (1 if self.has_tied_embeddings else 2)
        return self.layers * (attention + mlp) + embeddings + self.norms

    @property
    def norms(self) -> int:
        """The number of weights of norms: two of a layer, and the last one."""
        return (2 * self.layers + 1) * self.hidden


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
    "kv_lora_rank": "attention.kv_lora_rank",
    "qk_rope_head_dim": "rope.dimension_count",
}
"""The names of `config.json`, and those of GGUF after the name of the architecture."""


def _read_gguf(path: Path) -> ModelConfig:
    """Read the sizes of a model of llama.cpp; its bits of a weight are those of the whole file."""
    head = gguf.read_head(path)
    architecture = head.values.get("general.architecture", "")
    values: dict[str, Any] = {"tie_word_embeddings": "output.weight" not in head.tensors}
    for name, gguf_name in _GGUF_NAMES.items():
        values[name] = head.values.get(f"{architecture}.{gguf_name}")
    if not values["vocab_size"]:
        values["vocab_size"] = head.values.get("tokenizer.ggml.tokens")
    size = path.stat().st_size
    bits = 8 * size / max(head.weights, 1)
    config = _make_config(values, path)
    return replace(
        config,
        name=path.stem,
        weight_bits=bits,
        bits=int(bits),
        quantization=f"{bits:.3g} bits a weight on average",
        weight_files=1,
        weight_bytes=size,
    )


def _make_config(values: dict[str, Any], path: Path) -> ModelConfig:
    numbers = _ConfigNumbers(values, path)
    layers = numbers.require("num_hidden_layers")
    hidden = numbers.require("hidden_size")
    q_heads = numbers.require("num_attention_heads")
    experts = numbers.choose("num_experts", "num_local_experts", "n_routed_experts")
    inner = numbers.choose("intermediate_size")
    if experts:
        inner = numbers.choose("moe_intermediate_size") or inner
    item_bits = _ITEM_BITS.get(str(values.get("torch_dtype") or values.get("dtype")), 16)
    bits, weight_bits, quantization = _read_quantization(values, item_bits)
    full_layers, sliding_layers = _count_layers(values, layers)
    compressed = None
    if rank := numbers.choose("kv_lora_rank"):
        compressed = rank + numbers.choose("qk_rope_head_dim")
    reasons: dict[str, str] = {}
    weights = find_weights(path.parent)
    if weights.reason:
        reasons["files"] = weights.reason
    return ModelConfig(
        name=_name_model(path),
        layers=layers,
        hidden=hidden,
        q_heads=q_heads,
        kv_heads=numbers.choose("num_key_value_heads") or q_heads,
        head_dim=numbers.choose("head_dim") or hidden // q_heads,
        inner=inner,
        vocabulary=numbers.choose("vocab_size"),
        experts=experts,
        active_experts=numbers.choose("num_experts_per_tok"),
        has_tied_embeddings=values.get("tie_word_embeddings") is True,
        item_bits=item_bits,
        weight_bits=weight_bits,
        quantization=quantization,
        full_layers=full_layers,
        sliding_layers=sliding_layers,
        window=numbers.choose("sliding_window"),
        compressed=compressed,
        weight_files=weights.count,
        weight_bytes=weights.size,
        bits=bits,
        reasons=reasons,
    )


class _ConfigNumbers:
    """Reads whole numbers of a `config.json`."""

    def __init__(self, values: dict[str, Any], path: Path) -> None:
        self._values = values
        self._path = path

    def choose(self, *names: str) -> int:
        """Return the first of these numbers that is there, or 0."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, int) and value > 0:
                return value
        return 0

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


def _read_quantization(values: dict[str, Any], item_bits: int) -> tuple[int, float, str]:
    """Return the bits of a weight, those with its group, and the quantization in words."""
    settings = values.get("quantization") or values.get("quantization_config")
    if not isinstance(settings, dict) or not isinstance(settings.get("bits"), int):
        return item_bits, float(item_bits), ""
    bits = settings["bits"]
    group = settings.get("group_size")
    if not isinstance(group, int) or group < 1:
        return bits, float(bits), f"{bits} bits"
    mode = settings.get("mode", "affine")
    group_bits = _AFFINE_BITS if mode == "affine" else _SCALE_BITS
    return bits, bits + group_bits / group, f"{bits} bits in groups of {group}"


def _count_layers(values: dict[str, Any], layers: int) -> tuple[int, int]:
    """Return how many layers keep all tokens, and how many those of a window."""
    kinds = values.get("layer_types")
    if not isinstance(kinds, list) or len(kinds) != layers:
        return layers, 0
    return kinds.count(_FULL), kinds.count(_SLIDING)


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
    parameters = model.parameters
    if parameters is None:
        missing = model.reasons.get("files", "no file of weights")
        return MemoryPart("weights", None, f"compressed attention, and {missing}")
    bits = (parameters - model.norms) * model.weight_bits + model.norms * model.item_bits
    words = f"{units.quantity(parameters, 'parameters')} of {model.weight_bits:g} bits"
    if "files" in model.reasons:
        words += f"; {model.reasons['files']}"
    return MemoryPart("weights", round(bits / 8), words)


def _measure_cache(model: ModelConfig, context: int, batch: int) -> tuple[int, str]:
    elements = 2 * model.kv_heads * model.head_dim
    words = f"2 x {model.kv_heads} heads of {model.head_dim}"
    if model.compressed is not None:
        elements = model.compressed
        words = f"{elements} compressed elements"
    kept_tokens = model.full_layers * context
    layer_words = f"{model.full_layers} layers"
    if model.sliding_layers:
        window = min(context, model.window or context)
        kept_tokens += model.sliding_layers * window
        layer_words += f" and {model.sliding_layers} of the last {window:,}"
    item_size = model.item_bits // 8
    words += f" of {item_size} bytes, {layer_words}, {context:,} tokens"
    if batch > 1:
        words += f", {batch} sequences"
    return elements * kept_tokens * batch * item_size, words


def _measure_activations(model: ModelConfig, piece: int) -> tuple[int, str]:
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
