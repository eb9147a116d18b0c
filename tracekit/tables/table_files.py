"""The names of the files that tables are written to, and the code that they follow from."""

from functools import cache
from hashlib import blake2b
from pathlib import Path

_ROOM = Path(__file__).parent


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


@cache
def digest_code(*patterns: str) -> str:
    """Return the digest of files of this package, by patterns: of code, and of its declarations.

    A kept file that names it is not used after a change of the code that made it.
    """
    content = blake2b(digest_size=16)
    for pattern in patterns:
        for file in sorted(_ROOM.glob(pattern)):
            content.update(f"{file.relative_to(_ROOM)}\n".encode())
            content.update(file.read_bytes())
    return content.hexdigest()
