"""Which kind of program the target is: public programs by what their recordings hold."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tracekit import pipeline
from tracekit.analysis.given import Given
from tracekit.analysis.program import ProgramKind, Recognition
from tracekit.base import Process, Provenance
from tracekit.run import Run
from typed_rows import frame

PID = 4711


@dataclass(frozen=True)
class Recorded:
    """What a recording holds of a target: all of it literal, none of it ours.

    `work` has (channel, label, milliseconds), `stacks` the (function, binary) of frames, the
    innermost first.
    """

    process: str
    work: Sequence[tuple[str, str, int]] = (("Compute", "Command Buffer 0:Compute Command 0", 5),)
    stacks: Sequence[Sequence[tuple[str, str]]] = ()
    shaders: Sequence[str] = ()
    arguments: str = ""
    path: str = ""
    loads: Sequence[str] = ()
    presents: int = 0
    clock: str = "gpu"

    def tables(self) -> dict[str, pd.DataFrame]:
        target_cells = {"process": self.process, "pid": PID, "target": True, "clock": self.clock}
        other_cells = {"process": "WindowServer", "pid": 420, "target": False, "clock": self.clock}
        strange = [
            {"start": 0, "duration": 9_000_000, "channel": "Fragment", "label": "x"} | other_cells
        ]
        recorded_tables: dict[str, pd.DataFrame] = {
            "gpu_intervals": frame(
                "gpu_intervals",
                [
                    *(
                        {"start": place * 10**7, "duration": ms * 10**6, "channel": channel}
                        | {"label": f"{label}   ( {self.process} ({PID}) )  0x{place:x}"}
                        | target_cells
                        for place, (channel, label, ms) in enumerate(self.work)
                    ),
                    *strange,
                ],
            ),
            "launches": pd.DataFrame(
                [(PID, self.path or None, self.arguments or None)],
                columns=["pid", "path", "arguments"],
            ),
        }
        if self.shaders:
            rows = [{"time": 0, "name": name, **target_cells} for name in self.shaders]
            rows.append({"time": 0, "name": "custom_kernel_other_float", **other_cells})
            recorded_tables["shaders"] = frame("shaders", rows)
        if self.loads:
            rows = [
                {"start": 0, "duration": 1, "path": path, **target_cells} for path in self.loads
            ]
            recorded_tables["library_loads"] = frame("library_loads", rows)
        if self.presents:
            recorded_tables["present_requests"] = frame(
                "present_requests",
                [{"time": place, **target_cells} for place in range(self.presents)],
            )
        if self.stacks:
            samples = [
                {"time": place, "stack": place, **target_cells} for place in range(len(self.stacks))
            ]
            samples.append({"time": 9, "stack": len(self.stacks), **other_cells})
            recorded_tables["cpu_profile"] = frame("cpu_profile", samples)
            strangers = (("mlx::core::eval", "libmlx.dylib"), ("commit", "Metal"))
            recorded_tables["profile_frames"] = pd.DataFrame(
                [
                    (stack, depth, function, binary)
                    for stack, row in enumerate((*self.stacks, strangers))
                    for depth, (function, binary) in enumerate(row)
                ],
                columns=["stack", "depth", "function", "binary"],
            )
        return recorded_tables


def recognize(
    tables: Mapping[str, pd.DataFrame], process: str = "", **provenance_fields: Any
) -> Recognition:
    provenance = Provenance(targets=(Process(PID, process),), **provenance_fields)
    return Given(tables, provenance)["program"]


COMMIT = ("-[_MTLCommandBuffer commit]", "Metal")
WAIT = ("-[_MTLCommandBuffer waitUntilCompleted]", "Metal")
GRAPH = ("-[MPSGraph encodeToCommandBuffer:]", "MetalPerformanceShadersGraph")
PYTHON = ("_PyEval_EvalFrameDefault", "Python")
OF_TORCH = ("at::mps::MPSStream::copy_and_sync(...)", "libtorch_cpu.dylib")
OF_MLX = ("mlx::core::metal::Device::end_encoding(int)", "libmlx.dylib")
OF_GGML = ("ggml_metal_graph_compute", "libggml-metal.dylib")
DRAWING = (("Vertex", "Render Command 0", 3), ("Fragment", "Render Command 0", 9))
MIXED = (("Compute", "Compute Command 0", 90), ("Vertex", "Render", 3), ("Fragment", "Render", 7))

PROGRAMS = {
    # MLX
    "MLX in Python, sampled": (
        Recorded("python3.12", stacks=[(COMMIT, OF_MLX, PYTHON)]),
        (ProgramKind.MLX, "libmlx.dylib", "sampled stacks that reach Metal"),
    ),
    "MLX in Swift, linked statically": (
        Recorded("llm-tool", stacks=[(COMMIT, ("mlx::core::eval_impl(...)", "llm-tool"))]),
        (ProgramKind.MLX, "mlx::core::eval_impl(...)", "sampled stacks that reach Metal"),
    ),
    "MLX with torch for its tokenizer": (
        Recorded(
            "python3.12",
            stacks=[(COMMIT, OF_MLX), (("at::native::add", "libtorch_cpu.dylib"), PYTHON)],
        ),
        (ProgramKind.MLX, "libmlx.dylib", "sampled stacks that reach Metal"),
    ),
    "mlx_lm by its script": (
        Recorded("python3.12", arguments="/opt/env/bin/mlx_lm.generate --model qwen"),
        (ProgramKind.MLX, "mlx_lm.generate", "arguments of the process"),
    ),
    # The census of a decode step that was published of M4 and M5 machines.
    "MLX with custom kernels": (
        Recorded(
            "python3.12",
            shaders=[
                *("rmsbfloat16", "argmax_bfloat16", "gather_frontbfloat16_int32_int_2"),
                "custom_kernel_laguna_residual_rms_bf16_2048_v1_bfloat16_t_bfloat16_t",
                "nvfp4_qmm_t_bfloat16_t_gs_16_b_4_alN_true_batch_0",
            ],
        ),
        (
            ProgramKind.MLX,
            "custom_kernel_laguna_residual_rms_bf16_2048_v1_bfloat16_t_bfloat16_t, argmax_bfloat16",
            "names of kernels",
        ),
    ),
    "MLX by a product and a copy": (
        Recorded(
            "Python",
            shaders=["affine_qmv_fast_bfloat16_t_gs_64_b_4_batch_0", "v_copyfloat16float32"],
        ),
        (
            ProgramKind.MLX,
            "affine_qmv_fast_bfloat16_t_gs_64_b_4_batch_0, v_copyfloat16float32",
            "names of kernels",
        ),
    ),
    "MLX by names of all its kinds": (
        Recorded(
            "python3.12",
            shaders=[
                *("steel_gemm_fused_nt_float16_float16_bm64_bn64_bk16_wm2_wn2", "g_n2_copyfloat32"),
                *("gg1_copyfloat16float16", "svn_Multiplyfloat16", "gn2_Addbfloat16"),
                *("carg_block_sort_float32_uint32_bn512_tn4", "merge_mbsort_float32_uint32_bn512"),
                *("row_reduce_looped_1_reduce_sumfloat32", "block_softmax_precise_float16"),
                *("SigmoidMultiplyBA_V_f16_contiguous", "rope_single_freqs_float16"),
                *("searchsorted_float32_left", "v2_copyfloat16float32", "arangeint32"),
            ],
        ),
        (
            ProgramKind.MLX,
            "steel_gemm_fused_nt_float16_float16_bm64_bn64_bk16_wm2_wn2, arangeint32",
            "names of kernels",
        ),
    ),
    "MLX by the libraries it loaded": (
        Recorded("python3.12", loads=["/env/mlx/lib/libmlx.dylib", "/usr/lib/libSystem.B.dylib"]),
        (ProgramKind.MLX, "libmlx.dylib", "loaded libraries"),
    ),
    "a server that is built on MLX": (
        Recorded("omlx-server"),
        (ProgramKind.MLX, "omlx-server", "name of the process"),
    ),
    "vLLM on a Mac": (
        Recorded("python3.12", arguments="/env/bin/vllm serve qwen --max-num-seqs 1"),
        (ProgramKind.MLX, "vllm", "arguments of the process"),
    ),
    "mlx_lm as a module": (
        Recorded("python3.13", arguments="-m mlx_lm.server --model qwen"),
        (ProgramKind.MLX, "mlx_lm.server", "arguments of the process"),
    ),
    "ollama's runner for MLX": (
        Recorded("ollama", arguments="runner --mlx-engine --model qwen --port 50123"),
        (ProgramKind.MLX, "--mlx-engine", "arguments of the process"),
    ),
    # ggml
    "llama-server": (
        Recorded("llama-server"),
        (ProgramKind.GGML, "llama-server", "name of the process"),
    ),
    "llama-bench, by its path": (
        Recorded("bench", path="/opt/homebrew/bin/llama-bench"),
        (ProgramKind.GGML, "llama-bench", "name of the process"),
    ),
    "whisper-cli": (
        Recorded("whisper-cli"),
        (ProgramKind.GGML, "whisper-cli", "name of the process"),
    ),
    "ollama's own engine": (
        Recorded("ollama", arguments="runner --ollama-engine --model x --port 50123"),
        (ProgramKind.GGML, "--ollama-engine", "arguments of the process"),
    ),
    "an app with a llama.framework": (
        Recorded("omni", stacks=[(COMMIT, ("ggml_metal_graph_compute", "omni"))]),
        (ProgramKind.GGML, "ggml_metal_graph_compute", "sampled stacks that reach Metal"),
    ),
    "whisper-cli with an encoder of Core ML": (
        Recorded(
            "whisper-cli",
            stacks=[(COMMIT, OF_GGML), (COMMIT, GRAPH, ("-[MLModel predict]", "CoreML"))],
        ),
        (ProgramKind.GGML, "whisper-cli", "name of the process"),
    ),
    "llama-cpp-python": (
        Recorded("python3.11", stacks=[(COMMIT, OF_GGML, PYTHON)]),
        (ProgramKind.GGML, "libggml-metal.dylib", "sampled stacks that reach Metal"),
    ),
    "ggml with loadable backends": (
        Recorded("node", stacks=[(COMMIT, ("ggml_metal_graph_compute", "libggml-metal.so"))]),
        (ProgramKind.GGML, "libggml-metal.so", "sampled stacks that reach Metal"),
    ),
    "llama.cpp by a product and a norm": (
        Recorded(
            "chat",
            shaders=[
                *("kernel_mul_mv_q4_K_f32", "kernel_rms_norm_mul_f32", "kernel_swiglu_oai_f32"),
                *("kernel_add_row_c4_fuse_3", "kernel_add_id"),
            ],
        ),
        (ProgramKind.GGML, "kernel_mul_mv_q4_K_f32, kernel_rms_norm_mul_f32", "names of kernels"),
    ),
    # PyTorch, Core ML
    "PyTorch in Python, sampled": (
        Recorded("python3.12", stacks=[(WAIT, OF_TORCH, PYTHON)]),
        (ProgramKind.PYTORCH, "libtorch_cpu.dylib", "sampled stacks that reach Metal"),
    ),
    "PyTorch by two of its kernels": (
        Recorded("python3.12", shaders=["add_dense_half_half", "exp_dense_float_float"]),
        (ProgramKind.PYTORCH, "add_dense_half_half, exp_dense_float_float", "names of kernels"),
    ),
    "Core ML": (
        Recorded("Transcriber", stacks=[(COMMIT, GRAPH, ("-[MLModel predict]", "CoreML"))]),
        (ProgramKind.COREML, "CoreML", "sampled stacks that reach Metal"),
    ),
    # other compute: which library is not known, and need not be
    "Julia's Metal.jl": (
        Recorded("julia", work=(("Compute", "Compute Command 0", 5), ("Blit", "Blit 0", 1))),
        (ProgramKind.COMPUTE, "blit, compute", "channels of the device"),
    ),
    "candle, which copied kernels of both": (
        Recorded(
            "rust-app",
            shaders=[
                *("kernel_mul_mv_q4_K_f32", "sdpa_vector_float16_t_128", "badd_f32"),
                *("copy2d_f16", "gemm_nn_f16_f16_32_32_16_2_2"),
            ],
        ),
        (ProgramKind.COMPUTE, "compute", "channels of the device"),
    ),
    "an engine in Go that loads MLX's kernels, and has its own": (
        Recorded(
            "engine",
            shaders=[
                *("affine_qmv_fast_bfloat16_t_gs_64_b_4_batch_0", "rmsbfloat16"),
                *("vv_Addbfloat16", "sdpa_vector_bfloat16_t_256_256", "lthn_moe_weighted_sum_bf16"),
            ],
        ),
        (ProgramKind.COMPUTE, "compute", "channels of the device"),
    ),
    "a program with a name of MLX's only in its data": (
        Recorded("python3.12", arguments="train.py --corpus mlx_lm"),
        (ProgramKind.COMPUTE, "compute", "channels of the device"),
    ),
    "a graphics library for students, also called mlx": (
        Recorded("mlx_demo"),
        (ProgramKind.COMPUTE, "compute", "channels of the device"),
    ),
    "python3.12, of which nothing is known": (
        Recorded("python3.12"),
        (ProgramKind.COMPUTE, "compute", "channels of the device"),
    ),
    "a wgpu program that computes": (
        Recorded("wgpu-sim", work=(("Compute", "wgpu compute pass", 5),)),
        (ProgramKind.COMPUTE, "compute", "channels of the device"),
    ),
    # graphics
    "a wgpu app": (
        Recorded("wgpu-app", work=DRAWING, presents=60),
        (ProgramKind.GRAPHICS, "100.0 % vertex and fragment", "channels of the device"),
    ),
    "TouchDesigner, with torch in a script": (
        Recorded("TouchDesigner", work=DRAWING, presents=60, stacks=[(WAIT, OF_TORCH)]),
        (ProgramKind.GRAPHICS, "100.0 % vertex and fragment", "channels of the device"),
    ),
    "a photo editor with a model of Core ML": (
        Recorded("Photos", work=DRAWING, stacks=[(COMMIT, ("Espresso::net", "Espresso"))]),
        (ProgramKind.GRAPHICS, "100.0 % vertex and fragment", "channels of the device"),
    ),
    "WindowServer": (
        Recorded("WindowServer", work=DRAWING),
        (ProgramKind.GRAPHICS, "WindowServer", "name of the process"),
    ),
    "a simulator's renderer": (
        Recorded("SimRenderServer", work=DRAWING, presents=30),
        (ProgramKind.GRAPHICS, "100.0 % vertex and fragment", "channels of the device"),
    ),
    "a game that computes for half of its frame": (
        Recorded(
            "game",
            work=(("Compute", "Compute", 6), ("Fragment", "Render", 4)),
            presents=60,
        ),
        (ProgramKind.GRAPHICS, "40.0 % vertex and fragment", "channels of the device"),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_public_programs_are_recognized_by_a_sign_that_is_named(name: str) -> None:
    recorded, (program, word, place) = PROGRAMS[name]
    recognition = recognize(recorded.tables(), recorded.process)
    assert (recognition.kind, recognition.reason) == (program, "")
    assert (recognition.signs[0].word, recognition.signs[0].place) == (word, place)


UNKNOWN = {
    "Blender's Cycles beside its viewport": (
        Recorded("Blender", work=MIXED, presents=30),
        "it computes and draws",
    ),
    "ollama, which has an engine of either kind": (
        Recorded("ollama", work=()),
        "no work of it was recorded",
    ),
    "MLX and PyTorch hand over work in turns": (
        Recorded("python3.12", stacks=[(COMMIT, OF_MLX), (WAIT, OF_TORCH)]),
        "signs disagree: “libmlx.dylib” (sampled stacks that reach Metal) and",
    ),
    "a program on a CPU": (
        Recorded("simulate", work=(("CPU", "step", 5),), clock="host"),
        "a CPU did the work",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_program_that_nothing_tells_is_unknown_with_the_reason(name: str) -> None:
    recorded, reason = UNKNOWN[name]
    recognition = recognize(recorded.tables(), recorded.process)
    assert recognition.kind is ProgramKind.UNKNOWN
    assert reason in recognition.reason


def test_a_torch_that_is_only_loaded_or_computes_on_the_cpu_is_not_a_sign() -> None:
    loaded = Recorded("python3.12", loads=["/env/torch/lib/libtorch_cpu.dylib"])
    assert recognize(loaded.tables()).kind is ProgramKind.COMPUTE
    sampled = Recorded("python3.12", stacks=[(("at::native::add", "libtorch_cpu.dylib"), PYTHON)])
    assert recognize(sampled.tables()).kind is ProgramKind.COMPUTE


def test_a_workload_of_ours_is_of_mlx_whatever_recorded_it() -> None:
    recorded = Recorded("python3.12", work=(("CPU", "step", 5),), clock="host")
    recognition = recognize(recorded.tables(), workload="paged", recorder="host")
    assert recognition.kind is ProgramKind.MLX
    assert recognition.signs[0].word == "paged"


def test_neither_the_name_of_an_import_nor_a_workload_of_the_user_tells() -> None:
    tables = Recorded("probe").tables()
    imported_name = recognize(tables, workload="gpu_baseline", recorder="import")
    assert imported_name.kind is ProgramKind.COMPUTE
    recognition = recognize(tables, workload="simulation", recorder="xctrace", workloads="/mine")
    assert recognition.kind is ProgramKind.COMPUTE


def test_a_recording_without_tables_is_unknown_and_does_not_make_rules_abstain() -> None:
    assert recognize({}).kind is ProgramKind.UNKNOWN


PROBES = "Oichkatzelesfrettschen+steinmarder/src/re/apple/results"
COMPUTES = ProgramKind.COMPUTE
# Written down before any of them was opened: a probe of Metal that only dispatches kernels; of
# the raw tranche, whose program failed, and of recordings of a CPU there is no work.
SETS = {
    "baseline": (f"{PROBES}/tranche1_20260330_204856", "gpu_baseline", COMPUTES),
    "occupancy": (f"{PROBES}/tranche1_20260330_204856", "gpu_occupancy_heavy", COMPUTES),
    "registers": (f"{PROBES}/tranche1_20260330_204856", "gpu_register_pressure", COMPUTES),
    "heavy": (f"{PROBES}/tranche1_20260330_204856", "gpu_threadgroup_heavy", COMPUTES),
    "minimal": (f"{PROBES}/tranche1_20260330_204856", "gpu_threadgroup_minimal", COMPUTES),
    "history": ("Oichkatzelesfrettschen+steinmarder/_history_8227983", "gpu_baseline", COMPUTES),
    "failed": (f"{PROBES}/tranche1_raw_20260330_analysis", "gpu_baseline", ProgramKind.UNKNOWN),
    "compared": (f"{PROBES}/tranche1_raw_20260330_analysis", "gpu_compare", ProgramKind.UNKNOWN),
    "cpu": (f"{PROBES}/tranche1_raw_20260330_analysis", "cpu_time_profiler", ProgramKind.UNKNOWN),
}


def recognize_import(source: Path, folder: Path) -> Recognition:
    (recording,) = pipeline.import_([source], folder)
    return Given(Run(recording).tables, recording.provenance())["program"]


@pytest.mark.corpus
@pytest.mark.parametrize("name", SETS)
def test_real_exports_are_recognized(name: str, corpus: Path, tmp_path: Path) -> None:
    place, prefix, program = SETS[name]
    exports = tmp_path / "exports"
    exports.mkdir()
    for file in (corpus / place).glob(f"*{prefix}*.xml"):
        shutil.copy(file, exports)
    assert recognize_import(exports, tmp_path / "run").kind is program


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("bundle", "program"),
    [("gpu_baseline", ProgramKind.COMPUTE), ("cpu_time_profiler", ProgramKind.UNKNOWN)],
)
def test_real_bundles_are_recognized(
    bundle: str, program: ProgramKind, corpus: Path, tmp_path: Path
) -> None:
    source = next(corpus.rglob(f"{bundle}.trace"))
    assert recognize_import(source, tmp_path / "run").kind is program
