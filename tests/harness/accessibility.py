"""axe-core over a page that is open in a browser.

axe-core is under the MPL and not part of this repository. `just schemas` fetches its package into
the folder of the published schemas; without it, a test that needs it is skipped by name.
"""

import hashlib
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

PACKAGE = "axe-core-4.14.1.tgz"
_MEMBER = "package/axe.min.js"
_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
_FOLDER = Path(os.environ.get("TRACEKIT_SCHEMAS", Path(__file__).parents[2] / ".schemas"))
_RUN = """async () => {
    const outcome = await axe.run(document, { resultTypes: ["violations"] });
    return outcome.violations.map((found) => `${found.id}: ${found.nodes[0].html.slice(0, 200)}`);
}"""


def load_axe() -> str:
    """Return the script of axe-core; skip the test if it was not fetched."""
    file = _FOLDER / PACKAGE
    if not file.exists():
        pytest.skip(f"no {PACKAGE} in {_FOLDER}; `just schemas` fetches it")
    with tarfile.open(file) as packed:
        member = packed.extractfile(_MEMBER)
        assert member is not None
        script = member.read()
    assert hashlib.sha256(script).hexdigest() == _SHA256, f"{file} has another {_MEMBER}"
    return script.decode()


def find_violations(page: Any, axe: str) -> list[str]:
    """Return the rules that a page violates as it is shown now, each with its first element."""
    page.evaluate(axe)
    return page.evaluate(_RUN)
