"""The fake's commands: `xcrun` and `xctrace` without Xcode. See README.md beside this file."""

import sys
import time
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import texts  # noqa: E402 - the folder is put on the path first
from scenario import Scenario  # noqa: E402


def main(called: str, arguments: list[str]) -> int:
    scenario = Scenario()
    time.sleep(scenario.get("answer_delay", 0))
    if scenario["toolchain"]:
        code, text = texts.TOOLCHAIN[scenario["toolchain"]]
        return complain(text, code)
    if called == "xcrun":
        return xcrun(arguments, scenario)
    return xctrace(arguments, scenario)


def xcrun(arguments: list[str], scenario: Scenario) -> int:
    match arguments:
        case ["--find" | "-f", "xctrace"]:
            return say(str((FOLDER / "bin" / "xctrace").resolve()))
        case ["xctrace", *rest]:
            return xctrace(rest, scenario)
        case _:
            name = arguments[-1] if arguments else ""
            return complain(
                f'xcrun: error: unable to find utility "{name}", not a developer tool or in PATH',
                72,
            )


def xctrace(arguments: list[str], scenario: Scenario) -> int:
    match arguments:
        case ["version"]:
            return say(scenario.get("version", texts.VERSION))
        case ["help"] | []:
            return say(texts.HELP.rstrip("\n"))
        case ["help", command]:
            known = scenario.get("help", {}).get(command) or texts.HELP_OF.get(command, texts.HELP)
            return say(known.rstrip("\n"))
        case ["list", what]:
            return list_(what, scenario)
        case ["record" | "export" as command, *options]:
            # Imported only where it is needed, to answer all else quickly.
            module = import_module({"record": "recording", "export": "exporting"}[command])
            return getattr(module, command)(options, scenario)
        case _:
            return complain(texts.HELP, 64)


def list_(what: str, scenario: Scenario) -> int:
    known = {"templates": texts.TEMPLATES, "instruments": texts.INSTRUMENTS}
    if what not in known:
        return complain(texts.HELP, 64)
    sys.stdout.write(scenario.get(what, known[what]))
    return 0


def say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def complain(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
