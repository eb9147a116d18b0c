"""Rates of tokens against published ones, and against the limits of a chip."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.recording import Provenance
from tracekit.cli.model_rates import ModelRates, describe_printed_rates
from tracekit.lab.endpoint.model_memory import ModelConfig, read_config
from tracekit.lab.endpoint.published import (
    describe_judgement,
    judge_rate,
    list_limits,
    published_rates,
    recognize_model,
    work_of_decode,
    work_of_prefill,
)
from tracekit.machine.chips import chip, known_chips

ADVICE = "look at `tracekit doctor --symptom slow-decode -- PROGRAM`"
# the config.json of mlx-community/Qwen3-8B-4bit
QWEN = ModelConfig(
    name="Qwen3-8B-4bit", layers=36, hidden=4096, q_heads=32, kv_heads=8, head_dim=128,
    inner=12288, vocabulary=151936, experts=0, active_experts=0, has_tied_embeddings=False,
    item_bits=16, weight_bits=4.5, quantization="4 bits in groups of 64", full_layers=36,
    sliding_layers=0, window=0, compressed=None, weight_files=0, weight_bytes=0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "model", "bits"),
    [
        ("mlx-community/Qwen3-8B-4bit", "Qwen3-8B", 4),
        ("/models/Qwen3-8B-Q4_K_M.gguf", "Qwen3-8B", 4),
        ("qwen3_8b-mxfp4", "Qwen3-8B", 4),
        ("Meta-Llama-3.1-8B-Instruct-IQ3_XS.gguf", "Llama-3.1-8B", 3),
        ("Qwen3-8B-fp16", "Qwen3-8B", 16),
        ("Qwen3-8B-bf16", "Qwen3-8B", 16),
        ("Qwen3-8B-F16.gguf", "Qwen3-8B", 16),
        ("qwen3:8b", "Qwen3-8B", None),
        ("llama3.1:8b-instruct-q4_K_M", "Llama-3.1-8B", 4),
        ("Qwen3-4B-Instruct-2507-8bit", "Qwen3-4B", 8),
        ("GLM-4.7-Flash-3bpw", "GLM-4.7-Flash", 3),
        ("GLM-4.7-4bit", "", 4),
        ("Qwen3-80B-A3B-4bit", "", 4),
        ("DeepQwen3-8B", "", None),
        ("/models/q8/Qwen3-8B-4bit", "Qwen3-8B", 4),
        ("/models/q8/Qwen3-8B", "Qwen3-8B", 8),
        ("/models/q8/Qwen3-8B-4bit/model.gguf", "Qwen3-8B", 4),
        ("fp8-to-Qwen3-8B-4bit", "Qwen3-8B", 4),
        ("Qwen3-8B-GGUF/q4_k_m.gguf", "Qwen3-8B", 4),
        ("Qwen3-4B/Qwen3-8B-4bit", "Qwen3-8B", 4),
        ("-m", "", None),
    ],
)
def test_a_model_is_recognized_by_its_name(words: str, model: str, bits: int | None) -> None:
    assert recognize_model(words) == (model, bits)


def test_rates_are_of_chips_that_are_known_and_have_a_source() -> None:
    rates = published_rates()
    assert len(rates) > 20
    assert {rate.chip for rate in rates} <= set(known_chips())
    assert [rate for rate in rates if not (rate.source and rate.tool and rate.bits)] == []
    assert [rate for rate in rates if not 0 < rate.least <= rate.largest] == []


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (58.0, "within the published 58 to 65 tokens/s of Metal Marlin"),
        (57.9, "0.2 % below the published 58 to 65 tokens/s of Metal Marlin"),
        (46.5, "19.8 % below the published 58 to 65 tokens/s of Metal Marlin"),
        (
            46.0,
            "20.7 % below the published 58 to 65 tokens/s of Metal Marlin; look at `tracekit",
        ),
        (97.5, "50.0 % above the published 58 to 65 tokens/s of Metal Marlin"),
    ],
)
def test_a_rate_is_within_its_range_or_so_far_from_it(rate: float, words: str) -> None:
    judgement = judge_rate(rate, "decode", chip="Apple M4 Max", model="Qwen3-8B-4bit")
    assert describe_judgement(judgement).partition(" doctor")[0] == words


def test_rates_of_the_same_tool_are_preferred() -> None:
    judgement = judge_rate(
        54, "decode", chip="Apple M4 Max", model="Qwen3-8B", bits=4, tool="mlx_lm"
    )
    assert describe_judgement(judgement) == "within the published 54 tokens/s of mlx_lm"


def test_a_rate_is_judged_by_the_bits_without_those_of_groups() -> None:
    config = replace(QWEN, name="Qwen3-8B-3bit", weight_bits=4.0, bits=3)
    (judgement,) = ModelRates("m", decode=60).judge("Apple M4 Max", config)
    assert judgement.reason == "nobody published the decode of Qwen3-8B with 3 bits on Apple M4 Max"


def test_a_judgement_has_the_context_that_its_source_states() -> None:
    prefill = judge_rate(480, "prefill", chip="Apple M4 Max", model="Qwen3-8B-4bit")
    assert describe_judgement(prefill) == (
        "within the published 480 to 550 tokens/s of Metal Marlin at 2K context"
    )


@pytest.mark.parametrize(
    ("chip_name", "model", "words"),
    [
        ("Apple M2", "Qwen3-8B-4bit", "decode of Qwen3-8B with 4 bits on Apple M2"),
        ("Apple M1", "Qwen3-8B-8bit", "nobody published the decode of Qwen3-8B with 8 bits"),
        ("Apple M1", "Qwen3-8B-bf16", "nobody published the decode of Qwen3-8B with 16 bits"),
        ("Apple M1", "Qwen3-8B", "Qwen3-8B does not say the bits of its weights"),
        ("Apple M1", "mine", "nobody published rates of mine that are known here"),
        ("", "Qwen3-8B-4bit", "on an unknown chip"),
    ],
)  # fmt: skip
def test_a_rate_that_nobody_published_has_its_reason(
    chip_name: str, model: str, words: str
) -> None:
    judgement = judge_rate(30, "decode", chip=chip_name, model=model)
    assert judgement.verdict is None
    assert words in describe_judgement(judgement)


def test_the_work_of_a_token_is_that_of_the_formulas() -> None:
    # 8.19 billion weights, as the authors of the model state, without 0.62 of the input embeddings
    active = 36 * (4096 * 80 * 128 + 3 * 4096 * 12288) + 151936 * 4096 + 73 * 4096
    decode = work_of_decode(QWEN, 1000)
    cache = 2 * 8 * 128 * 2 * 36 * 1000
    assert decode.read == pytest.approx(active * 4.5 / 8 + cache, rel=1e-3)
    assert decode.flops == 2 * active + 4 * 36 * 32 * 128 * 1000
    prefill = work_of_prefill(QWEN, 2000)
    assert prefill.flops == decode.flops
    assert prefill.read == pytest.approx(active * 4.5 / 8 / 2000, rel=1e-3)


def test_idle_experts_are_neither_read_nor_multiplied() -> None:
    values = {**vars_of(QWEN), "experts": 8, "active_experts": 2}
    experts = ModelConfig(**values)
    dense = ModelConfig(**{**values, "experts": 2})
    routers = 2 * 36 * 4096 * 6
    assert work_of_decode(experts, 0).flops == work_of_decode(dense, 0).flops + routers


SPARSE: dict[str, Any] = {
    "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 151936,
    "intermediate_size": 5632, "moe_intermediate_size": 1408, "num_experts_per_tok": 4,
}  # fmt: skip
"""As Qwen1.5-MoE-A2.7B, but for the names of its experts."""


def test_shared_experts_and_dense_layers_are_active(tmp_path: Path) -> None:
    matrices = 3 * 2048
    expert, dense = matrices * 1408, matrices * 5632
    rest = 24 * 4 * 2048 * 2048 + 151936 * 2048 + 49 * 2048  # without input embeddings
    qwen = {"num_experts": 60, "shared_expert_intermediate_size": 5632}
    glm = {"n_routed_experts": 60, "n_shared_experts": 2, "first_k_dense_replace": 3}
    llama = {
        "num_local_experts": 60, "intermediate_size_mlp": 5632, "interleave_moe_layer_step": 2,
        "intermediate_size": 1408, "moe_intermediate_size": None,
    }  # fmt: skip
    router = 2048 * 60
    for values, active in (
        (qwen, 24 * (4 * expert + dense + router + 2048)),
        ({**qwen, "decoder_sparse_step": 2},
         12 * (4 * expert + dense + router + 2048) + 12 * dense),
        ({**qwen, "mlp_only_layers": [0]}, 23 * (4 * expert + dense + router + 2048) + dense),
        (glm, 21 * (6 * expert + router) + 3 * dense),
        ({**glm, "moe_layer_freq": 2}, 10 * (6 * expert + router) + 14 * dense),
        ({**glm, "moe_layer_freq": [0] * 4 + [1] * 20}, 20 * (6 * expert + router) + 4 * dense),
        (llama, 12 * (5 * expert + router) + 12 * dense),
    ):  # fmt: skip
        model = read_values(tmp_path, {**SPARSE, **values})
        work = work_of_decode(model, 0)
        assert work is not None, values
        assert work.flops == 2 * (active + rest), values
    model = read_values(tmp_path, {**SPARSE, **qwen})
    assert model.parameters == pytest.approx(14.3e9, rel=0.01), "as its card says"


def test_work_that_cannot_be_counted_has_its_reason(tmp_path: Path) -> None:
    for values, reason in (
        ({"num_local_experts": 8, "intermediate_size_mlp": 9}, "does not say which layers have"),
        ({"num_experts": 8, "num_experts_per_tok": None}, "has no num_experts_per_tok"),
        ({"num_experts": 8, "moe_layer_start_index": 1}, "moe_layer_start_index are not counted"),
        ({"full_attention_interval": 4}, "have weights of their own"),
        ({"quantization_config": {"quant_method": "awq"}}, "awq has no bits"),
    ):
        model = read_values(tmp_path, {**SPARSE, **values})
        rows = list_limits(model, chip("Apple M1 Max", 32), context=10, decode=30)
        ((_, words, _),) = rows
        assert words.startswith("not available, because"), values
        assert reason in words, values


def read_values(folder: Path, values: dict[str, Any]) -> ModelConfig:
    (folder / "config.json").write_text(json.dumps(values))
    return read_config(folder / "config.json")


def vars_of(model: ModelConfig) -> dict[str, object]:
    return {name: getattr(model, name) for name in ModelConfig.__dataclass_fields__}


def test_limits_have_their_share_or_the_reason() -> None:
    rows = list(list_limits(QWEN, chip("Apple M1 Max", 32), context=1000, prefill=200, decode=30))
    values = {name: value for name, value, _ in rows}
    assert values["bandwidth"] == "132 GB/s, 33.0 % of 400 GB/s"
    assert values["of float16"] == "3.09 TFLOP/s, 29.1 % of 10.62 TFLOP/s"
    ((_, too_fast, _),) = list_limits(QWEN, chip("Apple M1", 8), context=1000, decode=30)
    assert too_fast.endswith(
        "of 68.25 GB/s, which is impossible: the chip, the model or the rate is wrong"
    )
    newer, _ = list_limits(QWEN, chip("Apple M4 Max", 40), context=1000, prefill=200)
    assert newer[1].startswith("3.09 TFLOP/s; the share is not available, because one")


def test_a_program_s_rates_are_judged_if_its_command_names_a_model() -> None:
    speeds = [
        Measurement("pp512_tokens_per_second", 381.0, "tokens/s", Better.HIGHER),
        Measurement("tg128_tokens_per_second", 36.2, "tokens/s", Better.HIGHER),
        Measurement("tg128_tokens_per_second_stddev", 0.4, "tokens/s", Better.HIGHER),
    ]
    provenance = Provenance(
        machine={"chip": "Apple M4 Max"},
        command=("./llama-bench", "-m", "/models/Qwen3-8B-Q4_K_M.gguf"),
    )
    result = Result(provenance=provenance, results=tuple(speeds))
    assert list(describe_printed_rates(result)) == [
        "pp512_tokens_per_second: 0.3 % above the published 380 tokens/s of llama.cpp",
        f"tg128_tokens_per_second: 24.6 % below the published 48 tokens/s of llama.cpp; {ADVICE}",
    ]
    nameless = replace(provenance, command=("./llama-bench",))
    assert list(describe_printed_rates(Result(provenance=nameless, results=tuple(speeds)))) == []
