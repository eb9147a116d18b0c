"""What llama-bench and mlx_lm print of their speed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.recording import Recording
from tracekit.record.throughput import keep_output, read_llama_bench, read_mlx_lm, read_output
from tracekit.workload.workload import Measured

PROMPT: dict[str, Any] = {
    "n_threads": 12, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-04-24T11:58:50Z",
    "avg_ts": 711.25, "stddev_ts": 14.5, "samples_ts": [712.5, 711.25, 690.0],
}  # fmt: skip
DECODE = {**PROMPT, "n_prompt": 0, "n_gen": 128, "avg_ts": 61.5, "samples_ts": [61.0, 62.0]}


def text(*tests: dict[str, Any]) -> str:
    return json.dumps(list(tests), indent=2) + "\n"


WHOLE = text(PROMPT, DECODE)


def test_tests_are_called_as_llama_bench_calls_them() -> None:
    cases = {
        text(DECODE): ["tg128"],
        text({**DECODE, "n_prompt": 512}): ["pp512+tg128"],
        text({**DECODE, "n_depth": 4096}): ["tg128@d4096"],
        "".join(json.dumps(test) + "\n" for test in (PROMPT, DECODE)): ["pp512", "tg128"],
        text(PROMPT, {**PROMPT, "n_threads": 4}): ["pp512_n_threads=12", "pp512_n_threads=4"],
        text(PROMPT, {**PROMPT, "avg_ts": 1.0}): ["pp512", "pp512_2"],
        text(PROMPT, {**DECODE, "n_threads": 4}): ["pp512", "tg128"],
        WHOLE[: WHOLE.index('"n_gen": 128')]: ["pp512"],  # cut short
        f"warming up [1/2]\n{WHOLE}done\n": ["pp512", "tg128"],
        "| model | size | t/s |\n": [],
        text({**PROMPT, "avg_ts": "fast"}): [],
        "[" * 100 + "\n": [],
    }
    for output, names in cases.items():
        found = [name for name in read_llama_bench(output) if name.endswith("_per_second")]
        assert found == [f"{name}_tokens_per_second" for name in names], output


GENERATED = """\
==========
Prompt: 512 tokens, 950.195 tokens-per-sec
Generation: 128 tokens, 45.256 tokens-per-sec
Peak memory: 15.344 GB
"""
TRIALS = "Timing with prompt_tokens=512, generation_tokens=1024, batch_size=1.\n" + "".join(
    f"Trial {number}:  prompt_tps={prompt}, generation_tps={decode}, peak_memory={peak}\n"
    for number, prompt, decode, peak in (
        (1, 900.0, 44.0, 15.0), (2, 910.0, 46.5, 15.5), (3, 905.0, 46.0, 15.25)
    )
)  # fmt: skip
AVERAGES = "Averages: prompt_tps=905.000, generation_tps=45.500, peak_memory=15.250\n"
SEVERAL = "".join(
    f"Prompt: 10 tokens, {rate} tokens-per-sec\n"
    f"Generation: 20 tokens, {rate / 10} tokens-per-sec\nPeak memory: {rate / 100} GB\n"
    for rate in (100.0, 300.0, 200.0)
)
PROMPTS, TOKENS = "prompt_tokens_per_second", "generation_tokens_per_second"
PEAK = "mlx_peak_memory"


def test_what_mlx_lm_says_at_its_end_is_read_and_results_have_units() -> None:
    cases = {
        SEVERAL: {PROMPTS: 200.0, TOKENS: 20.0, PEAK: 3e9, "generations_measured": 3.0},
        TRIALS + AVERAGES: {PROMPTS: 905.0, TOKENS: 45.5, PEAK: 15.25e9, "trials_measured": 3.0},
        TRIALS: {TOKENS: 46.0, PEAK: 15.5e9, "trials_measured": 3.0},
        "Prompt: what is a page?\n": {},
        "He said: Generation: 12 tokens, 3.0 tokens-per-sec\n": {},
        "Peak memory: 15.344 GB\n": {},
        "Trial 1:  accuracy=0.900\n": {},
        AVERAGES: {},
    }
    for output, values in cases.items():
        found = read_mlx_lm(output)
        assert {name: found[name].value for name in values} == values, output
        assert bool(found) is bool(values), output
    assert read_llama_bench(text(PROMPT)) == {
        "pp512_tokens_per_second": Measured(711.25, "tokens/s", "higher"),
        "pp512_tokens_per_second_stddev": Measured(14.5, "tokens/s", "neither"),
        "pp512_tokens_per_second_median": Measured(711.25, "tokens/s", "higher"),
    }
    assert read_mlx_lm(GENERATED) == {
        PROMPTS: Measured(950.195, "tokens/s", "higher"),
        "prompt_tokens": Measured(512.0, "count"),
        TOKENS: Measured(45.256, "tokens/s", "higher"),
        "generation_tokens": Measured(128.0, "count"),
        PEAK: Measured(15.344e9, "bytes", "lower"),
    }


def test_of_a_long_output_the_end_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "output.txt"
    file.write_text(text(DECODE))
    assert "tg128_tokens_per_second" in read_output(file)
    file.write_text("hello\n")
    assert read_output(file) == read_output(tmp_path / "none") == {}
    monkeypatch.setattr("tracekit.record.throughput._MOST", len(GENERATED))
    file.write_text(GENERATED.replace("45.256", "11.111") + GENERATED)
    results = read_output(file)
    assert results["generation_tokens_per_second"].value == 45.256
    assert "generations_measured" not in results


def test_an_output_is_kept_in_the_runs_folder(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    keep_output(recording, tmp_path / "missing.txt")
    assert not recording.output_file.exists()
    for said in ("first\n", "second\n"):
        printed = tmp_path / f"{said.strip()}.txt"
        printed.write_text(said)
        keep_output(recording, tmp_path / "missing.txt", printed)
        printed.unlink()
        assert recording.output_file.read_text() == said
