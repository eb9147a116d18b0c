"""The output of a program: NaN among names, numbers, and lines that tell a cause."""

from pathlib import Path

from tracekit.app.symptoms import signs


def write(folder: Path, text: str) -> Path:
    file = folder / "stdout.txt"
    file.write_text(text)
    return file


def test_words_are_not_taken_for_nan(tmp_path: Path) -> None:
    lines = {
        "loss: nan": True,
        "loss=NaN,": True,
        "[-inf, 0.5]": True,
        "-nan(ind)": True,
        '{"loss": Infinity}': True,
        "tensor(NAN)": True,
        "Nan went home": False,
        "nano nan-web banana info": False,
        "Infinity is a long word": False,
        "to infinity": False,
        "no nan found": False,
        "is nan: False": False,
        "Checking for NaN... none": False,
        "loss is nan": True,
        "eval time = 0.00 ms / 1 runs (0.00 ms per token, inf tokens per second)": False,
    }
    for line, is_bad in lines.items():
        found = signs.find_non_finite(write(tmp_path, f"step 1\n{line}\n"))
        assert (found is not None) == is_bad, line


def test_the_first_line_with_nan_is_quoted_and_all_are_counted(tmp_path: Path) -> None:
    found = signs.find_non_finite(write(tmp_path, "loss 0.3\nloss nan\nloss nan\n"))
    assert found == signs.NonFiniteLine(place=2, line="loss nan", lines=2)


def test_numbers_are_found_as_they_are_printed(tmp_path: Path) -> None:
    numbers = {
        "hello 3.5": "3.5",
        "x=-1e-4": "-1e-4",
        ".5 then 2": ".5",
        "v2 q4_k": "",
        "none": "",
        "Qwen3 took 12.": "12.",
    }
    for line, number in numbers.items():
        assert signs.first_number(write(tmp_path, line)) == number, line
    assert signs.count_numbers(write(tmp_path, "1 2.5\nthree 4e1\n")) == 3


def test_a_file_of_data_holds_no_text(tmp_path: Path) -> None:
    file = tmp_path / "stdout.txt"
    file.write_bytes(b"nan 1.0\0\xff")
    assert signs.read_text(file) == ""
    assert signs.find_non_finite(file) is None


_MPS = (
    "x.py:3: UserWarning: The operator 'aten::cumprod.out' is not currently supported on the MPS "
    "backend and will fall back to run on the CPU. This may have performance implications."
)
_OUT_OF_MEMORY = (
    "[METAL] Command buffer execution failed: Insufficient Memory "
    "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"
)
_OUT_OF_BOUNDS = 'Invalid device load at offset 2116, executing kernel function: "cs_main"'


def test_lines_of_other_programs_tell_a_cause(tmp_path: Path) -> None:
    rows: tuple[tuple[signs.Topic, str, str], ...] = (
        ("gpu", "load_tensors: offloaded 0/33 layers to GPU", "0/33"),
        ("gpu", "load_tensors: offloaded 33/33 layers to GPU", ""),
        ("fallback", "load_tensors: offloaded 13/33 layers to GPU", "13/33"),
        ("fallback", "load_tensors: offloaded 33/33 layers to GPU", ""),
        ("fallback", "load_tensors: offloaded 0/33 layers to GPU", ""),
        ("fallback", _MPS, "aten::cumprod.out"),
        ("memory", _OUT_OF_MEMORY, "kIOGPUCommandBufferCallbackErrorOutOfMemory"),
        ("memory", "MemoryError", "MemoryError"),
        ("memory", "I wrote about MemoryError", ""),
        ("validation", _OUT_OF_BOUNDS, "cs_main"),
    )
    for topic, line, quoted in rows:
        words = signs.find_sign(topic, (write(tmp_path, f"before\n{line}\nafter\n"),))
        assert bool(words) == bool(quoted), line
        assert quoted in words, line


def test_every_sign_names_its_source_and_quotes_a_group() -> None:
    for sign in signs.all_signs():
        assert sign.source, sign
        assert "{1}" in sign.words, sign
