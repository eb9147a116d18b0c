"""A cache that grows with the context, some tokens at a time."""

import mlx.core as mx

from tracekit.base.errors import UsageError


class GrowingCache:
    """Keys and values of a batch of contexts of one length, contiguous.

    Room is made for `step` tokens at a time, as mlx-lm does, by copying all that is held into
    arrays that are longer. Between two such copies an append writes in place, unless somebody
    else holds a view of the arrays: then MLX copies the whole cache for every token.

    Args:
        shape: Contexts, kv heads, elements of a head.
        dtype: Type of the elements.
        step: Tokens that room is made for at a time.
    """

    def __init__(self, shape: tuple[int, int, int], dtype: mx.Dtype, *, step: int = 256) -> None:
        if step < 1:
            raise UsageError(f"A cache grows by at least 1 token at a time, not by {step}.")
        self._shape, self._dtype, self._step = shape, dtype, step
        self.length = 0  # tokens of each context
        self.copied = 0  # bytes that all growth so far has copied
        self.keys = self._room(0)
        self.values = self._room(0)

    @property
    def capacity(self) -> int:
        """Tokens that there is room for."""
        return self.keys.shape[2]

    @property
    def kept(self) -> int:
        """Tokens of each context that are kept: all."""
        return self.length

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.keys.nbytes + self.values.nbytes

    def lacks(self, tokens: int) -> bool:
        """Whether so many more tokens need more room."""
        return self.length + tokens > self.capacity

    def grow(self, tokens: int) -> None:
        """Make room for so many more tokens; a no-op where there is."""
        if not self.lacks(tokens):
            return
        steps = -(-(self.length + tokens) // self._step)
        room = self._room(steps * self._step - self.length)
        held = [array[:, :, : self.length] for array in (self.keys, self.values)]
        self.copied += sum(array.nbytes for array in held)
        self.keys, self.values = (mx.concatenate([array, room], axis=2) for array in held)

    def append(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append the keys and values of new tokens; return those of all tokens.

        What is returned are views: who still holds one at the next append makes MLX copy.

        Args:
            keys: `[batch, kv_heads, tokens, head_dim]`.
            values: As `keys`.
        """
        tokens = keys.shape[2]
        self.grow(tokens)
        first, self.length = self.length, self.length + tokens
        self.keys[:, :, first : self.length] = keys
        self.values[:, :, first : self.length] = values
        return self.held()

    def held(self) -> tuple[mx.array, mx.array]:
        """Return the keys and values of all tokens, as views."""
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def _room(self, tokens: int) -> mx.array:
        batch, heads, size = self._shape
        return mx.zeros((batch, heads, tokens, size), self._dtype)
