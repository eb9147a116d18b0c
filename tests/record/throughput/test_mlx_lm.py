import pytest

from tracekit.record.throughput import read_mlx_lm
from tracekit.workload.workload import Measured

GENERATED = """\
==========
The pages of a cache need not be neighbours.
==========
Prompt: 512 tokens, 950.195 tokens-per-sec
Generation: 128 tokens, 45.256 tokens-per-sec
Peak memory: 15.344 GB
"""
BENCHMARKED = """\
Running warmup..
Timing with prompt_tokens=512, generation_tokens=1024, batch_size=1.
Trial 1:  prompt_tps=900.000, generation_tps=44.000, peak_memory=15.000
Trial 2:  prompt_tps=910.000, generation_tps=46.500, peak_memory=15.500
Trial 3:  prompt_tps=905.000, generation_tps=46.000, peak_memory=15.250
"""
AVERAGES = "Averages: prompt_tps=905.000, generation_tps=45.500, peak_memory=15.250\n"


def values(text: str) -> dict[str, float | None]:
    return {name: one.value for name, one in read_mlx_lm(text).items()}


def test_what_a_generation_says_at_its_end_is_read() -> None:
    assert read_mlx_lm(GENERATED) == {
        "prompt_tokens_per_second": Measured(950.195, "tokens/s", "higher"),
        "prompt_tokens": Measured(512.0, "count"),
        "generation_tokens_per_second": Measured(45.256, "tokens/s", "higher"),
        "generation_tokens": Measured(128.0, "count"),
        "mlx_peak_memory": Measured(15.344e9, "bytes", "lower"),
    }


def test_of_several_generations_the_median_counts_and_the_highest_peak() -> None:
    several = "".join(
        f"Prompt: 10 tokens, {rate} tokens-per-sec\n"
        f"Generation: 20 tokens, {rate / 10} tokens-per-sec\nPeak memory: {rate / 100} GB\n"
        for rate in (100.0, 300.0, 200.0)
    )
    found = values(several)
    assert found["prompt_tokens_per_second"] == 200.0
    assert found["generation_tokens_per_second"] == 20.0
    assert found["prompts_measured"] == found["generations_measured"] == 3.0
    assert found["mlx_peak_memory"] == 3e9


def test_a_benchmark_has_averages() -> None:
    assert read_mlx_lm(BENCHMARKED + AVERAGES) == {
        "prompt_tokens_per_second": Measured(905.0, "tokens/s", "higher"),
        "generation_tokens_per_second": Measured(45.5, "tokens/s", "higher"),
        "mlx_peak_memory": Measured(15.25e9, "bytes", "lower"),
        "trials_measured": Measured(3.0, "count"),
    }


def test_a_benchmark_cut_short_has_the_median_of_its_trials() -> None:
    found = values(BENCHMARKED)
    assert found["generation_tokens_per_second"] == 46.0
    assert found["mlx_peak_memory"] == 15.5e9
    assert found["trials_measured"] == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Prompt: what is a page?\n",
        "He said: Generation: 12 tokens, 3.0 tokens-per-sec\n",
        "Peak memory: 15.344 GB\n",
        "Trial 1:  accuracy=0.900\n",
        "Averages: prompt_tps=905.000\n",
    ],
)
def test_what_is_no_result_of_mlx_lm_is_none(text: str) -> None:
    assert read_mlx_lm(text) == {}
