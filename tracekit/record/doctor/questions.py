"""The questions to xctrace: their experiments, and the values that these observe.

A question observes a value for each belief that names it; `ToolBelief.judge` judges the values.
"""

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import psutil

from tracekit.base import InputError, processes
from tracekit.record.beliefs import LongerThan, list_texts
from tracekit.record.doctor.interview import (
    LIMIT,
    TEMPLATE,
    Answer,
    CommandRecord,
    NotAnsweredError,
    Observed,
    ToolProcess,
    Trial,
    says,
    sleeper,
)
from tracekit.record.xctrace.recovering import find_raw_data
from tracekit.record.xctrace.templates import template_files
from tracekit.record.xctrace.tool import parse_listing
from tracekit.tables import Bundle

_STARTED = "line-started"
_LIMIT_REACHED = "line-limit"
_NOBODY = "999999"  # no process of macOS has this number: they end at 99998
_CANARY = "TRACEKIT_QUESTION"


@dataclass(frozen=True)
class DoctorQuestion:
    """One question: its words, the experiment that answers it, and the seconds that it may take.

    One that `needs_gpu` is not asked on a virtual machine.
    """

    name: str
    words: str
    ask: Callable[[Trial], Observed]
    limit: float = LIMIT
    needs_gpu: bool = False


def launch(trial: Trial, name: str, *options: str, seconds: float = 3) -> CommandRecord:
    """Record a sleeping program for a second, with more options."""
    return trial.run(*trial.record_words(name, *options), "--launch", "--", *sleeper(seconds))


def _version(trial: Trial) -> Observed:
    command = trial.run("version")
    return {"version-names-build": "(" in command.stdout and ")" in command.stdout}


def _unknown_names(trial: Trial) -> Observed:
    template = trial.run(
        *trial.record_words("template", template="tracekit has no such template"),
        *("--launch", "--", *sleeper(1)),
    )
    option = launch(trial, "option", "--tracekit-no-such-option")
    instrument = launch(trial, "instrument", "--instrument", "tracekit has no such instrument")
    return {
        "unknown-template-refused": _is_refused(trial, template, "template"),
        "unknown-option-refused": _is_refused(trial, option, "option"),
        "unknown-instrument-code": instrument.returncode,
    }


def _is_refused(trial: Trial, command: CommandRecord, name: str) -> bool:
    if command.returncode == 0 or trial.bundle(name).exists():
        return False
    _require_recording(trial)
    return True


def _starts(trial: Trial, command: CommandRecord) -> bool:
    if says(command.stdout, _STARTED):
        return True
    _require_recording(trial)
    return False


def _require_recording(trial: Trial) -> None:
    """Raise NotAnsweredError if nothing can be recorded: then a refusal has other reasons."""
    trial.interview.plain_recording(trial)


def _unknown_targets(trial: Trial) -> Observed:
    process = trial.run(*trial.record_words("pid"), "--attach", _NOBODY)
    name = trial.run(*trial.record_words("name"), "--attach", "tracekit-no-such-process")
    return {
        "unknown-process-code": process.returncode,
        "unknown-process-words": "Cannot find process for provided pid" in process.text,
        "unknown-name-code": name.returncode,
    }


# Words that are in the names of devices and name no person.
_DEVICE_WORDS = ("iPhone", "iPad", "Apple", "Simulator", "Mac")


def _ambiguous_device(trial: Trial) -> Observed:
    listed = trial.run_privately("list", "devices").stdout
    sections = parse_listing(listed)
    names = "\n".join(chain.from_iterable(sections.values())).casefold()
    for word in _DEVICE_WORDS:
        is_shared = len(re.findall(rf"{word.casefold()}.*$", names, re.MULTILINE)) > 1
        if is_shared:
            command = launch(trial, "device", "--device", word)
            return {"ambiguous-device-code": command.returncode}
    raise NotAnsweredError("no two devices of this machine have a word in common")


def _ambiguous_template(trial: Trial) -> Observed:
    listed = trial.run_privately("list", "templates").stdout
    names = Counter(chain.from_iterable(parse_listing(listed).values()))
    repeated_names = names - Counter(names.keys())
    if not repeated_names:
        raise NotAnsweredError("no two templates of this machine have the same name")
    words = trial.record_words("twice", template=min(repeated_names))
    command = trial.run_privately(*words, "--launch", "--", *sleeper(1))
    return {"ambiguous-template-code": command.returncode}


_OPTIONS_FLAG = "--recording-options"


def _partial_options(trial: Trial) -> Observed:
    if _OPTIONS_FLAG not in trial.run("help", "record").text:
        raise NotAnsweredError(f"`xctrace help record` has no {_OPTIONS_FLAG}")
    options = trial.folder / "options.json"
    options.write_text(json.dumps({TEMPLATE: {}}))
    command = launch(trial, "partial", _OPTIONS_FLAG, str(options))
    return {"partial-options-code": command.returncode}


def _existing_output(trial: Trial) -> Observed:
    bundle = trial.bundle("taken")
    bundle.mkdir()
    (bundle / "mine").write_text("x")
    command = launch(trial, "taken")
    is_kept = (bundle / "mine").exists() and len(list(bundle.iterdir())) == 1
    if command.returncode == 0 or not is_kept:
        return {"existing-output-refused": False}
    _require_recording(trial)
    return {"existing-output-refused": True}


def _blank_template(trial: Trial) -> Observed:
    words = trial.record_words("blank", template="Blank")
    command = trial.run(*words, "--launch", "--", *sleeper(3))
    return {"blank-is-a-template": _starts(trial, command)}


def _composite_limit(trial: Trial) -> Observed:
    words = trial.record_words("composite", limit="1m30s")
    command = trial.run(*words, "--launch", "--", *sleeper(1))
    return {"composite-limit-accepted": _starts(trial, command)}


def _quiet_output(trial: Trial) -> Observed:
    command = launch(trial, "quiet", "--quiet")
    _require_bundle(trial, command, "quiet")
    return {"quiet-hides-start": not says(command.stdout, _STARTED)}


def _require_bundle(trial: Trial, command: CommandRecord, name: str) -> None:
    if not trial.bundle(name).exists():
        raise NotAnsweredError(f"nothing was recorded: exit code {command.returncode}")


def _repeated_xpath(trial: Trial) -> Observed:
    shared_recording = trial.interview.plain_recording(trial)
    path = '/trace-toc/run[@number="1"]/data/table[@schema="{}"]'
    output = trial.folder / "two.xml"
    words = ("export", "--input", str(shared_recording.bundle), "--output", str(output))
    first = ("--xpath", path.format("time-info"))
    command = trial.run(*words, *first, "--xpath", path.format("tick"))
    has_both = output.exists() and {"time-info", "tick"} <= _schemas_in(output.read_bytes())
    return {"repeated-xpath-exports-both": command.returncode == 0 and has_both}


def _schemas_in(xml: bytes) -> set[str]:
    names: set[str] = set()
    for part in xml.split(b'<schema name="')[1:]:
        names.add(part.partition(b'"')[0].decode(errors="replace"))
    return names


def _environment(trial: Trial) -> Observed:
    seen = trial.folder / "seen.txt"
    code = f"import os; open({str(seen)!r}, 'w').write(' '.join(sorted(os.environ)))"
    words = trial.record_words("environment", "--env", f"{_CANARY}_GIVEN=1")
    program = (*sleeper(0)[:-1], code)
    environment = trial.environment(**{f"{_CANARY}_OWN": "1"})
    trial.run(*words, "--launch", "--", *program, env=environment)
    if not seen.exists():
        raise NotAnsweredError("the launched program did not run")
    names = seen.read_text().split()
    return {
        "environment-inherited": f"{_CANARY}_OWN" in names,
        "environment-given": f"{_CANARY}_GIVEN" in names,
    }


def _sigint_while_starting(trial: Trial) -> Observed:
    words = trial.record_words("early", limit="4s")
    process = trial.start(*words, "--launch", "--", *sleeper(20))
    process.wait_for("line-announced")
    is_early = not says(process.output(), _STARTED)
    process.child.send(signal.SIGINT)
    command = process.finish()
    if not is_early:
        raise NotAnsweredError("it recorded before it could be asked to stop")
    return {"sigint-while-starting-ends-it": not says(command.stdout, _LIMIT_REACHED)}


def _sigint_launched(trial: Trial) -> Observed:
    process = trial.start(
        *trial.record_words("sigint", limit="40s"), "--launch", "--", *sleeper(40)
    )
    process.wait_for(_STARTED)
    targets = set(process.child.descendants)
    process.child.send(signal.SIGINT)
    command = process.finish()
    if not targets:
        raise NotAnsweredError("the launched program was not found among xctrace's children")
    return {
        **_cut_line(command, 2, "line-stopping"),
        "sigint-saves": says(command.stdout, "line-saved"),
        "sigint-line": says(command.stdout, "line-stopping"),
        "sigint-launched-code": command.returncode,
        "sigint-ends-target": not any(processes.runs(target) for target in targets),
    }


def _sigint_attached(trial: Trial) -> Observed:
    target = trial.start_target(50)
    process = trial.start(*trial.record_words("attached", limit="40s"), "--attach", str(target.pid))
    process.wait_for(_STARTED)
    process.child.send(signal.SIGINT)
    command = process.finish()
    return {
        "sigint-attached-code": command.returncode,
        "attached-target-goes-on": _goes_on(target),
    }


def _goes_on(target: processes.Child) -> bool:
    """Return whether a process neither ended nor stopped."""
    if target.exit_status is not None:
        return False
    return psutil.Process(target.pid).status() != psutil.STATUS_STOPPED


def _sigterm(trial: Trial) -> Observed:
    process = trial.start(
        *trial.record_words("sigterm", limit="4s"), "--launch", "--", *sleeper(20)
    )
    process.wait_for(_STARTED)
    process.child.send(signal.SIGTERM)
    command = process.finish()
    return {"sigterm-ignored": says(command.stdout, _LIMIT_REACHED)}


def _early_end(trial: Trial) -> Observed:
    target = trial.start_target(50)
    process = trial.start(*trial.record_words("early", limit="8s"), "--attach", str(target.pid))
    process.wait_for(_STARTED)
    target.kill()
    observed = _measure_end(process)
    command = process.finish()
    code, toc = trial.export_toc(trial.bundle("early"))
    failed = _launch_failing(trial)
    return {
        **observed,
        **_cut_line(failed, 2, "line-exited"),
        "early-end-code": command.returncode,
        "early-end-saves": code == 0 and "<trace-toc" in toc,
        "failed-target-code": failed.returncode,
    }


def _measure_end(process: ToolProcess) -> Observed:
    """Return the seconds from now until a recording stops by itself, or reaches its limit."""
    start_seconds = process.seconds
    moment = process.wait_for("line-exited", "line-limit", "line-completed", "line-failed")
    seconds = round(moment - start_seconds, 1)
    if says(process.output(), _LIMIT_REACHED):
        return {"target-end-seconds": LongerThan(seconds)}
    return {"target-end-seconds": seconds}


def _launch_failing(trial: Trial) -> CommandRecord:
    program = (*sleeper(0)[:-1], "raise SystemExit(3)")
    return trial.run(*trial.record_words("failing", limit="8s"), "--launch", "--", *program)


def _two_at_once(trial: Trial) -> Observed:
    first = trial.start(*trial.record_words("first", limit="10s"), "--launch", "--", *sleeper(30))
    first.wait_for(_STARTED)
    second = launch(trial, "second")
    first.child.send(signal.SIGINT)
    first.finish()
    observed: dict[str, Answer] = {"second-recording-code": second.returncode}
    lines = _list_lines(second)
    if second.returncode and len(lines) > 1 and lines[-1].startswith(list_texts("line-saved")):
        observed.update(_cut_line(second, len(lines) - 2, "line-failed"))
        return observed
    raise NotAnsweredError("the second recording did not save after an error", observed)


def _kill_and_import(trial: Trial) -> Observed:
    process = trial.start(
        *trial.record_words("killed", limit="40s"), "--launch", "--", *sleeper(40)
    )
    process.wait_for(_STARTED)
    time.sleep(min(2.0, trial.remaining))
    process.child.kill()
    process.finish()
    bundle = trial.bundle("killed")
    code, _ = trial.export_toc(bundle)
    observed: dict[str, Answer] = {"killed-bundle-opens": code == 0}
    try:
        raw_data = find_raw_data(bundle)
    except InputError:
        return {**observed, "killed-keeps-raw-data": False}
    new = trial.bundle("imported")
    paths = ("--input", str(raw_data), "--output", str(new))
    done = trial.run("import", *paths, "--template", TEMPLATE)
    code, toc = trial.export_toc(new)
    works = done.returncode == 0 and code == 0 and "<trace-toc" in toc
    return {**observed, "killed-keeps-raw-data": True, "import-recovers": works}


_LINES = ("line-announced", "line-started", "line-limit", "line-completed", "line-saved")


def _lines(trial: Trial) -> Observed:
    command = launch(trial, "lines", seconds=10)
    _require_bundle(trial, command, "lines")
    observed: dict[str, Answer] = {}
    for number, belief in enumerate(_LINES):
        observed.update(_cut_line(command, number, belief))
    if len(observed) < len(_LINES):
        raise NotAnsweredError(f"it printed {len(observed)} lines, not {len(_LINES)}", observed)
    return observed


_ENDS = re.compile(rf"( the {TEMPLATE}| the recording|:|,|\.).*$")


def _cut_line(command: CommandRecord, number: int, belief: str) -> Observed:
    """Return the beginning of a line of the output, if there is one, up to its own data.

    A line that is known stays known, whatever follows the words.
    """
    lines = _list_lines(command)
    if number >= len(lines):
        return {}
    for text in list_texts(belief):
        if lines[number].startswith(text):
            return {belief: text}
    return {belief: _ENDS.sub("", lines[number])}


def _list_lines(command: CommandRecord) -> list[str]:
    return [line.strip() for line in command.stdout.splitlines() if line.strip()]


def _language(trial: Trial) -> Observed:
    words = trial.record_words("language")
    german = trial.environment(LANG="de_DE.UTF-8", LC_ALL="de_DE.UTF-8")
    command = trial.run(*words, "--launch", "--", *sleeper(3), env=german)
    _require_bundle(trial, command, "language")
    return {"lines-follow-lang": not says(command.stdout, "line-announced")}


def _layout(trial: Trial) -> Observed:
    shared_recording = trial.interview.plain_recording(trial)
    try:
        bundle = Bundle(shared_recording.bundle)
        tables = bundle.runs[-1].tables
        unread = len(tables) - len(bundle.runs[-1].stores)
    except InputError as error:
        reason = f"the bundle cannot be read directly: {error.message}"
        raise NotAnsweredError(reason, {"layout-known": False}) from error
    return {"layout-known": bool(tables), "tables-not-read": unread}


def _template_keys(trial: Trial) -> Observed:
    files = template_files(trial.folder, trial.interview.tool.path)
    stock = [file for file in files if file.stem == "Metal System Trace"]
    if not stock:
        raise NotAnsweredError("the file of Metal System Trace was not found")
    content = stock[0].read_bytes()
    keys = (b"counterprofile", b"shaderprofiler", b"_recordingControlState")
    return {"template-keys-known": all(key in content for key in keys)}


QUESTIONS: tuple[DoctorQuestion, ...] = (
    DoctorQuestion("version", "Does the version name a build?", _version),
    DoctorQuestion("unknown-names", "Are unknown templates and options refused?", _unknown_names),
    DoctorQuestion("unknown-targets", "How are unknown processes refused?", _unknown_targets),
    DoctorQuestion("ambiguous-device", "How is an ambiguous device refused?", _ambiguous_device),
    DoctorQuestion(
        "ambiguous-template", "How is an ambiguous template refused?", _ambiguous_template
    ),
    DoctorQuestion("partial-options", "Are incomplete options refused?", _partial_options),
    DoctorQuestion("existing-output", "Is an existing bundle refused?", _existing_output),
    DoctorQuestion("blank", "Is Blank the name of a template?", _blank_template),
    DoctorQuestion("composite-limit", "Is 1m30s a time limit?", _composite_limit),
    DoctorQuestion("quiet", "Which lines does --quiet hide?", _quiet_output),
    DoctorQuestion("xpath", "Can one export have two paths?", _repeated_xpath),
    DoctorQuestion("environment", "What does a launched program inherit?", _environment),
    DoctorQuestion("sigint-start", "Does SIGINT end a start?", _sigint_while_starting),
    DoctorQuestion("sigint-launch", "How does SIGINT end a launched recording?", _sigint_launched),
    DoctorQuestion("sigint-attach", "And one that attached?", _sigint_attached),
    DoctorQuestion("sigterm", "Is SIGTERM ignored?", _sigterm),
    DoctorQuestion("early-end", "What does the end of the target do?", _early_end),
    DoctorQuestion("two", "Is a second recording refused?", _two_at_once),
    DoctorQuestion("kill", "Can a killed recording be imported?", _kill_and_import),
    DoctorQuestion("lines", "How do the lines of a recording begin?", _lines),
    DoctorQuestion("language", "Do the lines follow the language?", _language),
    DoctorQuestion("layout", "Is the layout of bundles known?", _layout),
    DoctorQuestion("template-keys", "Are the keys of templates known?", _template_keys),
)
