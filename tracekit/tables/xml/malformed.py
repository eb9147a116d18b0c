"""What is wrong with an export that breaks its own grammar."""


class MalformedError(Exception):
    """The export breaks its own grammar; what was read before stays valid."""


class BadRowError(Exception):
    """A row of a block breaks the grammar; those before it stay valid."""

    def __init__(self, row: int, reason: str) -> None:
        """Take the row's place in the block, from 0, and what is wrong with it."""
        super().__init__(reason)
        self.row = row
