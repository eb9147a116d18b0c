"""What mlx_lm and hyperfine print, and which output of a run is read, in which order."""

import json
from pathlib import Path

import pytest

from tracekit.base.recording import Recording
from tracekit.record.patterns import parse_pattern, save_patterns
from tracekit.record.throughput import (
    keep_output,
    read_hyperfine,
    read_mlx_lm,
    read_output,
    read_texts,
)
from tracekit.workload.workload import Measured

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


def test_mlx_lms_last_words_are_read_and_results_have_units() -> None:
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
        results = read_mlx_lm(output)
        assert {name: results[name].value for name in values} == values, output
        assert bool(results) is bool(values), output
    assert read_mlx_lm(GENERATED) == {
        PROMPTS: Measured(950.195, "tokens/s", "higher"),
        "prompt_tokens": Measured(512.0, "count"),
        TOKENS: Measured(45.256, "tokens/s", "higher"),
        "generation_tokens": Measured(128.0, "count"),
        PEAK: Measured(15.344e9, "bytes", "lower"),
    }


def test_repetitions_are_samples() -> None:
    trials = read_mlx_lm(TRIALS + AVERAGES)
    assert trials[TOKENS].samples == (44.0, 46.5, 46.0)
    assert trials[PROMPTS].samples == (900.0, 910.0, 905.0)
    assert read_mlx_lm(SEVERAL)[TOKENS].samples == (10.0, 30.0, 20.0)
    assert read_mlx_lm(GENERATED)[TOKENS].samples == ()


TIMED = {
    "command": "./main-old", "mean": 0.25, "stddev": 0.01, "median": 0.25, "user": 0.2,
    "system": 0.01, "min": 0.24, "max": 0.26, "times": [0.24, 0.25, 0.26], "exit_codes": [0, 0, 0],
}  # fmt: skip


def test_times_of_hyperfine_are_read_with_their_samples() -> None:
    single_output = "Benchmark 1: ./main-old\n" + json.dumps({"results": [TIMED]}, indent=2) + "\n"
    time = Measured(0.25e9, "ns", "lower", samples=(0.24e9, 0.25e9, 0.26e9), deviation=0.01e9)
    assert read_hyperfine(single_output) == {"command_time": time}
    single = {**TIMED, "stddev": None, "times": [0.25]}
    two = json.dumps({"results": [TIMED, single]})
    single_time = Measured(0.25e9, "ns", "lower")
    assert read_hyperfine(two) == {"command_1_time": time, "command_2_time": single_time}
    assert read_hyperfine('{"results": [{"mean": 0.25}]}') == {}


BENCH = '{"n_prompt": 0, "n_gen": 128, "avg_ts": 61.5}\n'
LINE = "FPS 59.5\n"


@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        ((BENCH, GENERATED), ["tg128_tokens_per_second"]),
        ((GENERATED, BENCH), ["tg128_tokens_per_second"]),
        (("", BENCH), ["tg128_tokens_per_second"]),
        ((BENCH, LINE), ["fps"]),
        ((LINE + BENCH, ""), ["fps"]),
        (("hello\n", ""), []),
    ],
)
def test_a_users_pattern_goes_first_and_the_format_before_the_stream(
    outputs: tuple[str, str], names: list[str]
) -> None:
    fps = parse_pattern("fps:frames/s:higher:FPS ([0-9.]+)")
    assert list(read_texts(outputs, [fps])) == names


def test_of_a_long_output_the_end_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(tmp_path)
    assert read_output(recording) == {}
    recording.output_file.write_text("hello\n")
    assert read_output(recording) == {}
    monkeypatch.setattr("tracekit.record.throughput._MOST", len(GENERATED))
    recording.output_file.write_text(GENERATED.replace("45.256", "11.111") + GENERATED)
    results = read_output(recording)
    assert results["generation_tokens_per_second"].value == 45.256
    assert "generations_measured" not in results


def test_standard_error_and_a_runs_patterns_are_read(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.host_bundle.mkdir()
    recording.host_errors.write_text(LINE + BENCH)
    assert list(read_output(recording)) == ["tg128_tokens_per_second"]
    save_patterns(recording.patterns_file, [parse_pattern("fps:frames/s:higher:FPS ([0-9.]+)")])
    assert read_output(recording) == {"fps": Measured(59.5, "frames/s", "higher")}
    recording.output_file.write_text("took 4 ms\n")
    lines = ("fps:frames/s:higher:FPS ([0-9.]+)", "took:ms:lower:took ([0-9]+)", "a:ms:lower:(a)")
    save_patterns(recording.patterns_file, [parse_pattern(line) for line in lines])
    assert read_output(recording) == {
        "fps": Measured(59.5, "frames/s", "higher"),  # of the other file
        "took": Measured(4e6, "ns", "lower"),
        "a": Measured(None, "ns", "lower", "no line of the output matches --read '(a)'."),
    }


def test_an_output_is_kept_in_the_runs_folder(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    keep_output(recording, tmp_path / "missing.txt")
    assert not recording.output_file.exists()
    for output in ("first\n", "second\n"):
        printed = tmp_path / f"{output.strip()}.txt"
        printed.write_text(output)
        keep_output(recording, tmp_path / "missing.txt", printed)
        printed.unlink()
        assert recording.output_file.read_text() == output
