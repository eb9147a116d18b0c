"""The fake's commands: `xcrun` and `xctrace` without Xcode. See README.md beside this file."""

import sys
import time
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import device_lists  # noqa: E402 - the folder is put on the path first
import texts  # noqa: E402
from scenario import Scenario  # noqa: E402


def main(called: str, arguments: list[str]) -> int:
    scenario = Scenario()
    if scenario.get("toolchain"):
        code, text = texts.TOOLCHAIN[scenario.get("toolchain")]
        return complain(text, code)
    match [called, *arguments]:
        case ["xcrun", "--find" | "-f", tool] if tool in find_tools(scenario):
            return say(str((FOLDER / "bin" / tool).resolve()))
        case ["xcrun", "xctrace", *rest] | ["xctrace", *rest]:
            return xctrace(rest, scenario)
        case ["gpucapture", *rest]:
            return import_module("capturing").gpucapture(rest, scenario)
        case ["system_profiler", "-json", "SPDisplaysDataType"]:
            return say(device_lists.list_displays(scenario))
        case _:
            text = f'xcrun: error: unable to find utility "{"".join(arguments[-1:])}", not a '
            return complain(f"{text}developer tool or in PATH", 72)


def find_tools(scenario: Scenario) -> set[str]:
    """Return the tools of this Xcode that xcrun finds."""
    if scenario.version.is_27:
        return {"xctrace", "gpucapture", "gpudebug"}
    return {"xctrace"}


_COMMANDS = {
    "record": ("recording", "record"),
    "export": ("exporting", "export"),
    "import": ("importing", "import_bundle"),
}


def xctrace(arguments: list[str], scenario: Scenario) -> int:
    match arguments:
        case ["record" | "export" | "import" as command, *options]:
            # Imported only where it is needed, to answer all else quickly.
            module_name, function_name = _COMMANDS[command]
            return getattr(import_module(module_name), function_name)(options, scenario)
        case _:
            answer = describe(arguments, scenario)
            if answer:
                return say(answer)
            return complain("usage:\n    xctrace <command> [options]", 64)


def describe(arguments: list[str], scenario: Scenario) -> str:
    """Return the answer to a question about this Xcode; empty if it is none."""
    version = scenario.version
    match arguments:
        case ["version"]:
            return f"xctrace version {version.text}"
        case ["help", "record"]:
            return "\n    ".join([texts.USAGE, *version.flags])
        case ["list", "templates"]:
            missing = scenario.get("without", [])
            names = [name for name in version.templates if name not in missing]
            own_names = scenario.get("user_templates", [])
            return texts.list_names("Templates", names, own_names)
        case ["list", "instruments"]:
            listed = texts.list_names("Instruments", version.instruments)
            return listed.replace("==", "") if scenario.get("lists") == "unknown" else listed
        case ["list", "devices"]:
            time.sleep(scenario.get("devices_delay", 0))
            return device_lists.list_devices(scenario)
        case _:
            return ""


def say(text: str) -> int:
    sys.stdout.write(f"{text.rstrip()}\n")
    return 0


def complain(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
