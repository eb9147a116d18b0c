"""What somebody may have meant."""

import pytest

from tracekit.base.errors import UsageError, nearest, require


def test_the_nearest_name_is_offered() -> None:
    assert nearest("pagd", ("paged", "sdpa")) == "Did you mean paged?"


def test_where_none_is_near_all_are_told() -> None:
    assert nearest("zzz", ("paged", "sdpa")) == "There are: paged, sdpa."
    assert nearest("zzz", ()) == "There are: none."
    assert nearest("zzz", ("paged",), otherwise="--list lists them.") == "--list lists them."


def test_a_name_that_is_there_is_no_mistake() -> None:
    require("sdpa", ("paged", "sdpa"), "subject")
    with pytest.raises(UsageError, match="There is no subject 'sdp'") as caught:
        require("sdp", ("paged", "sdpa"), "subject")
    assert caught.value.hint == "Did you mean sdpa?"
