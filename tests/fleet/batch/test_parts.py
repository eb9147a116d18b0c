"""Small files become parts and single files again: each row is there once, whatever is killed."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.errors import RecordingError
from tracekit.fleet.batch import parts

FEW_ROWS: dict[str, Any] = {"compression": "zstd"}
NAMES = [f"{number:02d}" for number in range(20)]


class KilledError(BaseException):
    """The end of a process, which no code of it survives."""


def write(folder: Path, name: str, values: list[int]) -> None:
    """Write a file whose rows have its name, once as texts and once as a dictionary of them."""
    texts = pa.array([name] * len(values), pa.string())
    table = pa.table(
        {"file": texts, "kind": texts.dictionary_encode(), "value": pa.array(values, pa.int64())}
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"pandas": "{}"}), folder / f"{name}.parquet")


def read(folder: Path) -> dict[str, list[int]]:
    """Return the values of each file, from single files and parts."""
    values: dict[str, list[int]] = {}
    for file in parts.find_files(folder):
        names = parts.names_in(file)
        assert set(names).isdisjoint(values), "a file is there twice"
        values.update((name, []) for name in names)
        for row in pq.read_table(file).to_pylist():
            assert row["kind"] == row["file"]
            values[row["file"]].append(row["value"])
    return values


def describe(file: Path) -> tuple[Any, ...]:
    """Return the rows of a file, its schema and metadata, and the length of its dictionary."""
    table = pq.read_table(file)
    kinds = {kind for chunk in table["kind"].chunks for kind in chunk.dictionary.to_pylist()}
    return table.to_pylist(), table.schema, table.schema.metadata, len(kinds)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with twenty files, of which the first has no rows, the second one, and so on."""
    for number, name in enumerate(NAMES):
        write(tmp_path / "rows", name, list(range(number)))
    return tmp_path / "rows"


ROWS = {name: list(range(number)) for number, name in enumerate(NAMES)}


def test_small_files_become_one_that_is_taken_apart_into_them(folder: Path) -> None:
    singles = {file.name: describe(file) for file in folder.iterdir()}
    parts.join(folder)
    [part] = folder.iterdir()
    assert parts.names_in(part) == NAMES
    assert read(folder) == ROWS
    assert pq.read_schema(part).metadata[b"pandas"] == b"{}"
    parts.take_apart(folder, ["unknown"], FEW_ROWS)
    assert [part] == list(folder.iterdir())
    parts.take_apart(folder, ["07"], FEW_ROWS)
    assert {file.name: describe(file) for file in folder.iterdir()} == singles
    assert {name.name for name in folder.parent.iterdir()} == {"rows"}


def test_files_of_another_schema_and_large_and_damaged_ones_stay_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"file": ["other"], "value": [1.5]}), folder / "other.parquet")
    pq.write_table(pa.table({"value": list(range(5000))}), folder / "large.parquet")
    (folder / "damaged.parquet").write_bytes(b"PAR1 nonsense")
    limit = (folder / "large.parquet").stat().st_size
    monkeypatch.setattr(parts, "_SMALL", limit)
    parts.join(folder)
    files = {file.name for file in folder.iterdir()}
    assert {"large.parquet", "damaged.parquet"} < files
    part_names = [parts.names_in(file) for file in folder.glob("part-*")]
    assert min(part_names, key=len) == ["other"]
    joined_names = sorted(name for names in part_names for name in names)
    assert joined_names == [*NAMES, "other"]
    assert (folder / "damaged.parquet").read_bytes() == b"PAR1 nonsense"


def test_a_part_is_full_before_the_next_one_begins(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_ROW_GROUP", 1)
    parts.join(folder)
    [part] = folder.iterdir()
    whole_size = part.stat().st_size
    parts.take_apart(folder, NAMES, FEW_ROWS)
    limit = whole_size // 3
    monkeypatch.setattr(parts, "_SMALL", limit)
    parts.join(folder)
    *full_sizes, last_size = sorted(
        (file.stat().st_size for file in folder.iterdir()), reverse=True
    )
    assert len(full_sizes) in {1, 2}
    assert min(full_sizes) >= limit > last_size
    assert read(folder) == ROWS


def test_full_parts_and_parts_that_get_no_more_rows_stay(folder: Path) -> None:
    parts.join(folder)
    [part] = folder.iterdir()
    for number in range(20):
        pq.write_table(pa.table({"other": [number]}), folder / f"other-{number}.parquet")
    parts.join(folder)
    (other_part,) = {*folder.iterdir()} - {part}
    assert len(parts.names_in(other_part)) == 20
    assert parts.names_in(part) == NAMES


def test_a_few_files_are_not_worth_a_part(folder: Path) -> None:
    for name in NAMES[5:]:
        (folder / f"{name}.parquet").unlink()
    parts.join(folder)
    assert {file.stem for file in folder.iterdir()} == set(NAMES[:5])


def take_one_apart(folder: Path) -> None:
    parts.take_apart(folder, ["07"], FEW_ROWS)


@pytest.mark.parametrize("action", [parts.join, take_one_apart])
@pytest.mark.parametrize("call", ["Path.mkdir", "os.link", "Path.rename", "shutil.rmtree"])
@pytest.mark.parametrize("place", range(3))
def test_a_process_that_is_killed_leaves_each_row_once(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: Callable[[Path], None],
    call: str,
    place: int,
) -> None:
    (folder / "note.txt").write_text("linked")
    if action is take_one_apart:
        parts.join(folder)
    owner, name = call.split(".")
    target = getattr(parts, owner)
    original = getattr(target, name)
    calls: list[object] = []

    def die(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) > place:
            raise KilledError
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(target, name, die)
        with suppress(KilledError):
            action(folder)
    assert read(folder) == ROWS, "before the recovery"
    parts.recover(folder)
    assert read(folder) == ROWS
    assert (folder / "note.txt").read_text() == "linked"
    assert {path.name for path in folder.parent.iterdir()} == {"rows"}
    action(folder)
    assert read(folder) == ROWS


def test_a_full_disk_leaves_the_files_as_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts.pq, "ParquetWriter", fail)
    parts.join(folder)
    assert read(folder) == ROWS
    assert {path.name for path in folder.parent.iterdir()} == {"rows"}


def test_a_damaged_part_stays_for_its_readers_to_name(folder: Path) -> None:
    parts.join(folder)
    [part] = folder.iterdir()
    content = part.read_bytes()
    foreign = pa.table({"file": ["foreign"], "value": [1]})
    pq.write_table(foreign, folder / "part-foreign.parquet")
    part.write_bytes(content[:-100])
    for name in NAMES:
        write(folder, name, [1])
    parts.take_apart(folder, NAMES, FEW_ROWS)
    parts.join(folder)
    files = {tuple(parts.names_in(file)): file for file in folder.iterdir()}
    assert pq.read_table(files[tuple(NAMES)])["file"].to_pylist() == NAMES
    assert part.read_bytes() == content[:-100]
    assert parts.names_in(part) == [part.stem]
    assert parts.names_in(folder / "part-foreign.parquet") == ["part-foreign"]


def test_a_file_whose_rows_are_damaged_is_not_made_whole(folder: Path) -> None:
    for name in NAMES:
        table = pq.read_table(folder / f"{name}.parquet")
        pq.write_table(
            table, folder / f"{name}.parquet", compression=None, write_page_checksum=True
        )
    damaged_file = folder / "19.parquet"
    content = damaged_file.read_bytes()
    value = (7).to_bytes(8, "little")
    assert value in content
    damaged_file.write_bytes(content.replace(value, (8).to_bytes(8, "little"), 1))
    parts.join(folder)
    assert {file.name[:5] for file in folder.iterdir()} == {"19.pa", "part-"}
    assert set(read(folder)) == set(NAMES)


def test_a_folder_that_cannot_be_written_is_an_error_and_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    parts.join(folder)
    monkeypatch.setattr(parts.pq, "write_table", fail)
    with pytest.raises(RecordingError, match="No space left"):
        parts.take_apart(folder, ["07"], FEW_ROWS)
    assert read(folder) == ROWS
    assert {path.name for path in folder.parent.iterdir()} == {"rows"}


CHANGES = st.one_of(
    st.just(None), st.tuples(st.sampled_from(NAMES), st.lists(st.integers(0, 9), max_size=4))
)


@settings(max_examples=25, deadline=None)
@given(changes=st.lists(CHANGES, max_size=30))
def test_the_rows_of_a_file_are_those_that_were_written_last(
    changes: list[tuple[str, list[int]] | None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("parts") / "rows"
    folder.mkdir()
    expected: dict[str, list[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_FEWEST", 2)
        patch.setattr(parts, "_ROW_GROUP", 5)
        for change in changes:
            if change is None:
                parts.join(folder)
                continue
            name, values = change
            parts.take_apart(folder, [name], FEW_ROWS)
            write(folder, name, values)
            expected[name] = values
            assert read(folder) == expected, change
    assert read(folder) == expected
