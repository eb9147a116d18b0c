"""The two variants of a capture: whose code runs which work, in which interpreter, from where."""

import os
import shlex
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.base import TracekitError, UsageError
from tracekit.machine import git_commit
from tracekit.nightly.history.night import Described
from tracekit.nightly.history.night import Side as Role
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference, allow_imports
from tracekit.nightly.session.program import Bounds
from tracekit.nightly.session.worktree import (
    OF_ANOTHER,
    Worktree,
    checked_out,
    commit_of,
    repository,
)
from tracekit.record import own_environment
from tracekit.workload import Hello, find

_SHORT = 7  # letters of a commit, as git shows them


@dataclass(frozen=True)
class CodeVariant:
    """What is measured on one side: the work, its interpreter, and the whole environment.

    `workloads` is None for those of its own tracekit. `commit` has -dirty where tracked files were
    changed, and is empty outside of a repository. `difference` says in words in what it differs
    from the candidate, as far as the plan says it. `argv` is the command line of a program in place
    of a workload, relative to `cwd`.
    """

    role: Role
    workload: str
    workloads: Path | None
    parameters: Mapping[str, Any]
    python: Path
    env: Mapping[str, str]
    cwd: Path
    commit: str = ""
    difference: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command line with the program's place whole, where it is a path."""
        program, *arguments = self.argv
        place = str(self.cwd / Path(program).expanduser()) if os.sep in program else program
        return (place, *arguments)

    def describe_program(self) -> Described:
        """Say what the program is."""
        line = shlex.join(self.argv)
        words = ", ".join(self.difference) or line
        return Described(self.workload, {"program": line}, commit=self.commit, words=words)

    def describe_workload(self, hello: Hello) -> Described:
        """Say what it is, once its interpreter said what that is."""
        words = self.difference or (work_words(self.workload, self.parameters),)
        if self.role == "reference" and self.python != Path(sys.executable):
            mlx = f" with MLX {hello.mlx}" if hello.mlx else " without MLX"
            words = (*self.difference, f"Python {hello.python}{mlx}")
        return Described(
            workload=self.workload,
            parameters=dict(self.parameters),
            python=hello.python,
            mlx=hello.mlx,
            tracekit=hello.tracekit,
            commit=self.commit,
            words=", ".join(words),
        )


def candidate_of(capture: Capture, plan: NightPlan) -> CodeVariant:
    """Return the candidate: this interpreter, and the files as they are.

    Where the reference is a revision, the same folders of the repository go before all modules.
    """
    home = plan.file.resolve().parent
    if not capture.program:
        with allow_imports(capture.reference, home):
            find(capture.workload, capture.workloads).bind(capture.parameters)
    env = own_environment({})
    reference = capture.reference
    if reference is not None and reference.has_commit:
        env = _with_modules(env, repository(home).top, reference.pythonpath)
    return CodeVariant(
        role="candidate",
        workload=capture.workload,
        workloads=capture.workloads and capture.workloads.resolve(),
        parameters=dict(capture.parameters),
        python=Path(sys.executable),
        env=env,
        cwd=home,
        commit=git_commit(home),
        argv=capture.program,
    )


@contextmanager
def reference_of(
    capture: Capture, plan: NightPlan, candidate: CodeVariant, bounds: Bounds
) -> Generator[CodeVariant | None]:
    """Give the reference, None where a capture has none; its revision stays while it is used."""
    reference = capture.reference
    if reference is None:
        yield None
    elif reference.has_commit:
        plan_repository = repository(candidate.cwd)
        worktree = Worktree(plan_repository, commit_of(reference, plan_repository), reference.setup)
        with checked_out(worktree, bounds) as folder:
            yield _build_worktree_reference(capture, reference, candidate, worktree, folder)
    else:
        python = candidate.python
        if reference.python is not None:
            python = interpreter(reference.python, plan.file.resolve().parent)
        yield _reference(capture, reference, candidate, python)


def _build_worktree_reference(
    capture: Capture, reference: Reference, candidate: CodeVariant, worktree: Worktree, folder: Path
) -> CodeVariant:
    """Return the reference in the work tree of its revision."""
    plan_repository = worktree.repository
    python = interpreter(reference.python, folder) if reference.python else candidate.python
    home = plan_repository.find_relative_path(candidate.cwd)
    workloads = candidate.workloads
    if (
        workloads is not None
        and (relative_path := plan_repository.find_relative_path(workloads)) is not None
    ):
        workloads = folder / relative_path
        if not workloads.is_dir():
            raise UsageError(
                f"The {reference.words} has no folder {workloads.name} of workloads.",
                hint="Give a revision that has it, or keep the workloads outside of the "
                "repository.",
            )
    revision_words = f"{reference.words} ({worktree.commit[:_SHORT]})"
    if reference.revision and worktree.commit.startswith(reference.revision):
        revision_words = (
            f"{reference.words.removesuffix(reference.revision)}{worktree.commit[:_SHORT]}"
        )
    variant = _reference(capture, reference, candidate, python)
    return replace(
        variant,
        workloads=workloads,
        env=_with_modules(variant.env, folder, reference.pythonpath, without=plan_repository.top),
        cwd=folder / home if home and (folder / home).is_dir() else folder,
        commit=worktree.commit,
        difference=(revision_words, *variant.difference),
    )


def _reference(
    capture: Capture, reference: Reference, candidate: CodeVariant, python: Path
) -> CodeVariant:
    if candidate.argv:
        difference = (shlex.join(reference.program),) if reference.program else ()
        argv = reference.program or candidate.argv
        return replace(candidate, role="reference", argv=argv, difference=difference)
    here = python == candidate.python and not reference.has_commit
    name = reference.workload or capture.workload
    parameters = dict(capture.parameters) | reference.parameters
    if name != capture.workload or here:
        parameters = _parameters(name, capture, reference, strict=here)
    work = [name] if name != capture.workload else []
    work += [f"{key} {value}" for key, value in reference.parameters.items()]
    env = candidate.env
    if python != candidate.python:
        env = {name: value for name, value in env.items() if name not in OF_ANOTHER}
    return replace(
        candidate,
        role="reference",
        workload=name,
        parameters=parameters,
        python=python,
        env=env,
        difference=tuple(work),
    )


def _parameters(
    name: str, capture: Capture, reference: Reference, *, strict: bool
) -> dict[str, Any]:
    """Return the candidate's values as far as the workload has such parameters, and its own.

    What another interpreter or revision is to do it may know better than this one: then nothing
    is refused here.
    """
    try:
        workload = find(name, capture.workloads)
    except TracekitError:
        if strict:
            raise
        return reference.parameters
    workload_parameters = workload.parameters
    shared = {key: value for key, value in capture.parameters.items() if key in workload_parameters}
    if strict:
        workload.bind(shared | reference.parameters)
    return shared | reference.parameters


def interpreter(python: Path, home: Path) -> Path:
    """Return where an interpreter is; links are kept, for one in an environment is a link."""
    place = home / python.expanduser()
    if not (place.is_file() and os.access(place, os.X_OK)):
        raise UsageError(
            f"There is no interpreter {place} that can be run.",
            hint="`python` of a reference names one that has tracekit, such as .venv/bin/python; "
            "a `setup` can make one in the work tree of a revision.",
        )
    return place


def _with_modules(
    env: Mapping[str, str], top: Path, folders: tuple[str, ...], without: Path | None = None
) -> dict[str, str]:
    """Let folders of a work tree be searched for modules first, and none of the one `without`."""
    module_paths = [str((top / folder).resolve()) for folder in folders]
    inherited_paths = [part for part in env.get("PYTHONPATH", "").split(os.pathsep) if part]
    if without is not None:
        inherited_paths = [
            part for part in inherited_paths if not Path(part).resolve().is_relative_to(without)
        ]
    return {**env, "PYTHONPATH": os.pathsep.join(dict.fromkeys([*module_paths, *inherited_paths]))}


def work_words(workload: str, parameters: Mapping[str, Any]) -> str:
    """Return a workload and its parameters in words."""
    return ", ".join([workload, *(f"{key} {value}" for key, value in parameters.items())])
