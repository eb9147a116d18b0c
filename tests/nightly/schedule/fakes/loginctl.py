"""loginctl; state: `lingers`."""

import json
import os
import sys
from pathlib import Path

known = json.loads((Path(os.environ["FAKE_SCHEDULER"]) / "state.json").read_text())
sys.stdout.write(f"Linger={'yes' if known.get('lingers') else 'no'}\n")
