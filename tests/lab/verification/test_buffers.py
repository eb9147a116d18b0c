from pathlib import Path

import numpy as np
import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.lab.verification.metal_file import buffer


def test_floats_are_normal_and_the_same_for_the_same_seed() -> None:
    one, same, other = (buffer("q=float16[16, 128]", seed=seed) for seed in (3, 3, 4))
    assert (one.name, one.dtype, one.array.dtype) == ("q", "float16", np.float16)
    assert one.array.shape == (16, 128)
    assert abs(float(one.array.astype(np.float64).mean())) < 0.1
    assert 0.9 < float(one.array.astype(np.float64).std()) < 1.1
    assert np.array_equal(one.array, same.array)
    assert not np.array_equal(one.array, other.array)
    assert not one.is_given


def test_bfloat16_is_held_as_bits_and_read_as_numbers() -> None:
    one = buffer("x=bfloat16[3]=1.5", seed=0)
    assert one.array.dtype == np.uint16
    assert one.array.tolist() == [0x3FC0] * 3
    assert one.readable(one.array).tolist() == [1.5, 1.5, 1.5]
    near = buffer("x=bfloat16=1.00390625", seed=0)  # half way between two: to the even one
    assert near.readable(near.array).tolist() == [1.0]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("n=int32[3]", [0, 0, 0]),
        ("n=int32=7", [7]),
        ("n=uint8[2]=255", [255, 255]),
        ("n=int64=-5", [-5]),
        ("n=float32[2]=1e-3", [np.float32(1e-3)] * 2),
        ("n=bool[2]=1", [True, True]),
    ],
)
def test_values_can_be_given(words: str, values: list[float]) -> None:
    assert buffer(words, seed=0).array.tolist() == values


def test_ranges_leave_their_end_out() -> None:
    drawn = buffer("table=int32[1000]=2:5", seed=0).array
    assert sorted(set(drawn.tolist())) == [2, 3, 4]
    floats = buffer("x=float32[1000]=-1:0.5", seed=0).array
    assert -1 <= floats.min() < -0.9
    assert 0.4 < floats.max() < 0.5


def test_a_file_of_numpy_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "q.npy"
    np.save(file, np.arange(6, dtype=np.float16).reshape(2, 3)[:, ::-1])
    one = buffer(f"q={file}", seed=0)
    assert one.array.tolist() == [[2, 1, 0], [5, 4, 3]]
    assert one.array.flags.c_contiguous
    assert (one.dtype, one.is_given) == ("float16", True)


@pytest.mark.parametrize(
    ("dtype", "nan"), [("float16", True), ("float32", True), ("bfloat16", True), ("int32", False)]
)
def test_poison_is_nan_where_there_is_nan(dtype: str, nan: bool) -> None:
    one = buffer(f"x={dtype}[4]", seed=0)
    poison = one.poisoned()
    assert poison.flags.writeable
    assert bool(np.isnan(one.readable(poison).astype(np.float64)).all()) is nan
    assert poison.tobytes() == b"\xff" * poison.nbytes


@pytest.mark.parametrize(
    "words",
    [
        *("q", "=float16[2]", "q=", "q=float16[", "q=float16[2,]", "q=float16[-2]", "q=double[2]"),
        *("q=float16[0]", "q=int8=300", "q=uint32=-1", "q=int32[2]=5:5", "q=float32=1.2.3"),
        *("3q=float16[2]", "q=float32[99999999999,99999]", "q=float64[2]"),
    ],
)
def test_words_that_cannot_be_read_are_told(words: str) -> None:
    with pytest.raises(UsageError):
        buffer(words, seed=0)


def test_a_file_without_an_array_is_told(tmp_path: Path) -> None:
    file = tmp_path / "q.npy"
    with pytest.raises(InputError, match=r"q\.npy cannot be read: No such file"):
        buffer(f"q={file}", seed=0)
    file.write_bytes(b"no array")
    with pytest.raises(InputError, match=r"q\.npy cannot be read as an array"):
        buffer(f"q={file}", seed=0)
    np.save(file, np.array(["text"]))
    with pytest.raises(InputError, match=r"holds <U4"):
        buffer(f"q={file}", seed=0)
