"""What somebody may have meant."""

import pytest

from tracekit.base.errors import UsageError, require, suggest_name


def test_the_nearest_name_is_offered_else_all() -> None:
    for name, names, options, hint in (
        ("pagd", ("paged", "sdpa"), {}, "Did you mean paged?"),
        ("pagd", ("paged", "sdpa"), {"otherwise": "--list lists them."}, "Did you mean paged?"),
        ("zzz", ("paged", "sdpa"), {}, "There are: paged, sdpa."),
        ("zzz", (), {}, "There are: none."),
        ("zzz", ("paged",), {"otherwise": "--list lists them."}, "--list lists them."),
    ):
        assert suggest_name(name, names, **options) == hint
        with pytest.raises(UsageError, match=f"There is no subject '{name}'") as caught:
            require(name, names, "subject", **options)
        assert caught.value.hint == hint, (options, hint)
        require(name, (*names, name), "subject")
