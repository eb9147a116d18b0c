"""What a call must move and compute: pure arithmetic, no arrays."""

from tracekit.ops.traffic import Traffic


def fused_traffic(
    rows: int, dims: int, outputs: int, *, itemsize: int, tile_rows: int, tile_columns: int
) -> Traffic:
    """Model the kernel: tiles of `tile_rows` rows and `tile_columns` columns of the result.

    Every tile reads its rows of x, its rows of the weight and the whole gain, each once.
    """
    down, across = -(-rows // tile_rows), -(-outputs // tile_columns)
    x, gain, weight = rows * dims, dims, outputs * dims
    return Traffic(
        read=(across * x + down * across * gain + down * weight) * itemsize,
        unique=(x + gain + weight) * itemsize,
        written=rows * outputs * itemsize,
        flops=_flops(rows, dims, outputs),
    )


def separate_traffic(rows: int, dims: int, outputs: int, *, itemsize: int) -> Traffic:
    """Model two ops: the normalised rows are written, and read again.

    How often MLX's multiplication reads an element is its own business: each counts once.
    """
    x, gain, weight = rows * dims, dims, outputs * dims
    read = (x + gain + x + weight) * itemsize
    return Traffic(
        read=read,
        unique=read,
        written=(x + rows * outputs) * itemsize,
        flops=_flops(rows, dims, outputs),
    )


def _flops(rows: int, dims: int, outputs: int) -> int:
    """A multiplication and an addition for each weight and row; 4 for each element of the norm.

    Those 4 are its square, the sum of squares, and two factors.
    """
    return 2 * rows * dims * outputs + 4 * rows * dims
