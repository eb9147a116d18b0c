"""Properties of programs of chance, which hold for nearly all of them."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

Test = Callable[..., None]


def drawn(*strategies: SearchStrategy[Any]) -> Callable[[Test], Test]:
    """Draw the same examples in each run.

    Of loops whose work is noise about one in six hundred has a rhythm by chance, and is judged so.
    That a drawn one is among them says nothing of a change.
    """

    def decorate(test: Test) -> Test:
        return settings(derandomize=True)(given(*strategies)(test))

    return decorate
