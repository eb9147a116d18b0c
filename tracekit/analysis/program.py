"""The kind of program that the target is, recognized by signs in the recording.

Advice names settings of a program, so a wrong kind is worse than none: a sign counts only if it
belongs to one kind alone, and if signs of one strength disagree, only the words can decide between
them. In order of strength:

    the workload        those that tracekit ships run on MLX; a user's own need not
    kernels             names of shaders and labels; because kernels are copied from project to
                        project, only a product together with a chore (a copy, a norm, a gather)
                        is a sign, and only without a name of another project among them
    submitting stacks   sampled stacks of the target that hold a library and reach Metal from it
    words               the name of the process, its path, its arguments
    other stacks        a library of MLX or ggml in any sampled stack
    loaded libraries    those of MLX or ggml; many programs load PyTorch and Core ML and use the
                        GPU through another library

Without any of these, the channels decide: a program that draws is graphics, a program that only
computes and shows nothing is a compute program, of any library. The names are those of the
projects' sources: ml-explore/mlx (mlx/backend/metal), ggml-org/llama.cpp (ggml/src/ggml-metal),
pytorch/pytorch (aten/src/ATen/native/mps, c10/metal).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from tracekit.analysis.levers import ProgramKind
from tracekit.analysis.scope import Device, Targets
from tracekit.analysis.work_names import is_unnamed
from tracekit.base import Provenance, units


@dataclass(frozen=True)
class Sign:
    """A word that identifies the kind of a program, and its place in the recording."""

    word: str
    place: str


@dataclass(frozen=True)
class Recognition:
    """The kind of the target and its signs, or the reason why it is unknown."""

    kind: ProgramKind
    signs: tuple[Sign, ...] = ()
    reason: str = ""


IMPORT = "import"
"""The recorder of an imported recording; its `workload` is the name of the recording."""

_Signs = Mapping[ProgramKind, Sign]

LIBRARIES: Mapping[ProgramKind, re.Pattern[str]] = {
    ProgramKind.MLX: re.compile(r"^(libmlxc?(\.\d+)*\.dylib|Cmlx|MLX(NN|Fast|LMCommon|LLM|VLM)?)$"),
    ProgramKind.GGML: re.compile(
        r"^(lib(ggml|llama|whisper|mtmd)([-.][\w.-]*)?\.(dylib|so)|(llama|whisper|ggml))$"
    ),
    ProgramKind.PYTORCH: re.compile(r"^lib(torch(_cpu|_python)?|c10)\.dylib$"),
    ProgramKind.COREML: re.compile(r"^(CoreML|Espresso)$"),
}
"""Names of binaries by the kind of program whose library they are."""

FUNCTIONS: Mapping[ProgramKind, re.Pattern[str]] = {
    ProgramKind.MLX: re.compile(r"\bmlx::core::"),
    ProgramKind.GGML: re.compile(
        r"\bggml_(metal|backend|graph)_\w|\bllama_(decode|encode|context)\b|\bwhisper_(full|encode)"
    ),
    ProgramKind.PYTORCH: re.compile(r"\bat::(native::)?mps::"),
    ProgramKind.COREML: re.compile(r"^[-+]\[ML(Model|E5|NeuralNetworkEngine|DelegateModel)"),
}
"""Names of functions, as programs that link a library statically have them."""

# Binaries and functions in a stack that submits work to the GPU.
_TO_METAL = re.compile(r"^(Metal|IOGPU|AGXMetal\w*|MetalPerformanceShaders(Graph)?|MPS\w+)$")
_USES_METAL = re.compile(r"\bmlx::core::metal::|\bggml_metal_\w|\bat::(native::)?mps::")
_ALONE = (ProgramKind.MLX, ProgramKind.GGML)  # loaded only by programs that compute with them

PROCESSES: Mapping[ProgramKind, re.Pattern[str]] = {
    ProgramKind.MLX: re.compile(
        r"^(mlx[-_](lm|vlm|whisper|audio|embeddings|engine|runner|serve|server)([._]\w+)*"
        r"|omlx(-\w+)?|mlxcel|vllm-mlx|rapid-mlx|vmlx(-\w+)?|VLLM::\w+)$"
    ),
    ProgramKind.GGML: re.compile(
        r"^(llama-(server|cli|bench|batched-bench|batched|completion|perplexity|parallel|simple"
        r"|simple-chat|embedding|mtmd-cli|speculative|speculative-simple|imatrix|idle|tts|run)"
        r"|whisper-(cli|server|bench|stream|command|talk-llama)|ggml-rpc-server|llamafile"
        r"|koboldcpp)$"
    ),
    ProgramKind.GRAPHICS: re.compile(r"^WindowServer$"),
}
"""Names of processes that are of one kind whatever they are asked to do."""

# An argument, or the name of a script, that only one kind of program takes. On a Mac vLLM uses the
# GPU by its plugin for MLX alone.
_ARGUMENTS: Mapping[ProgramKind, re.Pattern[str]] = {
    ProgramKind.MLX: re.compile(
        r"^(--mlx-engine|mlx_(lm|vlm|whisper|audio|embeddings)([._]\w+)*|vllm(-mlx)?|omlx)$"
    ),
    ProgramKind.GGML: re.compile(r"^(--ollama-engine|llama_cpp(\.server)?)$"),
}
_WRAPPERS = re.compile(r"^(python|ollama)", re.IGNORECASE)  # their arguments name the program
_STARTERS = re.compile(r"^(python[\d.]*|uv|uvx|run|env|ollama|runner)$", re.IGNORECASE)

_SHAPE = r"[vsg]{1,2}\d?n?\d?(_n\d|_dynamic)?(large)?"  # MLX's notation for the shapes of operands
_DTYPE = r"(bfloat16|float16|float32|complex64|u?int(8|16|32|64)|bool_)"


@dataclass(frozen=True)
class _Kernels:
    """The names of a project's kernels: its products, its chores, and all of them.

    Many projects copy the products of another one, and some copy chores as well, so all names must
    be of the project: a project that copies kernels also has its own.
    """

    product: re.Pattern[str]
    chore: re.Pattern[str]
    any_kernel: re.Pattern[str]


_OF_MLX = _Kernels(
    re.compile(
        r"^(steel_(gemm|attention|conv)_|(affine|mxfp[48]|nvfp4)_(gather_)?(qmm|qmv|qvm)|gemv_"
        r"|sdpa_vector|custom_kernel_)"
    ),
    re.compile(
        rf"^{_SHAPE}_(copy|[A-Z]\w*?){_DTYPE}|^(rms|layer_norm)(_looped)?{_DTYPE}"
        rf"|^(arg(max|min)_|gather(_front|_axis)?|scatter(_axis)?|arange){_DTYPE}"
    ),
    re.compile(
        r"^(steel_|affine_|mxfp[48]_|nvfp4_|gemv_|sdpa_|custom_kernel_|implicit_gemm_|naive_unfold_"
        r"|winograd_|rms|layer_norm|vjp_|rope_|arange|arg(max|min)_|gather|scatter|slice_|rbits"
        r"|(all|row|col|init|init_col)_reduce|(block|looped)_(softmax|logsumexp)|logsumexp|fft_"
        r"|(contig|strided)_scan|(c|nc|carg|ncarg|sort|merge|partition)\w*(_sort|_merge|_mbsort)"
        r"|fence_|input_coherent|hadamard|cross_entropy|entropy_|cholesky"
        rf"|searchsorted|{_SHAPE}_(copy|[A-Z])|[A-Z]\w*_(contiguous|strided)(_\w+)?$)"
    ),
)
_OF_GGML = _Kernels(
    re.compile(r"^kernel_(mul_m[mv]_|flash_attn_ext)"),
    re.compile(
        r"^kernel_((rms_)?norm(_mul)?(_add)?_f|get_rows_|set_rows_|cpy_|rope_(norm|neox|multi)_"
        r"|soft_max_|bin_fuse_|(add|mul)_fuse_|unary_f|(swi|ge|re)glu_)"
    ),
    re.compile(r"^kernel_"),
)
_KERNELS: Mapping[ProgramKind, _Kernels] = {
    ProgramKind.MLX: _OF_MLX,
    ProgramKind.GGML: _OF_GGML,
}
# Two of these suffice, with any other names: PyTorch has kernels of its own, of other projects
# and of Apple's, but each of its element-wise ones has a name of this form.
_OF_PYTORCH = re.compile(
    r"^[a-z]\w*_(dense|strided)(_cast|_scalar)*_(float|half|bfloat)|^generated_kernel(_\d+)?$"
)

_DRAWS = frozenset({"vertex", "fragment"})
_COMPUTES = frozenset({"compute", "blit"})
_MOST = 0.5  # of the device time: drawing is its main use
_SOME = 0.2  # of the device time: a window shown meanwhile draws less; a display needs more


def program_of(
    provenance: Provenance,
    targets: Targets,
    device: Device | None,
    shaders: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
    cycle_profile: pd.DataFrame | None,
    profile_frames: pd.DataFrame | None,
    launches: pd.DataFrame | None,
    library_loads: pd.DataFrame | None,
    present_requests: pd.DataFrame | None,
    presented_drawables: pd.DataFrame | None,
    losses: pd.DataFrame | None,
) -> Recognition:
    """Return the kind of program that the target is; never raise Unavailable.

    It requests `losses` because a damaged table hides signs but never adds any.
    """
    del losses
    if provenance.workload and provenance.recorder != IMPORT and not provenance.workloads:
        sign = Sign(provenance.workload, "the workload of the recording")
        return Recognition(ProgramKind.MLX, (sign,))
    channels = _channels(device)
    drawn = _drawn(channels)
    presents = _rows(present_requests) + _rows(presented_drawables)
    samples = cycle_profile if cpu_profile is None else cpu_profile
    stacks = _frames_of(samples, profile_frames).signs
    words = _by_words(provenance, targets, launches)
    tiers = (
        _by_kernels(shaders, device),
        {} if drawn >= _MOST else stacks[True],
        words,
        {} if drawn >= _MOST else _only_alone(stacks[False]),
        {} if drawn >= _MOST else _only_alone(_by_loads(library_loads)),
    )
    for signs in filter(None, tiers):
        narrowed = {kind: words[kind] for kind in signs if kind in words}
        deciding_signs = narrowed if len(signs) > 1 else signs
        if len(deciding_signs) == 1:
            kind, sign = next(iter(deciding_signs.items()))
            return Recognition(kind, (sign,))
        return Recognition(
            ProgramKind.UNKNOWN, tuple(signs.values()), _describe_disagreement(signs)
        )
    on_the_host = device is not None and device.on_the_host
    return _by_channels(channels, presents, on_the_host=on_the_host)


def _describe_disagreement(signs: _Signs) -> str:
    quoted_signs = [f"“{sign.word}” ({sign.place})" for sign in signs.values()]
    listing = " and ".join(quoted_signs)
    return f"which kind of program the target is, is not known, because signs disagree: {listing}."


def _only_alone(signs: _Signs) -> _Signs:
    return {program: sign for program, sign in signs.items() if program in _ALONE}


def _rows(frame: pd.DataFrame | None) -> int:
    if frame is None:
        return 0
    return int(frame["target"].astype(bool).sum())


def _by_kernels(shaders: pd.DataFrame | None, device: Device | None) -> _Signs:
    """Return the signs in the names of shaders and in the labels of the target's work."""
    names = set[str]()
    if shaders is not None:
        target_shaders = shaders[shaders["target"].astype(bool)]
        shader_names = target_shaders["name"].dropna()
        names |= {str(name) for name in shader_names}
    if device is not None and not {"kernel", "label"}.isdisjoint(device.target_intervals):
        labels = {part.strip() for label in device.families[1] for part in label.split(":")}
        names |= {label for label in labels if label and not is_unnamed(label)}
    ordered = sorted(names)
    kernel_names = {kind: _kernels_of(kernels, ordered) for kind, kernels in _KERNELS.items()}
    torch_names = [name for name in ordered if _OF_PYTORCH.search(name)]
    kernel_names[ProgramKind.PYTORCH] = torch_names
    return {
        kind: Sign(", ".join(words[:_ENOUGH]), "names of kernels")
        for kind, words in kernel_names.items()
        if len(words) >= _ENOUGH
    }


_ENOUGH = 2  # kernels that identify a kind


def _kernels_of(kernels: _Kernels, names: Sequence[str]) -> list[str]:
    """Return a product and a chore of the project; empty if any name is of another project."""
    if not all(map(kernels.any_kernel.search, names)):
        return []
    product = _match(kernels.product, names)
    other_names = [name for name in names if name != product]
    chore = _match(kernels.chore, other_names)
    if not (product and chore):
        return []
    return [product, chore]


def _match(pattern: re.Pattern[str], names: Iterable[str]) -> str:
    matching_names = (name for name in names if pattern.search(name))
    return next(matching_names, "")


@dataclass(frozen=True)
class _SampledFrames:
    """The frames of the target's sampled stacks; `submits` marks stacks that reach Metal."""

    functions: pd.Series
    binaries: pd.Series
    submits: pd.Series

    @cached_property
    def signs(self) -> dict[bool, dict[ProgramKind, Sign]]:
        """The kinds that frames show, by whether only stacks that reach Metal count."""
        all_signs: dict[bool, dict[ProgramKind, Sign]] = {True: {}, False: {}}
        for program in LIBRARIES:
            is_library = _find_matches(self.binaries, LIBRARIES[program])
            names = self.binaries.where(is_library)
            is_function = _find_matches(self.functions, FUNCTIONS[program])
            names = names.fillna(self.functions.where(is_function))
            kinds_of_place = ((True, _SUBMITTING), (False, _SAMPLED))
            for must_submit, place in kinds_of_place:
                chosen_names = names[self.submits] if must_submit else names
                words = chosen_names.dropna()
                if not words.empty:
                    first_word = str(words.iloc[0])
                    all_signs[must_submit][program] = Sign(first_word, place)
        return all_signs


_SUBMITTING = "sampled stacks that reach Metal"
_SAMPLED = "sampled stacks"


def _find_matches(words: pd.Series, pattern: re.Pattern[str]) -> pd.Series:
    """Return which words the pattern matches; each distinct word is searched once."""
    codes, distinct = pd.factorize(words)
    matches = [bool(pattern.search(word)) for word in distinct]
    is_match = np.array(matches, dtype=bool)
    return pd.Series(is_match[codes], index=words.index, dtype=bool)


def _frames_of(samples: pd.DataFrame | None, frames: pd.DataFrame | None) -> _SampledFrames:
    """Return the frames of the target's samples; empty if they were not recorded."""
    if samples is None or frames is None or "binary" not in frames:
        no_names = pd.Series([], dtype=object)
        return _SampledFrames(no_names, no_names, pd.Series([], dtype=bool))
    is_of_target = samples["target"].astype(bool)
    target_stacks = samples.loc[is_of_target, "stack"].dropna().unique()
    target_frames = frames[frames["stack"].isin(target_stacks)]
    functions = target_frames["function"].astype(str)
    binary_paths = target_frames["binary"].fillna("").astype(str)
    binaries = binary_paths.str.rpartition("/")[2]
    reaches_metal = _find_matches(binaries, _TO_METAL)
    uses_metal = _find_matches(functions, _USES_METAL)
    reaches = reaches_metal | uses_metal
    stacks = reaches.groupby(target_frames["stack"])
    return _SampledFrames(functions, binaries, stacks.transform("any"))


def _by_words(
    provenance: Provenance, targets: Targets, launches: pd.DataFrame | None
) -> dict[ProgramKind, Sign]:
    """Return the signs in names, paths and arguments; a sign repeats only the matching word."""
    pids = {target.pid for target in targets}
    names = [target.name for target in targets if target.name]
    lines = [provenance.command]
    if launches is not None:
        target_launches = launches[launches["pid"].isin(pids)]
        launch_paths = target_launches["path"].dropna()
        names += [PurePosixPath(path).name for path in launch_paths]
        launch_arguments = target_launches["arguments"].dropna()
        lines += [tuple(line.split()) for line in launch_arguments]
    signs = _look_for(PROCESSES, names, "name of the process")
    if any(map(_WRAPPERS.search, names)):
        words = [word for line in lines for word in _run_by(line)]
        signs = _look_for(_ARGUMENTS, words, "arguments of the process") | signs
    return signs


def _look_for(
    patterns: Mapping[ProgramKind, re.Pattern[str]], words: Sequence[str], place: str
) -> dict[ProgramKind, Sign]:
    """Return a sign for each kind that a word identifies."""
    matches = {kind: _match(pattern, words) for kind, pattern in patterns.items()}
    return {kind: Sign(word, place) for kind, word in matches.items() if word}


def _run_by(line: Sequence[str]) -> list[str]:
    """Return the program that a command line runs: its module, its first file, its engine."""
    modules = [word for flag, word in pairwise(line) if flag == "-m"]
    files = [PurePosixPath(word).name for word in line if not word.startswith("-")]
    run_files = [name for name in files if not _STARTERS.search(name)]
    engines = [word for word in line if word.endswith("-engine")]
    return [*modules, *run_files[:1], *engines]


def _by_loads(library_loads: pd.DataFrame | None) -> dict[ProgramKind, Sign]:
    if library_loads is None:
        return {}
    is_of_target = library_loads["target"].astype(bool)
    target_paths = library_loads.loc[is_of_target, "path"].dropna().unique()
    names = [PurePosixPath(str(path)).name for path in target_paths]
    return _look_for(LIBRARIES, names, "loaded libraries")


def _channels(device: Device | None) -> dict[str, int]:
    """Return the device time of each channel of the target, in ns, by its name in lower case."""
    if device is None or "channel" not in device.target_intervals:
        return {}
    durations = device.target_intervals["duration"]
    channels = device.target_intervals["channel"]
    sums = durations.groupby(channels, observed=True).sum()
    return {str(name).lower(): int(time) for name, time in sums.items()}


def _drawn(channels: Mapping[str, int]) -> float:
    """Return the share of the target's device time that went into drawing."""
    drawing_times = [time for name, time in channels.items() if name in _DRAWS]
    drawing = sum(drawing_times)
    return drawing / max(sum(channels.values()), 1)


def _by_channels(channels: Mapping[str, int], presents: int, *, on_the_host: bool) -> Recognition:
    if not channels:
        return Recognition(ProgramKind.UNKNOWN, reason=_NO_WORK)
    if on_the_host:
        return Recognition(ProgramKind.UNKNOWN, reason=_ON_A_CPU)
    place = "channels of the device"
    drawn = _drawn(channels)
    drawing = Sign(f"{units.percent(drawn)} vertex and fragment", place)
    present_signs = ()
    if presents:
        present_signs = (Sign(f"{presents:,} presents", "presented drawables"),)
    if drawn >= _MOST or (presents and drawn >= _SOME):
        return Recognition(ProgramKind.GRAPHICS, (drawing, *present_signs))
    if not presents and channels.keys() <= _COMPUTES:
        channel_words = ", ".join(sorted(channels))
        return Recognition(ProgramKind.COMPUTE, (Sign(channel_words, place),))
    return Recognition(ProgramKind.UNKNOWN, (drawing, *present_signs), _MIXED)


_NO_WORK = (
    "which kind of program the target is, is not known, because no work of it was recorded and "
    "neither its name nor samples of its threads tell."
)
_ON_A_CPU = (
    "which kind of program the target is, is not known, because a CPU did the work, on which "
    "all kinds look alike."
)
_MIXED = (
    "which kind of program the target is, is not known, because it computes and draws, and "
    "neither takes most of its time."
)
