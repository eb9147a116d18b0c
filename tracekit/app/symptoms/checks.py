"""The checks of a checklist, each a question about a program with its answer.

The marks of 20 and 100 tokens a second are those below which decoding and prefilling count as
slow on M3 and M4.
"""

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tracekit import analysis, machine, record
from tracekit.analysis import Status
from tracekit.app.symptoms import signs
from tracekit.app.symptoms.program import CheckAnswer, ExaminedProgram
from tracekit.app.symptoms.watching import WatchedRun
from tracekit.base import ToolError, files, processes, streams, units

_LAYERS_ON = re.compile(r"Metal (?:API|GPU) Validation Enabled")
_LATE = 0.95  # of a run's time, from which on a first output may have been held back
_MARKED_CHIPS = re.compile(r"Apple M[34]\b")
_SPEEDS = {
    "slow-prefill": r"(?:prompt|pp\d+\S*)_tokens_per_second",
    "slow-decode": r"(?:generation|tg\d+\S*)_tokens_per_second",
}
# the names of speeds of llama.cpp, mlx_lm and, with sizes, llama-bench
_SWAP_NOISE = 16 << 20  # bytes of swap that other processes may take meanwhile
_BEGIN = 0.5  # of a run, from which on its memory is judged, and the end of that
_END = 0.9
_GROWTH_SHARE = 0.05  # of the first level, as in the rule memory-growth
_LEAST_GROWTH = 32 << 20  # bytes
_VERIFY = "tracekit kernel verify FILE.metal"  # races, and accesses out of bounds
_LITTLE_GPU = 0.2  # share of the capture
_MANY_CORES = 2.0  # one thread may wait for the GPU in a loop, and another one may submit
_NOT_A_MAC = "This system has no Metal, so that no work runs on an Apple GPU."


def is_mac() -> bool:
    """Tell whether Metal and its tools can be here."""
    return sys.platform == "darwin"


def check_end(subject: ExaminedProgram) -> CheckAnswer:
    """Judge how the program ended."""
    run = subject.plain_run
    lasted = units.duration(run.seconds * 1e9)
    if run.is_over_limit:
        command = subject.command(f"doctor --symptom {subject.symptom} --time-limit 2m")
        return CheckAnswer(
            Status.ABSTAINED,
            f"It still ran after {lasted}, and was ended: its own end was not seen.",
            command,
        )
    if run.exit_status == 0:
        return CheckAnswer(Status.PASSED, f"It ended by itself after {lasted} with exit code 0.")
    ending = processes.exit_words(run.exit_status)
    final_line = _final_line(run)
    quoted = ""
    if final_line:
        quoted = f" Its last line is: {final_line}"
    command = ""
    if subject.symptom == "crash":
        command = f"cat {files.quote_path(run.stderr)}"
    words = f"It ended after {lasted} with {ending}.{quoted}"
    return CheckAnswer(Status.FOUND, words, command, str(run.stderr))


def _final_line(run: WatchedRun) -> str:
    for file in (run.stderr, run.stdout):
        lines = processes.last_words(file).splitlines()
        if lines:
            return streams.on_one_line(signs.shorten(lines[-1]))
    return ""


def check_first_output(subject: ExaminedProgram) -> CheckAnswer:
    """Tell when the first output came, with its first line and number."""
    run = subject.plain_run
    if run.first_output is None:
        words = "It printed nothing on standard output, so no first token can be seen."
        return CheckAnswer(Status.ABSTAINED, words, log=str(run.stderr))
    line = streams.on_one_line(signs.first_line(run.stdout))
    number = signs.first_number(run.stdout)
    number_words = f"; the first number is {number}" if number else "; it holds no number"
    moment = units.duration(run.first_output * 1e9)
    words = f"The first output came after {moment}: {line}{number_words}."
    if run.first_output > _LATE * run.seconds and run.seconds > 1.0:
        return CheckAnswer(
            Status.ABSTAINED,
            f"{words} That is the end of the run: the program may hold its output back, "
            "so the moment of a first token is not known.",
            log=str(run.stdout),
        )
    return CheckAnswer(Status.PASSED, words, log=str(run.stdout))


def check_speed(subject: ExaminedProgram) -> CheckAnswer:
    """Compare the speed that the program printed with the mark for its symptom."""
    texts = [record.throughput.read_printed(file) for file in subject.outputs]
    speeds = record.throughput.read_texts(texts)
    names = _SPEEDS.get(subject.symptom, _SPEEDS["slow-decode"])
    for name, speed in speeds.items():
        if re.fullmatch(names, name) and speed.value is not None:
            return judge_speed(speed.value, subject.symptom, machine.Machine().chip)
    command = subject.command("capture --read 'NAME:tokens/s:higher:REGEX'")
    return CheckAnswer(
        Status.ABSTAINED, "It printed no speed that tracekit knows how to read.", command
    )


def judge_speed(speed: float, symptom: str, chip: str) -> CheckAnswer:
    """Compare tokens a second with the mark of a symptom, which M3 and M4 have."""
    phase = "generation"
    mark = 20
    if symptom == "slow-prefill":
        phase = "prompt"
        mark = 100
    words = f"It reports {units.quantity(speed, 'tokens/s')} for the {phase}"
    if not _MARKED_CHIPS.match(chip):
        return CheckAnswer(
            Status.NOT_APPLICABLE,
            f"{words}; the mark of {mark} tokens/s is for M3 and M4, and this is neither.",
        )
    if speed < mark:
        return CheckAnswer(Status.FOUND, f"{words}, below the {mark} tokens/s of {chip}.")
    return CheckAnswer(Status.PASSED, f"{words}; {mark} tokens/s are the mark of {chip}.")


def check_validation(subject: ExaminedProgram) -> CheckAnswer:
    """Run the program with Metal's validation layers, and look for their reports."""
    if not is_mac():
        return CheckAnswer(
            Status.NOT_APPLICABLE, "The validation layers are part of Metal, which only macOS has."
        )
    run = subject.validated_run
    outputs = (run.stdout, run.stderr)
    report = signs.find_sign("validation", outputs)
    if report:
        return CheckAnswer(Status.FOUND, report, _VERIFY, str(run.stderr))
    ending = processes.exit_words(run.exit_status)
    plain_run = subject.plain_run
    if not run.is_over_limit and run.exit_status not in {0, plain_run.exit_status}:
        return CheckAnswer(
            Status.FOUND,
            f"With validation it ended with {ending}, without it with "
            f"{processes.exit_words(plain_run.exit_status)}. Its last line is: {_final_line(run)}",
            log=str(run.stderr),
        )
    if run.is_over_limit:
        return CheckAnswer(
            Status.ABSTAINED,
            "Nothing was reported up to the time limit, and validation is slow; give more time.",
            subject.command(f"doctor --symptom {subject.symptom} --time-limit 2m"),
            str(run.stderr),
        )
    for file in outputs:
        if _LAYERS_ON.search(signs.read_text(file)):
            return CheckAnswer(
                Status.PASSED, f"The layers were on and reported nothing; it ended with {ending}."
            )
    return CheckAnswer(
        Status.ABSTAINED,
        "The layers did not report that they were on: the program may use no Metal, "
        "or start another one without these variables.",
        log=str(run.stderr),
    )


def check_nan(subject: ExaminedProgram) -> CheckAnswer:
    """Look for NaN and infinite numbers in the output."""
    number_count = 0
    for file in subject.outputs:
        bad_line = signs.find_non_finite(file)
        if bad_line is not None:
            words = f"{units.count(bad_line.lines)} lines of {file.name} have"
            if bad_line.lines == 1:
                words = f"One line of {file.name} has"
            line = streams.on_one_line(bad_line.line)
            return CheckAnswer(
                Status.FOUND,
                f"{words} NaN or an infinite number; line {bad_line.place} is: {line}",
                _VERIFY if subject.symptom == "wrong" else "",
                str(file),
            )
        number_count += signs.count_numbers(file)
    if not number_count:
        return CheckAnswer(
            Status.ABSTAINED, "It printed no number: let it print a sum of its result, and repeat."
        )
    return CheckAnswer(
        Status.PASSED,
        f"No number that it printed is NaN or infinite; there are {units.count(number_count)}.",
    )


def check_gpu(subject: ExaminedProgram) -> CheckAnswer:
    """Judge whether work of the program ran on the GPU at all."""
    sign = signs.find_sign("gpu", subject.outputs)
    if sign:
        return CheckAnswer(Status.FOUND, sign, log=str(subject.plain_run.folder))
    if not is_mac():
        return CheckAnswer(Status.NOT_APPLICABLE, _NOT_A_MAC)
    recording, result = subject.capture
    provenance = recording.provenance()
    if provenance.target_rows:
        busy = result.find_metric("gpu_busy")
        words = "The capture has GPU work of it"
        if busy is not None and busy.value is not None:
            words = f"{words}, {units.duration(busy.value)} in all"
        return CheckAnswer(Status.PASSED, f"{words}.")
    if provenance.target_rows is False:
        return subject.outcome("capture-empty")
    reason = "Whether the capture has GPU work of it is not known."
    return CheckAnswer(Status.ABSTAINED, reason, "tracekit doctor")


def check_fallback(subject: ExaminedProgram) -> CheckAnswer:
    """Look for operations that ran on the CPU instead of the GPU."""
    sign = signs.find_sign("fallback", subject.outputs)
    if sign:
        return CheckAnswer(Status.FOUND, sign, log=str(subject.plain_run.folder))
    if not is_mac():
        return CheckAnswer(
            Status.NOT_APPLICABLE, f"It printed no line about a fallback. {_NOT_A_MAC}"
        )
    recording, result = subject.capture
    cores = None
    for name in ("host_cpu", "cpu_utilization"):
        metric = result.find_metric(name)
        if cores is None and metric is not None:
            cores = metric.value
    busy = result.find_metric("gpu_busy")
    gpu_share = None
    duration = recording.provenance().duration
    if busy is not None and busy.value is not None and duration:
        gpu_share = busy.value / (duration * 1e9)
    return judge_fallback(gpu_share, cores)


def judge_fallback(gpu_share: float | None, cores: float | None) -> CheckAnswer:
    """Judge a program that printed nothing by its use of GPU and CPU in the capture.

    `gpu_share` is the share of the capture in which the GPU ran for it, `cores` the cores that it
    used; None is not known.
    """
    silence = "It printed no line about a fallback, as PyTorch and llama.cpp do"
    if gpu_share is None or cores is None:
        return CheckAnswer(
            Status.ABSTAINED,
            f"{silence}, and its use of the GPU or the CPU in the capture is not known.",
        )
    words = (
        f"{silence}; the GPU ran for it in {units.percent(gpu_share)} of the capture, and it used "
        f"{cores:.1f} cores"
    )
    if gpu_share < _LITTLE_GPU and cores >= _MANY_CORES:
        return CheckAnswer(Status.FOUND, f"{words}: most of its work seems to run on the CPU.")
    return CheckAnswer(Status.PASSED, f"{words}.")


def check_memory(subject: ExaminedProgram) -> CheckAnswer:
    """Compare the peak of memory with that of the machine."""
    sign = signs.find_sign("memory", subject.outputs)
    if sign:
        return CheckAnswer(Status.FOUND, sign, log=str(subject.plain_run.stderr))
    memory = subject.plain_run.memory
    if memory.peak is None:
        words = "It ended before its memory could be sampled."
        return CheckAnswer(Status.ABSTAINED, words, subject.command("capture"))
    available = units.size(memory.least_available)
    words = (
        f"It had {units.size(memory.peak)} of resident memory at most, with its children, "
        f"and {available} of {units.size(memory.machine_total)} were available or more"
    )
    limit = machine.StateLimits().memory_free or 0
    if memory.least_available < limit:
        return CheckAnswer(Status.FOUND, f"{words}; {units.size(limit)} should be.")
    return CheckAnswer(Status.PASSED, f"{words}.")


def check_regions(subject: ExaminedProgram) -> CheckAnswer:
    """State how much of the memory is in regions of the GPU."""
    if not is_mac():
        return CheckAnswer(Status.NOT_APPLICABLE, "vmmap, which tells regions, is part of macOS.")
    regions = subject.plain_run.memory.regions
    if "accelerator" not in regions:
        return CheckAnswer(
            Status.ABSTAINED, "vmmap listed no region of the GPU, or could not look at the program."
        )
    words = f"Its regions of the GPU (IOAccelerator) had {units.size(regions['accelerator'])}"
    if "footprint" in regions:
        words += f" of a footprint of {units.size(regions['footprint'])}"
    return CheckAnswer(Status.PASSED, f"{words} at most, by vmmap every two seconds.")


def check_swap(subject: ExaminedProgram) -> CheckAnswer:
    """Judge whether the machine began to swap during the run."""
    memory = subject.plain_run.memory
    if not is_mac() and not memory.swap_total:
        return CheckAnswer(Status.NOT_APPLICABLE, "This machine has no swap.")
    if memory.peak is None:
        return CheckAnswer(Status.ABSTAINED, "It ended before the machine's swap could be sampled.")
    growth = max(0, memory.swap_peak - memory.swap_at_start)
    words = f"The machine's swap grew by {units.size(growth)} while it ran"
    if growth > _SWAP_NOISE:
        return CheckAnswer(Status.FOUND, f"{words}, from {units.size(memory.swap_at_start)}.")
    return CheckAnswer(
        Status.PASSED, f"{words}; {units.size(memory.swap_at_start)} were in use before."
    )


def check_growth(subject: ExaminedProgram) -> CheckAnswer:
    """Judge whether memory grows up to the end: resident memory, then GPU memory of the capture.

    Resident memory is judged as the rule memory-growth does it, in the second half of the plain
    run: the lowest levels of eight equal parts rise from part to part, by 5 % and 32 MiB in all.
    The last tenth of the run is left out, because programs free their memory at their end.
    """
    run = subject.plain_run
    lowest_levels = run.memory.lowest_levels(_BEGIN * run.seconds, _END * run.seconds)
    if not lowest_levels:
        command = ""
        if run.is_over_limit:
            command = subject.command("doctor --symptom memory --time-limit 2m")
        return CheckAnswer(
            Status.ABSTAINED, "It ended too soon to see a trend of its memory.", command
        )
    initial_level = lowest_levels[0]
    growth = lowest_levels[-1] - initial_level
    words = (
        f"in the second half of its run, from {units.size(initial_level)} "
        f"to {units.size(lowest_levels[-1])} of resident memory"
    )
    is_rising = all(later > earlier for earlier, later in pairwise(lowest_levels))
    if is_rising and growth > max(_GROWTH_SHARE * initial_level, _LEAST_GROWTH):
        if not run.is_over_limit:
            return CheckAnswer(
                Status.FOUND, f"It grows all the time {words}, unless it still loaded then."
            )
        return CheckAnswer(
            Status.FOUND,
            f"It grows all the time {words}. If it still loaded then, give it more time.",
            subject.command("doctor --symptom memory --time-limit 2m"),
        )
    if is_mac():
        answer = subject.outcome("memory-growth")
        if answer.status in {Status.FOUND, Status.FAILED}:
            return answer
    return CheckAnswer(Status.PASSED, f"It does not grow steadily {words}.")


def check_machine(subject: ExaminedProgram) -> CheckAnswer:
    """Judge whether other work, a battery or power saving slowed the machine."""
    _ = subject.plain_run
    before, after = subject.states
    limits = machine.StateLimits(memory_free=None, thermal_pressure=None, clock=None)
    rejections = machine.find_rejections(before, after, (), limits)
    if rejections:
        return CheckAnswer(Status.FOUND, " ".join(rejections))
    return CheckAnswer(Status.PASSED, machine.window_words((before, after)))


def check_clock(subject: ExaminedProgram) -> CheckAnswer:
    """Judge whether heat or a low clock slowed the GPU."""
    if not is_mac():
        return CheckAnswer(
            Status.NOT_APPLICABLE, "Clock and heat are read of Apple's GPU, which is not here."
        )
    answers = (subject.outcome("gpu-downclocked"), subject.outcome("thermal-pressure"))
    for status in (Status.FOUND, Status.FAILED, Status.ABSTAINED):
        for answer in answers:
            if answer.status is status:
                return answer
    return answers[0]


def check_capture(subject: ExaminedProgram) -> CheckAnswer:
    """State the main finding of the short capture."""
    try:
        recording, result = subject.capture
    except ToolError as error:
        if subject.plain_run.exit_status == 0:
            raise
        return CheckAnswer(Status.ABSTAINED, f"It did not end well there either: {error.message}")
    place = shlex.quote(str(recording.folder))
    if result.findings:
        finding = result.findings[0]
        words = analysis.wording.line_of(finding, longest=None)
        command = f"tracekit report {place} --evidence 1"
        return CheckAnswer(Status.FOUND, words, command, str(recording.report_file))
    return CheckAnswer(
        Status.PASSED,
        result.summarize_checks(),
        f"tracekit open {place} --page",
        str(recording.report_file),
    )


@dataclass(frozen=True)
class SymptomQuestion:
    """A check: its question, the facts that it looks at, and the condition of a finding in words.

    `answer` looks at a program and returns the answer.
    """

    question: str
    evidence: str
    condition: str
    answer: Callable[[ExaminedProgram], CheckAnswer]


QUESTIONS: Mapping[str, SymptomQuestion] = {
    "end": SymptomQuestion(
        "Does the program end well?",
        "the exit code or signal, and the last line",
        "the code is not 0",
        check_end,
    ),
    "first-output": SymptomQuestion(
        "When does its first output come?",
        "the moment, the line and its number; Python is told not to hold its output back",
        "never: the moment is stated",
        check_first_output,
    ),
    "speed": SymptomQuestion(
        "Is the speed that it reports low?",
        "the tokens a second that it prints",
        "on M3 and M4, below 20 for `slow-decode`, below 100 for `slow-prefill`",
        check_speed,
    ),
    "validation": SymptomQuestion(
        "Do Metal's validation layers report errors?",
        "a run with `MTL_DEBUG_LAYER`, `MTL_SHADER_VALIDATION` and its report to stderr",
        "an access out of bounds is reported, or the run ends differently",
        check_validation,
    ),
    "nan": SymptomQuestion(
        "Does it print NaN or infinite numbers?",
        "the first 64 MiB of both outputs",
        "a number is NaN or infinite",
        check_nan,
    ),
    "gpu": SymptomQuestion(
        "Does any work run on the GPU?",
        "GPU work in the capture; the layers that llama.cpp offloaded",
        "there is none",
        check_gpu,
    ),
    "fallback": SymptomQuestion(
        "Does work fall back to the CPU?",
        "lines of PyTorch and llama.cpp; on a Mac the use of GPU and CPU in the capture",
        "one names work on the CPU, or two cores work and the GPU does in less than 20 %",
        check_fallback,
    ),
    "memory": SymptomQuestion(
        "Is there enough memory?",
        "the peak of the program and its children; errors of allocation",
        "less than 1 GiB was left to the machine, or an allocation failed",
        check_memory,
    ),
    "regions": SymptomQuestion(
        "How much of its memory is the GPU's?",
        "vmmap every two seconds, on a Mac",
        "never: the sizes are stated",
        check_regions,
    ),
    "swap": SymptomQuestion(
        "Does the machine swap?",
        "the machine's swap",
        "it grew by more than 16 MiB",
        check_swap,
    ),
    "growth": SymptomQuestion(
        "Does its memory grow without an end?",
        "the lowest levels in eight parts of the second half, without the last tenth of the run; "
        "on a Mac the rule `memory-growth` too",
        "each level is above the one before, by 5 % and 32 MiB in all",
        check_growth,
    ),
    "machine": SymptomQuestion(
        "Does something else slow the machine?",
        "other processes, battery and power saving, before and after",
        "a default limit of nights is exceeded",
        check_machine,
    ),
    "clock": SymptomQuestion(
        "Do heat or a low clock slow the GPU?",
        "the rules `gpu-downclocked` and `thermal-pressure` on the capture",
        "one has a finding",
        check_clock,
    ),
    "capture": SymptomQuestion(
        "What does a short capture find?",
        "all rules on the capture",
        "there is a finding; the first one is stated",
        check_capture,
    ),
}
"""The checks by name."""
