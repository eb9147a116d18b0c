"""What bundles require of a reader: the one family that is known, and all others refused."""

import plistlib
from pathlib import Path
from typing import Any

import pytest

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.requirements import Requirements, requirements
from tracekit.tables.bundle.errors import BundleError, UnknownBundleError

KNOWN: dict[str, Any] = {
    "com.apple.dt.trace": [5, "A newer version saved this."],
    "com.apple.dt.path-manager.compression": [1, "It is compressed."],
    "com.apple.dt.Instruments.Hierarchies": [1, "It has hierarchies."],
    "com.apple.dt.ac.topology.XRT64_CC32_R_TypeID": [1, "A topology."],
    "com.apple.dt.etype.XRProcessTypeID": [1, "the new engineering type 'process'."],
    "com.apple.dt.etype.XRNewTypeID": [1, "no tag in here"],
    "com.apple.dt.etype.XRRouteTypeID": [2, "the new engineering type 'route'."],
}


def required(folder: Path, **changes: Any) -> Requirements:
    """Return the requirements of a bundle that differs from a known one."""
    content = KNOWN | changes
    listed = {name: one for name, one in content.items() if one is not None}
    (folder / "open.creq").write_bytes(plistlib.dumps(listed))
    return requirements(Files(folder))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"com.apple.dt.trace": None}, "its com.apple.dt.trace is none"),
        ({"com.apple.dt.trace": [6, "newer"]}, "is 6, and 5"),
        ({"com.apple.dt.path-manager.compression": [2, "other"]}, "compression 2"),
        ({"com.apple.dt.ac.topology.XRT50_C22_TypeID": [1, "old"]}, "XRT50_C22_TypeID 1"),
        ({"com.apple.dt.ac.topology.XRT64_CC32_R_TypeID": [2, "new"]}, "TypeID 2"),
        ({"com.apple.dt.encryption": [1, "It is encrypted."]}, r'1, .*"It is encrypted\."'),
    ],
)
def test_what_is_not_positively_known_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UnknownBundleError, match=words) as raised:
        required(tmp_path, **changes)
    assert "is not read directly" in raised.value.message
    assert "xcrun xctrace export" in (raised.value.hint or "")


def test_a_bundle_without_requirements_is_older(tmp_path: Path) -> None:
    with pytest.raises(UnknownBundleError, match=r"no open\.creq"):
        requirements(Files(tmp_path))


@pytest.mark.parametrize("entry", [5, [], ["5", "text"], [5], "5"])
def test_a_capability_without_a_version_is_damage(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(BundleError, match=r"has com\.apple\.dt\.trace without a version"):
        required(tmp_path, **{"com.apple.dt.trace": entry})
