"""Names of people leave every text of a result."""

from tracekit.analysis.result import Better, Check, Measurement, Result, Status, redact_result
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.recording import Provenance
from tracekit.base.redaction import Redaction, own_redaction


def test_every_text_of_a_result_is_redacted() -> None:
    redact: Redaction = own_redaction([("Ada's Mac", "<device>")])
    said = "seen on Ada's Mac"
    result = redact_result(
        Result(
            Provenance(warnings=(said,)),
            metrics=(Measurement("gpu_busy", None, "ns", Better.NEITHER, said),),
            findings=(
                Finding(
                    "bubbles",
                    Severity.WARNING,
                    said,
                    said,
                    (Evidence("gpu_intervals", 1, 2, said),),
                    saving=1,
                ),
            ),
            checks=(Check("bubbles", Status.FAILED, said),),
        ),
        redact,
    )
    assert "Ada" not in repr(result)
    assert repr(result).count("seen on <device>") == 6
    assert result.findings[0].saving == 1
