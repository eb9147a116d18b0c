from pathlib import Path

from tracekit.base.recording import Recording
from tracekit.record.throughput import keep_output, read_output

LLAMA = '[{"n_prompt": 0, "n_gen": 128, "avg_ts": 61.5}]\n'
MLX = "Generation: 128 tokens, 45.256 tokens-per-sec\n"


def test_the_program_is_known_by_what_it_prints(tmp_path: Path) -> None:
    file = tmp_path / "output.txt"
    for text, name in ((LLAMA, "tg128"), (MLX, "generation")):
        file.write_text(text)
        assert f"{name}_tokens_per_second" in read_output(file)
    file.write_text("hello\n")
    assert read_output(file) == {}


def test_of_a_very_long_output_the_end_counts(tmp_path: Path) -> None:
    file = tmp_path / "output.txt"
    with file.open("wb") as opened:
        opened.write(MLX.replace("45.256", "11.111").encode())
        opened.seek(20 << 20)
        opened.write(b"\n" + MLX.encode())
    results = read_output(file)
    assert results["generation_tokens_per_second"].value == 45.256
    assert "generations_measured" not in results


def test_an_output_is_kept_in_the_runs_folder(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    printed = tmp_path / "stdout.txt"
    printed.write_text(MLX)
    keep_output(recording, tmp_path / "missing.txt", printed)
    assert recording.output_file.read_text() == MLX
    printed.unlink()
    assert recording.output_file.read_text() == MLX


def test_a_second_try_takes_the_place_of_the_first(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for text in ("first\n", "second\n"):
        printed = tmp_path / f"{text.strip()}.txt"
        printed.write_text(text)
        keep_output(recording, printed)
    assert recording.output_file.read_text() == "second\n"
