"""What bounds a reader: a parser that decodes nothing, and the bytes alone."""

import subprocess
from pathlib import Path

_BUFFER = 1 << 20


def parse_with_sax(path: Path) -> None:
    """Let libxml2 parse an export and drop every event."""
    _xmllint("--sax", path)


def parse_with_stream(path: Path) -> None:
    """Let libxml2's pull parser walk over an export."""
    _xmllint("--stream", path)


def read_bytes(path: Path) -> None:
    """Read an export with read(2) into one buffer."""
    buffer = bytearray(_BUFFER)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def _xmllint(how: str, path: Path) -> None:
    subprocess.run(["xmllint", how, "--noout", "--huge", path], check=True, capture_output=True)
