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
        layers, hidden, q_heads, kv_heads, head_dim, vocabulary: As in `config.json`; the heads of
            the layer with most, if the layers differ.
        inner: Elements of the MLP between its two sides, of the widest layer; those of one expert,
            if there are some.
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
        has_equal_layers: Whether each layer has the same heads and the same MLP.
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
    has_equal_layers: bool = True
    cached_heads: tuple[int, int] | None = None

    @property
    def parameters(self) -> int | None:
        """The number of weights; None for compressed attention, which has matrices of its own.

        Layers that differ may have some, too.
        """
        if self.compressed is not None or not self.has_equal_layers:
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
    return replace(
        config,
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
    experts = numbers.choose("num_experts", "num_local_experts", "n_routed_experts")
    inner = max(inner_of_layers, default=0) or numbers.choose("intermediate_size")
    if experts:
        inner = numbers.choose("moe_intermediate_size") or inner
    item_bits = _ITEM_BITS.get(str(values.get("torch_dtype") or values.get("dtype")), 16)
    bits, weight_bits, quantization = _read_quantization(values, item_bits)
    kv_heads = max(kv_heads_of_layers, default=kv_heads)
    cache_layers = _count_layers(values, layers, kv_heads, kv_heads_of_layers)
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
        kv_heads=kv_heads,
        head_dim=numbers.choose("head_dim") or hidden // q_heads,
        inner=inner,
        vocabulary=numbers.choose("vocab_size"),
        experts=experts,
        active_experts=numbers.choose("num_experts_per_tok"),
        has_tied_embeddings=values.get("tie_word_embeddings") is True,
        item_bits=item_bits,
        weight_bits=weight_bits,
        quantization=quantization,
        full_layers=cache_layers.full,
        sliding_layers=cache_layers.sliding,
        window=numbers.choose("sliding_window"),
        compressed=compressed,
        weight_files=weights.count,
        weight_bytes=weights.size,
        bits=bits,
        reasons=reasons,
        has_equal_layers=all(
            len(set(sizes)) <= 1
            for sizes in (q_heads_of_layers, kv_heads_of_layers, inner_of_layers)
        ),
        cached_heads=cache_layers.heads,
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


@dataclass(frozen=True)
class _CacheLayers:
    """How many layers keep all tokens, and how many those of a window.

    `heads` are the K/V heads of both kinds, None if each layer has the same number.
    """

    full: int
    sliding: int
    heads: tuple[int, int] | None = None


def _count_layers(
    values: dict[str, Any], layers: int, kv_heads: int, kv_heads_of_layers: tuple[int, ...]
) -> _CacheLayers:
    """Return the layers with a cache; a layer without K/V heads keeps none."""
    kinds = values.get("layer_types")
    if not isinstance(kinds, list) or len(kinds) != layers:
        kinds = None
    if not kv_heads_of_layers:
        if kinds is None:
            return _CacheLayers(layers, 0)
        return _CacheLayers(kinds.count(_FULL), kinds.count(_SLIDING))
    full_heads: list[int] = []
    sliding_heads: list[int] = []
    for kind, heads in zip(kinds or [_FULL] * layers, kv_heads_of_layers, strict=True):
        if heads and kind == _FULL:
            full_heads.append(heads)
        if heads and kind == _SLIDING:
            sliding_heads.append(heads)
    sums = None
    if not {*full_heads, *sliding_heads} <= {kv_heads}:
        sums = (sum(full_heads), sum(sliding_heads))
    return _CacheLayers(len(full_heads), len(sliding_heads), sums)


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
        kind = "compressed attention" if model.compressed is not None else "layers that differ"
        missing = model.reasons.get("files", "no file of weights")
        return MemoryPart("weights", None, f"{kind}, and {missing}")
    bits = (parameters - model.norms) * model.weight_bits + model.norms * model.item_bits
    words = f"{units.quantity(parameters, 'parameters')} of {model.weight_bits:g} bits"
    if "files" in model.reasons:
        words += f"; {model.reasons['files']}"
    return MemoryPart("weights", round(bits / 8), words)


def _measure_cache(model: ModelConfig, context: int, batch: int) -> tuple[int, str]:
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
