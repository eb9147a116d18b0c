"""The fake's commands: `xcrun` and `xctrace` without Xcode. See README.md beside this file."""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import texts  # noqa: E402 - the folder is put on the path first
from scenario import Scenario  # noqa: E402


def main(called: str, arguments: list[str]) -> int:
    scenario = Scenario()
    if scenario.get("toolchain"):
        code, text = texts.TOOLCHAIN[scenario.get("toolchain")]
        return complain(text, code)
    match [called, *arguments]:
        case ["xcrun", "--find" | "-f", "xctrace"]:
            return say(str((FOLDER / "bin" / "xctrace").resolve()))
        case ["xcrun", "xctrace", *rest] | ["xctrace", *rest]:
            return xctrace(rest, scenario)
        case _:
            text = f'xcrun: error: unable to find utility "{"".join(arguments[-1:])}", not a '
            return complain(f"{text}developer tool or in PATH", 72)


_COMMANDS = {
    "record": ("recording", "record"),
    "export": ("exporting", "export"),
    "import": ("importing", "import_bundle"),
}


def xctrace(arguments: list[str], scenario: Scenario) -> int:
    match arguments:
        case ["version"]:
            return say(texts.VERSION)
        case ["help", "record"]:
            return say(texts.HELP_RECORD)
        case ["list", "templates"]:
            return say(texts.TEMPLATES)
        case ["list", "instruments"]:
            return say(texts.INSTRUMENTS)
        case ["record" | "export" | "import" as command, *options]:
            # Imported only where it is needed, to answer all else quickly.
            module_name, function_name = _COMMANDS[command]
            return getattr(import_module(module_name), function_name)(options, scenario)
        case _:
            return complain("usage:\n    xctrace <command> [options]", 64)


def say(text: str) -> int:
    sys.stdout.write(f"{text.rstrip()}\n")
    return 0


def complain(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
