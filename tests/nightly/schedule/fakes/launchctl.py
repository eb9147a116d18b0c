"""launchctl, as its manual and what it prints are known.

State: `no_gui`: nobody is logged in at the desktop; `lingering`: so many looks a job that was
booted out is still there; `exits`: label to exit code of its last run; `refuses`: words with
which it does not bootstrap.
"""

import json
import os
import plistlib
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_SCHEDULER"])
STATE = FOLDER / "state.json"


def end(code: int, words: str = "") -> None:
    """Keep what is known, complain, and end."""
    STATE.write_text(json.dumps(known))
    if words:
        sys.stderr.write(words + "\n")
    sys.exit(code)


known = json.loads(STATE.read_text())
loaded = known.setdefault("loaded", {})
leaving = known.setdefault("leaving", {})
with (FOLDER / "asked.jsonl").open("a") as log:
    log.write(json.dumps(["launchctl", *sys.argv[1:]]) + "\n")

verb, target, *files = sys.argv[1:]
domain, _, label = (target, "", "") if target.count("/") == 1 else target.rpartition("/")
if known.get("no_gui"):
    words = {"bootstrap": "Bootstrap", "bootout": "Boot-out"}.get(verb, "Print")
    end(125, f"{words} failed: 125: Domain does not support specified action")
if verb == "bootstrap":
    job = plistlib.loads(Path(files[0]).read_bytes())
    if known.get("refuses"):
        end(5, known["refuses"])
    if job["Label"] in loaded or job["Label"] in leaving:
        end(5, "Bootstrap failed: 5: Input/output error")
    loaded[job["Label"]] = files[0]
    end(0)
if verb == "bootout":
    if label not in loaded:
        end(3, "Boot-out failed: 3: No such process")
    del loaded[label]
    leaving[label] = known.get("lingering", 1)
    end(0)
assert verb == "print", verb
if leaving.get(label, 0) > 0:
    leaving[label] -= 1
elif label not in loaded:
    leaving.pop(label, None)
    user = domain.partition("/")[2]
    end(113, f'Bad request.\nCould not find service "{label}" in domain for user gui: {user}')
exits = known.get("exits", {}).get(label, "(never exited)")
sys.stdout.write(f"{target} = {{\n\tstate = not running\n\n\tlast exit code = {exits}\n}}\n")
end(0)
