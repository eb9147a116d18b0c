"""When the fast reader gives up."""


class IrregularError(Exception):
    """A byte is not the one that a plain table has there; the exact reader has to read it."""


def demand(condition: object, otherwise: str) -> None:
    """Give up where a condition does not hold; `otherwise` says what was met instead."""
    if not condition:
        raise IrregularError(otherwise)
