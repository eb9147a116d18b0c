"""What the numbers were measured on."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

from lxml import etree

_CPU = Path("/proc/cpuinfo")


def machine() -> dict[str, str]:
    """Return the machine and the versions, in words."""
    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "pyarrow"))
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()}",
        "system": f"{platform.system()} {platform.machine()}",
        "versions": f"Python {platform.python_version()}, lxml {version('lxml')} with libxml2 "
        f"{libxml2}, {packages}, {_xmllint()}",
    }


def _processor() -> str:
    if not _CPU.exists():
        return platform.processor() or "an unnamed processor"
    names = (line.partition(":")[2] for line in _CPU.read_text().splitlines() if "name" in line)
    return next(names, platform.machine()).strip()


def _gigabytes() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages / 2**30:.0f} GiB of memory"


def _xmllint() -> str:
    if shutil.which("xmllint") is None:
        return "no xmllint"
    said = subprocess.run(
        ["xmllint", "--version"], capture_output=True, text=True, check=False
    ).stderr
    number = said.partition("version ")[2].split()[0]
    return f"xmllint {int(number) // 10000}.{int(number) // 100 % 100}.{int(number) % 100}"
