"""A bundle of the real layout, of the same values that are exported: for those who read it."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import documents
from scenario import Scenario


def write(bundle: Path, state: dict[str, Any], scenario: Scenario) -> None:
    """Write a bundle in place of what is there.

    The scenario's "packages" are folders to import the tests' writer of bundles from.
    """
    sys.path += scenario["packages"]
    from bundle_writer import write_bundle  # noqa: PLC0415  the path is made above
    from bundle_writer.from_exports import tables_of_exports  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir=bundle.parent) as folder:
        exports, made = Path(folder) / "exports", Path(folder) / "made.trace"
        exports.mkdir()
        (exports / "toc.xml").write_text(documents.toc(state))
        for schema in documents.COLUMNS:
            text = documents.table(state, scenario, schema, 1)
            (exports / f"{schema}.xml").write_text(text or "")
        converted = tables_of_exports(exports)
        write_bundle(made, converted.tables, info=converted.info)
        shutil.rmtree(bundle)
        made.rename(bundle)
    (bundle / "state.json").write_text(json.dumps(state))
