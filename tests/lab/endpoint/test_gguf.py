"""The head of a GGUF file: sizes of its model, and files that are none, cut short or damaged."""

import struct
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.lab.endpoint.gguf import read_head
from tracekit.lab.endpoint.model_memory import estimate_memory, find_config, read_config

TEXT = 8
ARRAY = 9
UINT16 = 2
UINT32 = 4
INT32 = 5


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
    assert head.lengths["tokenizer.ggml.tokens"] == 3
    assert head.weights == 256 * 3 + 256
    assert find_config(str(file)) == file
    model = read_config(file)
    assert (model.name, model.layers, model.kv_heads, model.head_dim) == ("tiny-q4", 4, 2, 64)
    assert (model.vocabulary, model.has_tied_embeddings) == (3, True)
    memory = estimate_memory(model, 1024)
    assert memory.size_of("weights") == file.stat().st_size
    assert memory.size_of("KV cache") == 2 << 20
    assert model.weight_bits == pytest.approx(8 * file.stat().st_size / 1024)


def list_of(name: str, *numbers: int) -> bytes:
    return (
        text(f"llama.{name}")
        + struct.pack("<IIQ", ARRAY, INT32, len(numbers))
        + struct.pack(f"<{len(numbers)}i", *numbers)
    )


def write_model(file: Path, *values: bytes, tensors: tuple[bytes, ...] = TENSORS) -> Path:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    file.write_bytes(head + b"".join(values + tensors))
    return file


def test_active_weights_are_unknown_if_the_tensors_have_others(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    sizes = (*VALUES, number("expert_count", 4), number("expert_used_count", 2))
    weights = 3 * 256 + 9 * 256 + 4 * (256 * 20 * 64 + 4 * 256 + 4 * 3 * 256 * 512)
    shared = 4 * 3 * 256 * 512
    for values, count, reason in (
        (sizes, weights, None),
        (
            sizes,
            weights + shared,
            f"its tensors have {weights + shared:,} weights, not {weights:,}",
        ),
        ((*sizes, number("expert_shared_count", 1)), weights + shared, None),
    ):
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(values)) + b"".join(values)
        file.write_bytes(head + tensor("token_embd.weight", count) + b"\0" * 512)
        model = read_config(file)
        assert model.reasons.get("parameters") == reason, (count, reason)


def test_layers_that_differ_are_summed(tmp_path: Path) -> None:
    """As LFM2-1.2B: 16 layers, 6 of which have attention, of 8 K/V heads of 64."""
    sizes = (
        VALUES[0], number("block_count", 16), number("embedding_length", 2048),
        number("attention.head_count", 32),
    )  # fmt: skip
    heads = (0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0)
    hybrid = write_model(
        tmp_path / "hybrid.gguf", *sizes, number("feed_forward_length", 8192),
        list_of("attention.head_count_kv", *heads),
    )  # fmt: skip
    model = read_config(hybrid)
    assert (model.kv_heads, model.full_layers, model.head_dim) == (8, 6, 64)
    memory = estimate_memory(model, 1000)
    assert memory.size_of("KV cache") == 2 * 8 * 64 * 2 * 6 * 1000
    assert memory.parts[1].how == "2 x 8 heads of 64 of 2 bytes, 6 layers, 1,000 tokens"
    assert model.parameters is None, "the other layers have matrices of their own"
    widths = write_model(
        tmp_path / "widths.gguf", *sizes, list_of("feed_forward_length", *range(4096, 20480, 1024)),
        list_of("attention.head_count_kv", 4, *[2] * 14, 0),
    )  # fmt: skip
    model = read_config(widths)
    assert (model.kv_heads, model.full_layers, model.inner) == (4, 15, 19456)
    memory = estimate_memory(model, 1000)
    assert memory.size_of("KV cache") == 2 * (4 + 14 * 2) * 64 * 2 * 1000
    assert memory.parts[1].how == "2 x 32 heads of 64 of 2 bytes, all of 15 layers, 1,000 tokens"
    equal = write_model(
        tmp_path / "equal.gguf", *sizes, list_of("feed_forward_length", *[8192] * 16),
        list_of("attention.head_count_kv", *[8] * 16),
    )  # fmt: skip
    scalar = write_model(
        tmp_path / "scalar.gguf", *sizes, number("feed_forward_length", 8192),
        number("attention.head_count_kv", 8),
    )  # fmt: skip
    assert read_config(equal).parameters == read_config(scalar).parameters
    for name, values in (("short", (8, 0)), ("negative", (*heads[:15], -1))):
        damaged = write_model(
            tmp_path / f"{name}.gguf", *sizes, list_of("attention.head_count_kv", *values)
        )
        with pytest.raises(InputError, match="num_key_value_heads"):
            read_config(damaged)


def test_all_parts_of_a_model_count(tmp_path: Path) -> None:
    def split(place: int, count: int = 3) -> bytes:
        numbers = (("no", place), ("count", count))
        return b"".join(
            text(f"split.{name}") + struct.pack("<IH", UINT16, value) for name, value in numbers
        )

    # two values each: `split` writes both
    parts = [tmp_path / f"big-q4-{place + 1:05}-of-00003.gguf" for place in range(3)]
    contents = (
        (len(VALUES) + 2, b"".join(VALUES) + split(0), tensor("token_embd.weight", 256, 3)),
        (2, split(1), tensor("blk.0.ffn_up.weight", 256, 512)),
        (2, split(2), tensor("output.weight", 256, 3)),
    )
    for file, (count, values, weights) in zip(parts, contents, strict=True):
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, count)
        file.write_bytes(head + values + weights + b"\0" * 1000)
    size = sum(file.stat().st_size for file in parts)
    for file in parts:
        model = read_config(file)
        assert (model.name, model.layers, model.weight_files) == ("big-q4", 4, 3), file.name
        assert model.weight_bytes == size, file.name
        assert model.weight_bits == pytest.approx(8 * size / (256 * 6 + 256 * 512)), file.name
        assert not model.has_tied_embeddings, f"{file.name}: the last part has the last layer"
    renamed = tmp_path / "renamed.gguf"
    renamed.write_bytes(parts[0].read_bytes())
    with pytest.raises(InputError, match=r"one of 3 parts .* its name"):
        read_config(renamed)
    parts[1].write_bytes(parts[2].read_bytes())
    with pytest.raises(InputError, match=r"00002-of-00003\.gguf is not part 2 of 3"):
        read_config(parts[0])
    parts[1].unlink()
    with pytest.raises(InputError, match=r"00002-of-00003\.gguf is missing"):
        read_config(parts[0])


def test_a_file_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cut.gguf"
    for length in range(len(HEAD)):
        file.write_bytes(HEAD[:length])
        with pytest.raises(InputError, match=r"cut short|not a GGUF"):
            read_head(file)


def test_other_files_and_versions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.gguf"
    huge_text = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60)
    nested = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", ARRAY)
    nested += struct.pack("<IQ", ARRAY, 1) * 3000 + struct.pack("<IQI", UINT32, 1, 5)
    odd_kind = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 77)
    for content, words in (
        (b"PK\3\4" + HEAD, "not a GGUF"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 50331648"),
        (huge_text, "damaged"),
        (odd_kind, "damaged"),
        (nested, "damaged"),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=words):
            read_head(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_head(tmp_path / "none.gguf")
