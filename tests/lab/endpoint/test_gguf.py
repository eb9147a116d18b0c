"""The head of a GGUF file: sizes of its model, and files that are none, cut short or damaged."""

import struct
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.lab.endpoint.gguf import read_head
from tracekit.lab.endpoint.model_memory import estimate_memory, find_config, read_config

TEXT = 8
ARRAY = 9
UINT32 = 4


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


def number(name: str, value: int) -> bytes:
    return text(f"llama.{name}") + struct.pack("<II", UINT32, value)


def tensor(name: str, *sizes: int) -> bytes:
    dimensions = struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
    return text(name) + dimensions + struct.pack("<IQ", 1, 0)


VALUES = (
    text("general.architecture") + struct.pack("<I", TEXT) + text("llama"),
    number("block_count", 4),
    number("embedding_length", 256),
    number("feed_forward_length", 512),
    number("attention.head_count", 8),
    number("attention.head_count_kv", 2),
    number("attention.key_length", 64),
    text("tokenizer.ggml.tokens")
    + struct.pack("<IIQ", ARRAY, TEXT, 3)
    + text("a") + text("b") + text("ab"),
    text("tokenizer.ggml.scores") + struct.pack("<IIQ", ARRAY, 6, 2) + struct.pack("<2f", 1, 2),
)  # fmt: skip
TENSORS = (tensor("token_embd.weight", 256, 3), tensor("output_norm.weight", 256))
HEAD = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), len(VALUES)) + b"".join(VALUES + TENSORS)


def test_the_sizes_of_a_model_are_read_and_its_weights_counted(tmp_path: Path) -> None:
    file = tmp_path / "tiny-q4.gguf"
    file.write_bytes(HEAD + b"\0" * 512)
    head = read_head(file)
    assert head.values["tokenizer.ggml.tokens"] == 3
    assert head.weights == 256 * 3 + 256
    assert find_config(str(file)) == file
    model = read_config(file)
    assert (model.name, model.layers, model.kv_heads, model.head_dim) == ("tiny-q4", 4, 2, 64)
    assert (model.vocabulary, model.has_tied_embeddings) == (3, True)
    memory = estimate_memory(model, 1024)
    assert memory.size_of("weights") == file.stat().st_size
    assert memory.size_of("KV cache") == 2 << 20
    assert model.weight_bits == pytest.approx(8 * file.stat().st_size / 1024)


def test_a_file_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cut.gguf"
    for length in range(len(HEAD)):
        file.write_bytes(HEAD[:length])
        with pytest.raises(InputError, match=r"cut short|not a GGUF"):
            read_head(file)


def test_other_files_and_versions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.gguf"
    huge_text = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60)
    odd_kind = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 77)
    for content, words in (
        (b"PK\3\4" + HEAD, "not a GGUF"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 50331648"),
        (huge_text, "damaged"),
        (odd_kind, "damaged"),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=words):
            read_head(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_head(tmp_path / "none.gguf")
