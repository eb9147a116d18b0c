"""Write the packaged recordings of `tracekit demo`: exports of practice recordings, as zip files.

python tests/tools/make_demo.py

The same generator makes the same bytes, so that a change of it shows as a change of the files.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "exam")]
from shortened import DEMO_PROBLEMS  # noqa: E402
from tracekit.app.demo import Demo, list_demos  # noqa: E402

_DATE = (2026, 1, 1, 0, 0, 0)


def write_demo(demo: Demo, file: Path) -> None:
    """Write the exports of a packaged recording, in the order of their names."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "exports"
        DEMO_PROBLEMS[demo.made_by](folder, **demo.size)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
            for export in sorted(folder.iterdir()):
                member = zipfile.ZipInfo(f"{demo.name}/{export.name}", _DATE)
                member.compress_type = zipfile.ZIP_LZMA
                archive.writestr(member, export.read_bytes())


def main() -> None:
    """Write all of them in place, and print their sizes."""
    for demo in list_demos().values():
        write_demo(demo, demo.file)
        print(f"{demo.file.name}: {demo.file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
