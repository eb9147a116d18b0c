"""systemctl --user, as its manual says.

State: `no_bus`: no systemd runs for this user; `refuses`: words with which it does not enable;
`exits`: unit to exit status of its last run.
"""

import json
import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_SCHEDULER"])
STATE = FOLDER / "state.json"
UNITS = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
WANTS = UNITS / "timers.target.wants"


def end(code: int, words: str = "") -> None:
    """Keep what is known, complain, and end."""
    STATE.write_text(json.dumps(known))
    if words:
        sys.stderr.write(words + "\n")
    sys.exit(code)


known = json.loads(STATE.read_text())
active = known.setdefault("active", [])
with (FOLDER / "asked.jsonl").open("a") as log:
    log.write(json.dumps(["systemctl", *sys.argv[1:]]) + "\n")
assert sys.argv[1] == "--user"
verb, *rest = [each for each in sys.argv[2:] if not each.startswith("-")]
if known.get("no_bus"):
    end(1, "Failed to connect to bus: No medium found")
if verb == "show":
    asked = next(each for each in sys.argv if each.startswith("--property=")).partition("=")[2]
    unit = rest[0] if rest else ""
    code = known.get("exits", {}).get(unit)
    values = {
        "Version": "252.38",
        "ActiveState": "active" if unit in active else "inactive",
        "ExecMainStatus": str(code or 0),
        "ExecMainExitTimestamp": "" if code is None else "Sun 2026-11-22 02:31:00 UTC",
    }
    sys.stdout.writelines(f"{name}={values[name]}\n" for name in asked.split(","))
    end(0)
if verb == "daemon-reload":
    end(0)
unit = rest[0]
if verb == "enable":
    if known.get("refuses"):
        end(1, known["refuses"])
    if not (UNITS / unit).exists():
        end(1, f"Failed to enable unit: Unit file {unit} does not exist.")
    WANTS.mkdir(exist_ok=True)
    (WANTS / unit).unlink(missing_ok=True)
    (WANTS / unit).symlink_to(UNITS / unit)
    known["active"] = sorted({*active, unit})
    end(0)
if verb == "disable":
    (WANTS / unit).unlink(missing_ok=True)
    known["active"] = [each for each in active if each != unit]
    end(0)
assert verb == "clean", verb
assert "--what=state" in sys.argv
end(0)
