"""Schemas of others, read out of the packages that ship them; `just schemas` fetches those."""

import os
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCHEMAS = Path(os.environ.get("TRACEKIT_SCHEMAS", ROOT / ".schemas"))


def schema(archive: str, member: str) -> bytes:
    """Read a published schema out of the package that ships it; skip where it was not fetched."""
    for file in sorted(SCHEMAS.glob(archive)) if SCHEMAS.is_dir() else ():
        with tarfile.open(file) as packed:
            for name in packed.getnames():
                if name.endswith(member):
                    content = packed.extractfile(name)
                    assert content is not None
                    return content.read()
    pytest.skip(f"no {archive} with {member} in {SCHEMAS}; `just schemas` fetches it")
