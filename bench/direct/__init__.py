"""Bundles that are made here, and the ways to read them that are measured side by side."""

import sys
from pathlib import Path

# The writer of bundles belongs to the tests.
sys.path.append(str(Path(__file__).parents[2] / "tests" / "harness"))
