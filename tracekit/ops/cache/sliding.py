"""A cache of the last tokens only: a ring."""

import mlx.core as mx

from tracekit.base.errors import UsageError


class SlidingCache:
    """Keys and values of the last `window` tokens of a batch of contexts of one length.

    Token t lies in row t % window, so a new token takes the place of the oldest one, and the
    cache never grows. Attention does not ask in what order keys stand, provided that their
    positions were put into them before.

    Args:
        shape: Contexts, kv heads, elements of a head.
        dtype: Type of the elements.
        window: Tokens that are kept.
    """

    copied = 0  # it never grows

    def __init__(self, shape: tuple[int, int, int], dtype: mx.Dtype, *, window: int) -> None:
        if window < 1:
            raise UsageError(f"A window holds at least 1 token, not {window}.")
        batch, heads, size = shape
        self.window = window
        self.length = 0  # tokens of each context, kept or not
        self.keys = mx.zeros((batch, heads, window, size), dtype)
        self.values = mx.zeros((batch, heads, window, size), dtype)

    @property
    def kept(self) -> int:
        """Tokens of each context that are kept."""
        return min(self.length, self.window)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.keys.nbytes + self.values.nbytes

    def lacks(self, tokens: int) -> bool:  # noqa: ARG002  as of caches that grow
        """Whether so many more tokens need more room: never."""
        return False

    def grow(self, tokens: int) -> None:
        """Make room for more tokens: a no-op."""

    def append(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append the keys and values of new tokens; return those that are kept, in any order.

        What is returned are views: who still holds one at the next append makes MLX copy.

        Args:
            keys: `[batch, kv_heads, tokens, head_dim]`; of more than a window the last count.
            values: As `keys`.
        """
        tokens = keys.shape[2]
        taken = min(tokens, self.window)
        first = (self.length + tokens - taken) % self.window
        self.length += tokens
        whole = min(taken, self.window - first)
        for array, rows in ((self.keys, keys), (self.values, values)):
            last = rows[:, :, tokens - taken :]
            array[:, :, first : first + whole] = last[:, :, :whole]
            if whole < taken:
                array[:, :, : taken - whole] = last[:, :, whole:]
        return self.held()

    def held(self) -> tuple[mx.array, mx.array]:
        """Return the keys and values that are kept, as views, in any order."""
        return self.keys[:, :, : self.kept], self.values[:, :, : self.kept]
