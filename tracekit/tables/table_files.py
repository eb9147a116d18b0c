"""The names of the files that tables are written to."""

from pathlib import Path


def file_name(text: str) -> str:
    """Return a text as a file name, in which all but letters, digits, "-" and "_" become "_"."""
    letters: list[str] = []
    for letter in text:
        is_safe = letter.isalnum() or letter in "-_"
        letters.append(letter if is_safe else "_")
    return "".join(letters)


def symbol_files(table: Path) -> tuple[Path, Path]:
    """Return the files of the frames and the stacks of a table."""
    return table.with_suffix(".frames.parquet"), table.with_suffix(".stacks.parquet")
