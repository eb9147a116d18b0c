"""What no memory holds."""

import psutil
import pytest

from tracekit.base.errors import UsageError
from tracekit.ops.kernels import require_memory


def test_more_than_there_is_is_refused_with_a_hint() -> None:
    there = psutil.virtual_memory().total
    require_memory(there, "The pool", "Take less.")
    with pytest.raises(UsageError, match=r"The pool takes \d+\.\d GB; this machine has") as caught:
        require_memory(there + 1, "The pool", "Take less.")
    assert caught.value.hint == "Take less."
