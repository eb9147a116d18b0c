"""The fake's commands: `xcrun` and `xctrace` without Xcode. See README.md beside this file."""

import sys
import time
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import generations  # noqa: E402 - the folder is put on the path first
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
            known = generations.VERSIONS.get(scenario.xcode, texts.VERSION)
            return say(scenario.get("version", known))
        case ["help"] | []:
            return say(texts.HELP.rstrip("\n"))
        case ["help", command]:
            own = {**texts.HELP_OF, "record": generations.help_of_record(scenario.xcode)}
            text = scenario.get("help", {}).get(command) or own.get(command, texts.HELP)
            return say(text.rstrip("\n"))
        case ["list", what]:
            return list_(what, scenario)
        case ["record" | "export" as command, *options]:
            # Imported only where it is needed, to answer all else quickly.
            module = import_module({"record": "recording", "export": "exporting"}[command])
            return getattr(module, command)(options, scenario)
        case _:
            return complain(texts.HELP, 64)


def list_(what: str, scenario: Scenario) -> int:
    xcode = scenario.xcode
    known = {
        "templates": generations.templates(xcode) + own_templates(scenario),
        "instruments": generations.instruments(xcode),
        "devices": generations.devices(scenario.get("host", "Simon's MacBook Air")),
    }
    if not known.get(what):
        return complain(texts.HELP, 64)
    there = "stderr" if generations.lists_on_stderr(xcode) else "stdout"
    stream = sys.stderr if scenario.get("list_to", there) == "stderr" else sys.stdout
    stream.write(scenario.get(what, known[what]))
    return 0


def own_templates(scenario: Scenario) -> str:
    sections = scenario.get("own_templates", {})
    return "".join(generations.user_section(*section) for section in sections.items())


def say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


def complain(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
