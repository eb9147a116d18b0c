"""What tracekit brings along: one check for each kernel, address spaces clean in every case."""

from typing import Any

import pytest

from tracekit.base.errors import ToolError
from tracekit.base.files import shipped
from tracekit.lab.msl.emulation import generated
from tracekit.lab.msl.lint import find_clang, lint
from tracekit.lab.verification.check import check_subjects
from tracekit.lab.verification.shipped import shipped_check, shipped_names
from tracekit.lab.verification.verify import verify

pytestmark = pytest.mark.emulator

PARTS = {"paged-merge"}  # launched by another's check
CASES = [(name, case) for name in shipped_names() for case in shipped_check(name).cases({})]


def test_every_kernel_has_its_check() -> None:
    files = {one.stem.replace("_", "-") for one in shipped("kernels").glob("*.metal")}
    assert files - PARTS == set(shipped_names()), "write it in tracekit/lab/verification/shipped.py"


@pytest.mark.parametrize(("name", "case"), CASES, ids=str)
def test_address_spaces_are_clean(name: str, case: dict[str, Any]) -> None:
    try:
        find_clang()
    except ToolError as error:
        pytest.skip(error.message)
    kernels = generated(shipped_check(name).check(case).run)
    assert kernels
    for one in kernels:
        found = lint(one.text, one.function, one.template)
        assert (found.defects, found.unknown) == ((), ())


@pytest.mark.parametrize("name", shipped_names())
@pytest.mark.usefixtures("compiled_kernels")
def test_each_is_right_and_loads_what_it_should(name: str) -> None:
    subjects = list(check_subjects(shipped_check(name), {"dtype": "bfloat16"}, 0))
    found = verify(subjects[-1])  # the last is the one of several partitions, or odd sizes
    assert found.defects == ()
    assert found.traffic != ()
