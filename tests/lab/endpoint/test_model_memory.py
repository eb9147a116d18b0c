"""The memory of a model by its `config.json`: known models, and what cannot be known."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError
from tracekit.lab.endpoint.model_memory import (
    ModelMemory,
    estimate_memory,
    find_config,
    judge_fit,
    list_parts,
    read_config,
)

# as published with the models
LLAMA: dict[str, Any] = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
EXPERTS: dict[str, Any] = {
    **LLAMA,
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "head_dim": 128,
    "num_key_value_heads": 4,
    "vocab_size": 151936,
    "quantization": {"bits": 4, "group_size": 64},
}


def read(folder: Path, values: dict[str, Any], context: int = 4096, batch: int = 1) -> ModelMemory:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values))
    return estimate_memory(read_config(folder / "config.json"), context, batch)


def test_the_parameters_of_published_models_are_counted(tmp_path: Path) -> None:
    memory = read(tmp_path / "llama", LLAMA)
    assert memory.model.parameters == 8_030_261_248, "as its card says"
    assert memory.size_of("weights") == 2 * 8_030_261_248
    assert memory.size_of("KV cache") == 512 << 20
    assert memory.total == sum(part.size or 0 for part in memory.parts)
    experts = read(tmp_path / "experts", EXPERTS)
    assert experts.model.parameters == pytest.approx(30.5e9, rel=0.01)
    assert experts.size_of("weights") == pytest.approx(30.5e9 * 4.5 / 8, rel=0.01)
    assert experts.model.quantization == "4 bits in groups of 64"


def test_tokens_sequences_and_windows_size_the_cache(tmp_path: Path) -> None:
    kinds = ["sliding_attention", "sliding_attention", "linear_attention", "full_attention"] * 8
    windows = {**LLAMA, "layer_types": kinds, "sliding_window": 512}
    token = 2 * 8 * 128 * 2  # bytes in a layer
    for name, values, batch, size in (
        ("twice", LLAMA, 2, 2 * 32 * 4096 * token),
        ("windows", windows, 1, (8 * 4096 + 16 * 512) * token),
        ("compressed", {**LLAMA, "kv_lora_rank": 512, "qk_rope_head_dim": 64}, 1,
         32 * 4096 * 576 * 2),
        ("nested", {"text_config": LLAMA}, 1, 32 * 4096 * token),
        ("each layer", {**windows, "num_key_value_heads": [8, 4, 2, 6] * 8}, 1,
         (8 * 6 * 4096 + 8 * (8 + 4) * 512) * 2 * 128 * 2),
    ):  # fmt: skip
        assert read(tmp_path / name, values, batch=batch).size_of("KV cache") == size, name


def test_files_of_weights_are_weighed(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"model-{number}.safetensors").write_bytes(b"x" * 1000)
    compressed = {**LLAMA, "kv_lora_rank": 512}
    assert read(folder, compressed).size_of("weights") == 2000
    for file in folder.glob("*.safetensors"):
        file.unlink()
    unknown = read(folder, compressed)
    assert (unknown.total, unknown.size_of("weights")) == (None, None)
    rows = {name: size for name, size, _ in list_parts(unknown)}
    assert rows["weights"] == (
        "not available, because compressed attention, and no file of weights"
    )
    assert "all" not in rows
    assert judge_fit(None, 1).startswith("not available")
    assert judge_fit(3 << 30, 1 << 30) == "no: 2 GiB too much"


def test_weights_are_not_weighed_twice_or_in_part(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    for name in ("consolidated", "model-00001-of-00002", "model-00002-of-00002"):
        (tmp_path / f"{name}.safetensors").write_bytes(b"x" * 1000)
    assert read(tmp_path, LLAMA).size_of("weights") == 2000
    listed = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    index.write_text(json.dumps({"weight_map": listed}))
    assert read(tmp_path, LLAMA).size_of("weights") == 2000
    part = tmp_path / "model-00002-of-00002.safetensors"
    part.unlink()
    part.symlink_to("nowhere")
    for text, reason in (
        (index.read_text(), "model-00002-of-00002.safetensors is missing"),
        (None, "model-00002-of-00002.safetensors is missing"),
        ('{"weight_map": {"a": "../a.safetensors"}}', "'../a.safetensors', which is not in this"),
        ('{"weight_map": []}', "model.safetensors.index.json lists no files"),
        ("{", "model.safetensors.index.json cannot be read"),
    ):
        index.unlink(missing_ok=True)
        if text is not None:
            index.write_text(text)
        computed = read(tmp_path, LLAMA).parts[0]
        assert computed.size == 2 * 8_030_261_248, (text, reason)
        assert reason in computed.how, (text, reason)
        unknown = read(tmp_path, {**LLAMA, "kv_lora_rank": 512}).parts[0]
        assert unknown.size is None, (text, reason)
        assert reason in unknown.how, (text, reason)
    part.unlink()
    index.unlink()
    assert "1 of 2 files of weights are missing" in read(tmp_path, LLAMA).parts[0].how


def parts_of(folder: Path, values: dict[str, Any], context: int = 4096) -> dict[str, str]:
    """Return the size, else the reason, and how it is computed, of each part in words."""
    rows = list_parts(read(folder, values, context))
    return {name: f"{size}; {how}" for name, size, how in rows}


def test_a_part_without_its_numbers_is_unknown(tmp_path: Path) -> None:
    kinds = ["chunked_attention", "full_attention"] * 16
    for values, part, reason in (
        ({"vocab_size": None}, "weights", "config.json has no vocab_size"),
        ({"intermediate_size": None}, "weights", "config.json has no intermediate_size"),
        ({"intermediate_size": None}, "activations", "config.json has no intermediate_size"),
        ({"quantization": {"bits": 0}}, "weights", "0 is not a number of bits"),
        ({"quantization_config": {"quant_method": "awq"}}, "weights", "awq has no bits"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "weights", "has no experts"),
        ({"layer_types": kinds}, "KV cache", "the cache of chunked_attention is not known"),
        ({"layer_types": kinds[:4]}, "KV cache", "layer_types has 4 entries for 32 layers"),
        ({"layer_types": ["sliding_attention"] * 32}, "KV cache", "has no sliding_window"),
        ({"kv_lora_rank": 512}, "KV cache", "config.json has no qk_rope_head_dim"),
        ({"full_attention_interval": 4}, "weights", "have weights of their own"),
        ({"moe_num_experts": 64}, "weights", "moe_num_experts are not counted"),
    ):
        parts = parts_of(tmp_path, {**LLAMA, **values})
        assert parts[part].startswith("not available, because"), (values, part)
        assert reason in parts[part], (values, part)
        assert "all" not in parts, (values, part)


def test_a_window_without_its_layers_gives_the_most(tmp_path: Path) -> None:
    every = 2 * 8 * 128 * 2 * 4096 * 32
    for values, size, is_most in (
        ({"sliding_window": 512}, every, True),
        ({"sliding_window": 4096}, every, False),
        ({"sliding_window": 512, "use_sliding_window": False}, every, False),
        ({"sliding_window": 512, "layer_types": ["full_attention"] * 32}, every, False),
        ({"sliding_window": 512, "sliding_window_pattern": 4}, every * 11 // 32, False),
        ({"full_attention_interval": 4}, every // 4, False),
    ):
        cache = read(tmp_path, {**LLAMA, **values}).parts[1]
        assert cache.size == size, (values, cache.size)
        assert cache.how.startswith("at most, all layers full") == is_most, values


def test_gemma_ties_its_embeddings_unless_it_denies_it(tmp_path: Path) -> None:
    values = {**LLAMA, "tie_word_embeddings": None}
    for model_type in ("gemma", "gemma2", "gemma3", "gemma3_text"):
        gemma = {**values, "model_type": model_type}
        assert read(tmp_path, gemma).model.has_tied_embeddings, model_type
        gemma["tie_word_embeddings"] = False
        assert not read(tmp_path, gemma).model.has_tied_embeddings, model_type
    assert not read(tmp_path, {**values, "model_type": "llama"}).model.has_tied_embeddings


# as published with openai/gpt-oss-20b, whose files of weights are 13.76 GB
GPT_OSS: dict[str, Any] = {
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_attention_heads": 64,
    "num_hidden_layers": 24,
    "num_key_value_heads": 8,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "head_dim": 64,
    "vocab_size": 201088,
    "tie_word_embeddings": False,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
}


def test_a_method_of_quantization_states_its_bits(tmp_path: Path) -> None:
    memory = read(tmp_path, GPT_OSS)
    assert memory.size_of("weights") == pytest.approx(13.76e9, rel=0.002)
    assert "4.25 bits, 16 outside of experts" in memory.parts[0].how
    fp8 = read(tmp_path, {**LLAMA, "quantization_config": {"quant_method": "fp8"}})
    assert fp8.size_of("weights") == pytest.approx(8_030_261_248, rel=0.001)


def test_a_model_is_found_by_folder_file_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshot = tmp_path / "hub" / "models--org--tiny-4bit" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    read(snapshot, LLAMA)
    config = find_config("org/tiny-4bit")
    assert config == snapshot / "config.json"
    assert config is not None
    assert read_config(config).name == "org/tiny-4bit"
    assert find_config(str(snapshot)) == find_config(str(config)) == config
    assert find_config("org/other") is None
    assert find_config("nowhere") is None


def test_a_file_that_is_not_of_a_model_is_refused(tmp_path: Path) -> None:
    for text, words in (
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"hidden_size": 4}', "has no num_hidden_layers"),
        (json.dumps({**LLAMA, "hidden_size": "4096"}), "has no hidden_size"),
        ("[" * 100_000, "is nested too deeply"),
    ):
        file = tmp_path / "config.json"
        file.write_text(text)
        with pytest.raises(InputError, match=words):
            read_config(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_config(file)
