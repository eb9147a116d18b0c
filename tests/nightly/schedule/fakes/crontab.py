"""crontab -l; state: `crontab`, its text. Nothing may ever be written."""

import json
import os
import sys
from pathlib import Path

assert sys.argv[1:] == ["-l"]
known = json.loads((Path(os.environ["FAKE_SCHEDULER"]) / "state.json").read_text())
if "crontab" not in known:
    sys.exit("no crontab for ada")
sys.stdout.write(known["crontab"])
