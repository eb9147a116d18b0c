"""The devices that the fake lists: this Mac, two phones of which one is away, and a simulator."""

import json
from typing import Any

from scenario import Scenario

LIST = """\
== Devices ==
Test Mac (00000000-0000-0000-0000-000000000000)
Test iPhone (17.0) (00008130-AAAAAAAAAAAAAAAA)

== Devices Offline ==
Second iPhone (26.5) (00008130-BBBBBBBBBBBBBBBB)

== Simulators ==
iPhone 17 Pro Simulator (27.0) (00000000-0000-0000-0000-000000000001)
"""


def list_devices(scenario: Scenario) -> str:
    """Return the list of devices; a scenario may name their owner."""
    owner = scenario.get("owner")
    return LIST.replace("Test ", f"{owner}'s ") if owner else LIST


def fitting_devices(text: str, scenario: Scenario) -> list[str]:
    """Return the devices that a name or a part of it fits, in any case."""
    listed = list_devices(scenario).splitlines()
    lines = [line for line in listed if line and not line.startswith("==")]
    return [line for line in lines if text.casefold() in line.casefold()]


def list_displays(scenario: Scenario) -> str:
    """Return the one display of this Mac, as `system_profiler -json SPDisplaysDataType` does."""
    states = scenario.get("displays")
    state = states[min(scenario.count("displays"), len(states) - 1)]
    display: dict[str, Any] = {"_name": "Color LCD", "spdisplays_online": "spdisplays_yes"}
    if state == "off":
        display["spdisplays_asleep"] = "spdisplays_yes"
    adapter = {"_name": "Apple M1", "spdisplays_ndrvs": [display]}
    return json.dumps({"SPDisplaysDataType": [adapter]})
