"""Which columns of a table are folded where a terminal is too narrow for all of them."""

from collections.abc import Sequence

from rich.cells import cell_len

_GAP = 2  # characters between columns
_LEAST = 16  # characters that a folded column has at least, where there is room at all


def rigid(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[bool]:
    """Tell which columns keep their width: the narrow ones, as long as the others have room.

    Args:
        columns: The heads.
        rows: The cells, as many in each row as there are heads.
        width: Of the terminal, in characters.
    """
    widths = [max(map(cell_len, cells)) for cells in zip(columns, *rows, strict=True)]
    left = width - _GAP * (len(widths) - 1)
    kept = [False] * len(widths)
    narrow_first = sorted(range(len(widths)), key=widths.__getitem__)
    for behind, place in enumerate(narrow_first, start=1):
        left -= widths[place]
        if left < _LEAST * (len(widths) - behind):
            break
        kept[place] = True
    return kept
