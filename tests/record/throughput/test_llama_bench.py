import json
from typing import Any

import pytest

from tracekit.record.throughput import read_llama_bench
from tracekit.workload.workload import Measured

PROMPT: dict[str, Any] = {
    "build_commit": "8cf427ff",
    "build_number": 5163,
    "gpu_info": "Apple M3 Max",
    "backends": "Metal,BLAS",
    "model_filename": "models/qwen2-7b-q4_k_m.gguf",
    "model_type": "qwen2 7B Q4_K - Medium",
    "model_size": 4677120000,
    "n_threads": 12,
    "flash_attn": False,
    "n_prompt": 512,
    "n_gen": 0,
    "n_depth": 0,
    "test_time": "2026-04-24T11:58:50Z",
    "avg_ns": 720_000_000,
    "stddev_ns": 1_453_752,
    "avg_ts": 711.25,
    "stddev_ts": 14.5,
    "samples_ns": [719_000_000, 720_000_000, 721_000_000],
    "samples_ts": [712.5, 711.25, 690.0],
}
DECODE = {**PROMPT, "n_prompt": 0, "n_gen": 128, "avg_ts": 61.5, "samples_ts": [61.0, 62.0]}


def text(*tests: dict[str, Any]) -> str:
    return json.dumps(list(tests), indent=2) + "\n"


def speeds(output: str) -> dict[str, float | None]:
    results = read_llama_bench(output)
    endings = ("_stddev", "_median")
    return {name: one.value for name, one in results.items() if not name.endswith(endings)}


def test_each_test_has_mean_spread_and_median() -> None:
    assert read_llama_bench(text(PROMPT)) == {
        "pp512_tokens_per_second": Measured(711.25, "tokens/s", "higher"),
        "pp512_tokens_per_second_stddev": Measured(14.5, "tokens/s", "neither"),
        "pp512_tokens_per_second_median": Measured(711.25, "tokens/s", "higher"),
    }


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ({"n_prompt": 512, "n_gen": 0}, "pp512"),
        ({"n_prompt": 0, "n_gen": 128}, "tg128"),
        ({"n_prompt": 512, "n_gen": 128}, "pp512+tg128"),
        ({"n_prompt": 0, "n_gen": 128, "n_depth": 4096}, "tg128@d4096"),
    ],
)
def test_tests_are_called_as_llama_bench_calls_them(shape: dict[str, int], name: str) -> None:
    assert list(speeds(text({**PROMPT, **shape}))) == [f"{name}_tokens_per_second"]


def test_tests_of_one_name_are_told_apart_by_their_settings() -> None:
    output = text(PROMPT, {**PROMPT, "n_threads": 4, "avg_ts": 300.0})
    assert speeds(output) == {
        "pp512_n_threads=12_tokens_per_second": 711.25,
        "pp512_n_threads=4_tokens_per_second": 300.0,
    }


def test_the_same_test_twice_is_counted() -> None:
    assert list(speeds(text(PROMPT, {**PROMPT, "avg_ts": 1.0}))) == [
        "pp512_tokens_per_second",
        "pp512_2_tokens_per_second",
    ]


def test_of_an_output_cut_short_the_whole_tests_count() -> None:
    whole = text(PROMPT, DECODE)
    cut = whole[: whole.index('"n_gen": 128')]
    assert speeds(cut) == {"pp512_tokens_per_second": 711.25}


@pytest.mark.parametrize(
    "output",
    [
        "",
        "| model | size | t/s |\n",
        "[1, 2, 3]\n",
        '{"n_prompt": 512}\n',
        text({**PROMPT, "avg_ts": "fast"}),
        text({**PROMPT, "avg_ts": None}),
        "[" * 100 + "\n",
    ],
)
def test_what_is_no_result_of_llama_bench_is_none(output: str) -> None:
    assert read_llama_bench(output) == {}
