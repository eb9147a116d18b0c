"""The layers of a model by its `config.json`: their kinds of attention, and of MLPs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

_FULL = "full_attention"
_SLIDING = "sliding_attention"
_LINEAR = "linear_attention"
_MOST = 1 << 40  # of a size
_MOST_LAYERS = 10_000
_UNCOUNTED = (
    "mlp_layer_types",
    "shared_intermediate_size",
    "num_shared_experts",
    "num_shared_expert",
    "moe_layer_interval",
    "moe_layer_start_index",
    "expert_layer_period",
)
"""Numbers of layers and experts of other models, whose weights are not counted here."""


def read_size(values: dict[str, Any], name: str) -> int:
    """Return a positive whole number, or 0."""
    value = values.get(name)
    if type(value) is int and 0 < value < _MOST:
        return value
    return 0


@dataclass(frozen=True)
class AttentionLayers:
    """Layers that keep all tokens, and those of a window; or the reason why they are not known.

    `heads` are the K/V heads of both kinds, None if each layer has the same number.
    """

    full: int
    sliding: int = 0
    window: int = 0
    reason: str = ""
    weights_reason: str = ""
    heads: tuple[int, int] | None = None


def count_layers(
    values: dict[str, Any], layers: int, kv_heads: int, kv_heads_of_layers: Sequence[int]
) -> AttentionLayers:
    """Return the layers with a cache; a layer without K/V heads keeps none."""
    attention = _count_by_kind(values, layers)
    if attention.reason or not kv_heads_of_layers:
        return attention
    kinds = _entries(values.get("layer_types")) or [_FULL] * layers
    full_heads: list[int] = []
    sliding_heads: list[int] = []
    for kind, heads in zip(kinds, kv_heads_of_layers, strict=True):
        if heads and kind == _FULL:
            full_heads.append(heads)
        if heads and kind == _SLIDING:
            sliding_heads.append(heads)
    sums = None
    if not {*full_heads, *sliding_heads} <= {kv_heads}:
        sums = (sum(full_heads), sum(sliding_heads))
    return replace(attention, full=len(full_heads), sliding=len(sliding_heads), heads=sums)


def _count_by_kind(values: dict[str, Any], layers: int) -> AttentionLayers:
    """Return the layers by kind, from a list or an interval."""
    window = 0
    if values.get("use_sliding_window") is not False:
        window = read_size(values, "sliding_window") or read_size(values, "attention_chunk_size")
    kinds = values.get("layer_types")
    if isinstance(kinds, list):
        return _count_kinds(kinds, layers, window)
    if interval := read_size(values, "full_attention_interval"):
        reason = "layers without full attention have weights of their own"
        return AttentionLayers(layers // interval, weights_reason=reason)
    pattern = read_size(values, "sliding_window_pattern")
    if pattern and window:
        full = layers // pattern
        return AttentionLayers(full, layers - full, window)
    return AttentionLayers(layers, 0, window)


def _count_kinds(kinds: list[Any], layers: int, window: int) -> AttentionLayers:
    if len(kinds) != layers:
        reason = f"layer_types has {len(kinds)} entries for {layers} layers"
        return AttentionLayers(layers, reason=reason)
    for kind in kinds:
        if kind not in (_FULL, _SLIDING, _LINEAR):
            return AttentionLayers(layers, reason=f"the cache of {kind} is not known here")
    sliding = kinds.count(_SLIDING)
    weights_reason = ""
    if _LINEAR in kinds:
        weights_reason = "layers without full attention have weights of their own"
    if not sliding:
        window = 0
    return AttentionLayers(kinds.count(_FULL), sliding, window, weights_reason=weights_reason)


@dataclass(frozen=True)
class MlpLayout:
    """The MLPs of a model with experts that are not routed experts.

    Attributes:
        dense_layers: Layers without experts.
        dense_inner: Elements of their MLP between its two sides.
        shared_inner: Elements of the experts that every token takes, in each of the other layers.
        has_shared_gate: Whether they have a gate, of one weight for each hidden element.
        reason: Why the layout is not known; empty if it is.
    """

    dense_layers: int = 0
    dense_inner: int = 0
    shared_inner: int = 0
    has_shared_gate: bool = False
    reason: str = ""


def read_layout(values: dict[str, Any], layers: int, experts: int, inner: int) -> MlpLayout:
    """Return the MLPs next to `experts` of `inner` elements.

    The names are those of Qwen (`shared_expert_intermediate_size`, `decoder_sparse_step`), DeepSeek
    and GLM (`n_shared_experts`, `first_k_dense_replace`, `moe_layer_freq`), and Llama 4
    (`intermediate_size_mlp`, whose shared expert is as large as another).
    """
    reason = _find_obstacle(values, layers, has_experts=experts > 0)
    if reason or not experts:
        return MlpLayout(reason=reason)
    dense_inner = read_size(values, "intermediate_size")
    shared_inner = read_size(values, "n_shared_experts") * inner
    gated_inner = read_size(values, "shared_expert_intermediate_size")
    if llama_inner := read_size(values, "intermediate_size_mlp"):
        dense_inner = llama_inner
        shared_inner = inner
    dense_layers = sum(_is_dense(values, place) for place in range(layers))
    if dense_layers and not dense_inner:
        return MlpLayout(reason="it has no intermediate_size of its dense layers")
    return MlpLayout(dense_layers, dense_inner, shared_inner or gated_inner, gated_inner > 0)


def _find_obstacle(values: dict[str, Any], layers: int, *, has_experts: bool) -> str:
    """Return why the MLPs are not known, or an empty text."""
    for name, value in values.items():
        is_strange = name in _UNCOUNTED and bool(value)
        if not has_experts and "experts" in name and "per_tok" not in name:
            is_strange = is_strange or read_size(values, name) > 0
        if is_strange:
            return f"the weights of {name} are not counted here"
    if layers > _MOST_LAYERS:
        return f"{layers:,} layers are too many"
    if values.get("n_shared_experts") and values.get("shared_expert_intermediate_size"):
        return "it has two kinds of shared experts"
    steps = values.get("interleave_moe_layer_step") or values.get("moe_layers")
    if values.get("intermediate_size_mlp") and not steps:
        return "it does not say which layers have experts"
    return ""


def _is_dense(values: dict[str, Any], place: int) -> bool:
    """Tell whether the layer at a place has no experts."""
    if place < read_size(values, "first_k_dense_replace"):
        return True
    if place in _entries(values.get("mlp_only_layers")):
        return True
    expert_layers = _entries(values.get("moe_layers"))
    if expert_layers and place not in expert_layers:
        return True
    for name in ("decoder_sparse_step", "interleave_moe_layer_step"):
        if (place + 1) % (read_size(values, name) or 1):
            return True
    kinds = _entries(values.get("moe_layer_freq"))
    if kinds:
        return place >= len(kinds) or not kinds[place]
    return place % (read_size(values, "moe_layer_freq") or 1) > 0


def _entries(value: Any) -> list[Any]:
    """Return a list, or an empty one."""
    if isinstance(value, list):
        return value
    return []
