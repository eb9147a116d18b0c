"""Why a metric ended as it did, in words."""

import pytest

from tracekit.nightly.gate.decision import Ruling
from tracekit.nightly.gate.judge import reason


@pytest.mark.parametrize("found", Ruling)
def test_every_end_has_words_of_its_own(found: Ruling) -> None:
    one = reason(found, "+4.1 %", ["+4.1 %"], "3.0 %")
    two = reason(found, "+3.0 %", ["+4.1 %", "+1.9 %"], "3.0 %")
    assert one.startswith("+4.1 %:")
    assert one.endswith(".")
    assert two.count("+3.0 %") == 1
    others = [reason(other, "+4.1 %", ["+4.1 %"], "3.0 %") for other in Ruling if other != found]
    assert one not in others
