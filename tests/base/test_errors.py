"""What somebody may have meant."""

import pytest

from tracekit.base.errors import UsageError, nearest, require


@pytest.mark.parametrize(
    ("name", "names", "otherwise", "hint"),
    [
        ("pagd", ("paged", "sdpa"), "", "Did you mean paged?"),
        ("pagd", ("paged", "sdpa"), "--list lists them.", "Did you mean paged?"),
        ("zzz", ("paged", "sdpa"), "", "There are: paged, sdpa."),
        ("zzz", (), "", "There are: none."),
        ("zzz", ("paged",), "--list lists them.", "--list lists them."),
    ],
)
def test_the_nearest_name_is_offered_else_all(
    name: str, names: tuple[str, ...], otherwise: str, hint: str
) -> None:
    assert nearest(name, names, otherwise=otherwise) == hint
    with pytest.raises(UsageError, match=f"There is no subject '{name}'") as caught:
        require(name, names, "subject", otherwise=otherwise)
    assert caught.value.hint == hint
    require(name, (*names, name), "subject")
