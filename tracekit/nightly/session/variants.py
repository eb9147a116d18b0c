"""The two variants of a capture: code, work, interpreter, environment and folder of each."""

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
    Repository,
    Worktree,
    checked_out,
    commit_of,
    repository,
)
from tracekit.record import own_environment
from tracekit.workload import find, protocol

_SHORT = 7  # digits of a commit, as git shows them


@dataclass(frozen=True)
class CodeVariant:
    """One side of a measurement: the work, its interpreter, and the whole environment.

    `workloads` is None for the workloads of the variant's own tracekit. `commit` ends in -dirty if
    tracked files were changed, and is empty outside of a repository. `difference` describes the
    differences from the candidate, as far as the plan states them. `argv` is the command line of a
    program in place of a workload, relative to `cwd`.
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
        """The command line; if the program is given by a path, with its whole path."""
        program, *arguments = self.argv
        if os.sep in program:
            expanded = Path(program).expanduser()
            program = str(self.cwd / expanded)
        return (program, *arguments)

    def describe_program(self) -> Described:
        """Return the description of a program."""
        line = shlex.join(self.argv)
        words = ", ".join(self.difference) or line
        return Described(self.workload, {"program": line}, commit=self.commit, words=words)

    def describe_workload(self, hello: protocol.Hello) -> Described:
        """Return the description of a workload, with facts from its interpreter's `hello`."""
        words = list(self.difference)
        if self.role == "reference" and self.python != Path(sys.executable):
            mlx = f"with MLX {hello.mlx}" if hello.mlx else "without MLX"
            words.append(f"Python {hello.python} {mlx}")
        if not words:
            words.append(work_words(self.workload, self.parameters))
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

    If the reference is a revision, the same folders of the repository precede all modules.
    """
    home = plan.file.resolve().parent
    if not capture.program:
        with allow_imports(capture.reference, home):
            workload = find(capture.workload, capture.workloads)
            workload.bind(capture.parameters)
    env = own_environment({})
    reference = capture.reference
    if reference is not None and reference.has_commit:
        top = repository(home).top
        env = _with_modules(env, top, reference.pythonpath)
    workloads = capture.workloads and capture.workloads.resolve()
    parameters = dict(capture.parameters)
    commit = git_commit(home)
    return CodeVariant(
        role="candidate",
        workload=capture.workload,
        workloads=workloads,
        parameters=parameters,
        python=Path(sys.executable),
        env=env,
        cwd=home,
        commit=commit,
        argv=capture.program,
    )


@contextmanager
def reference_of(
    capture: Capture, plan: NightPlan, candidate: CodeVariant, bounds: Bounds
) -> Generator[CodeVariant | None]:
    """Yield the reference, None without one; its revision stays checked out until the end."""
    reference = capture.reference
    if reference is None:
        yield None
    elif reference.has_commit:
        plan_repository = repository(candidate.cwd)
        commit = commit_of(reference, plan_repository)
        worktree = Worktree(plan_repository, commit, reference.setup)
        with checked_out(worktree, bounds) as folder:
            yield _build_worktree_reference(capture, reference, candidate, worktree, folder)
    else:
        python = candidate.python
        if reference.python is not None:
            plan_folder = plan.file.resolve().parent
            python = interpreter(reference.python, plan_folder)
        yield _reference(capture, reference, candidate, python)


def _build_worktree_reference(
    capture: Capture, reference: Reference, candidate: CodeVariant, worktree: Worktree, folder: Path
) -> CodeVariant:
    """Return the reference in the work tree of its revision."""
    plan_repository = worktree.repository
    python = candidate.python
    if reference.python:
        python = interpreter(reference.python, folder)
    workloads = _find_workloads(reference, candidate, plan_repository, folder)
    variant = _reference(capture, reference, candidate, python)
    env = _with_modules(variant.env, folder, reference.pythonpath, without=plan_repository.top)
    cwd = folder
    home = plan_repository.find_relative_path(candidate.cwd)
    if home and (folder / home).is_dir():
        cwd = folder / home
    revision_words = _describe_revision(reference, worktree.commit)
    difference = (revision_words, *variant.difference)
    return replace(
        variant,
        workloads=workloads,
        env=env,
        cwd=cwd,
        commit=worktree.commit,
        difference=difference,
    )


def _find_workloads(
    reference: Reference, candidate: CodeVariant, plan_repository: Repository, folder: Path
) -> Path | None:
    """Return the candidate's folder of workloads, in the work tree if the repository has it."""
    workloads = candidate.workloads
    if workloads is None:
        return None
    relative_path = plan_repository.find_relative_path(workloads)
    if relative_path is None:
        return workloads
    workloads = folder / relative_path
    if not workloads.is_dir():
        raise UsageError(
            f"The {reference.words} has no folder {workloads.name} of workloads.",
            hint="Give a revision that has it, or keep the workloads outside of the repository.",
        )
    return workloads


def _describe_revision(reference: Reference, commit: str) -> str:
    """Return the words of a reference with its short commit, which they name only once."""
    short_commit = commit[:_SHORT]
    if reference.revision and commit.startswith(reference.revision):
        return f"{reference.words.removesuffix(reference.revision)}{short_commit}"
    return f"{reference.words} ({short_commit})"


def _reference(
    capture: Capture, reference: Reference, candidate: CodeVariant, python: Path
) -> CodeVariant:
    """Return the reference with the candidate's code, except for its interpreter."""
    if candidate.argv:
        return _build_program_reference(reference, candidate)
    is_here = python == candidate.python and not reference.has_commit
    workload = reference.workload or capture.workload
    difference: list[str] = []
    if workload != capture.workload:
        difference.append(workload)
    for key, value in reference.parameters.items():
        difference.append(f"{key} {value}")
    if workload != capture.workload or is_here:
        parameters = _parameters(workload, capture, reference, strict=is_here)
    else:
        parameters = dict(capture.parameters) | reference.parameters
    env = dict(candidate.env)
    if python != candidate.python:
        for name in OF_ANOTHER:
            env.pop(name, None)
    return replace(
        candidate,
        role="reference",
        workload=workload,
        parameters=parameters,
        python=python,
        env=env,
        difference=tuple(difference),
    )


def _build_program_reference(reference: Reference, candidate: CodeVariant) -> CodeVariant:
    """Return the reference of a program: another command line, or the candidate's."""
    if not reference.program:
        return replace(candidate, role="reference", difference=())
    difference = (shlex.join(reference.program),)
    return replace(candidate, role="reference", argv=reference.program, difference=difference)


def _parameters(
    name: str, capture: Capture, reference: Reference, *, strict: bool
) -> dict[str, Any]:
    """Return those of the candidate's parameters that the workload has, and the reference's.

    Another interpreter or revision may know the workload better than this one: unless `strict`,
    nothing is refused here.
    """
    try:
        workload = find(name, capture.workloads)
    except TracekitError:
        if strict:
            raise
        return reference.parameters
    known_names = workload.parameters
    shared = {key: value for key, value in capture.parameters.items() if key in known_names}
    parameters = shared | reference.parameters
    if strict:
        workload.bind(parameters)
    return parameters


def interpreter(python: Path, home: Path) -> Path:
    """Return the path of an interpreter; links are kept, because environments consist of them."""
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
    """Put folders of a work tree first in the search for modules, and leave out those `without`."""
    module_paths = [str((top / folder).resolve()) for folder in folders]
    for part in env.get("PYTHONPATH", "").split(os.pathsep):
        if not part:
            continue
        if without is None or not Path(part).resolve().is_relative_to(without):
            module_paths.append(part)
    unique_paths = dict.fromkeys(module_paths)
    return {**env, "PYTHONPATH": os.pathsep.join(unique_paths)}


def work_words(workload: str, parameters: Mapping[str, Any]) -> str:
    """Return a workload and its parameters in words."""
    words = [workload]
    words += [f"{key} {value}" for key, value in parameters.items()]
    return ", ".join(words)
