"""Exports written by hand: a header in short, rows as they stand in a file."""

from collections.abc import Callable
from pathlib import Path

import pytest


def node_text(columns: str, *rows: str, schema: str = "table", table: int = 1) -> str:
    """Write a node; `columns` is "mnemonic:engineering-type …"."""
    header = "".join(
        f"<col><mnemonic>{mnemonic}</mnemonic><name>{mnemonic.title()}</name>"
        f"<engineering-type>{engineering_type}</engineering-type></col>"
        for mnemonic, engineering_type in (column.split(":") for column in columns.split())
    )
    return (
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{table}]'>"
        f'<schema name="{schema}">{header}</schema>' + "\n".join(rows) + "\n</node>"
    )


@pytest.fixture
def node() -> Callable[..., str]:
    return node_text


@pytest.fixture
def document(tmp_path: Path) -> Callable[..., Path]:
    def make(*nodes: str, name: str = "export.xml") -> Path:
        path = tmp_path / name
        head, end = '<?xml version="1.0"?>\n<trace-query-result>\n', "</trace-query-result>\n"
        path.write_text(head + "".join(nodes) + end, encoding="utf-8")
        return path

    return make


@pytest.fixture
def export(document: Callable[..., Path]) -> Callable[..., Path]:
    def make(columns: str, *rows: str, schema: str = "table", name: str = "export.xml") -> Path:
        return document(node_text(columns, *rows, schema=schema), name=name)

    return make
