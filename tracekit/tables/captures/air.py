"""AIR, the bitcode of a Metal function: facts about a kernel that no other part of a bundle has.

These are its arguments with their names, the threadgroup memory that it declares, its barriers, and
the number of these that are in loops.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.captures.module import AirModule, measure_type, read_body, read_module

_THREADGROUP = 3  # the address space
_BARRIER = "air.wg.barrier"
_DEEPEST = 64  # calls within calls


@dataclass(frozen=True)
class AirArgument:
    """An argument of a kernel as AIR declares it; None and "" are not declared.

    `kind` is that of AIR without its prefix: buffer, texture, thread_position_in_grid. `access` is
    read, write or read_write. Sizes are bytes.
    """

    kind: str
    name: str = ""
    index: int | None = None
    access: str = ""
    address_space: int | None = None
    size: int | None = None
    alignment: int | None = None
    type_name: str = ""
    is_used: bool = True


@dataclass(frozen=True)
class AirFunction:
    """A kernel as its AIR describes it.

    `threadgroup_memory` is the sum of all declared threadgroup memory in bytes. `barriers` counts
    the calls of the threadgroup barrier, in called functions too, and `loop_barriers` those of them
    in a loop: both in the code, not in its execution. `constants` are the names of its function
    constants.
    """

    name: str
    threadgroup_memory: int
    barriers: int
    loop_barriers: int
    arguments: tuple[AirArgument, ...]
    constants: tuple[str, ...]


def read_air(content: bytes, name: str) -> AirFunction:
    """Return the facts about a kernel of a bitcode module; raise ArchiveError if it is damaged."""
    module = read_module(content)
    try:
        return _describe_function(module, name)
    except (LookupError, RecursionError, ZeroDivisionError) as error:
        raise ArchiveError("has bitcode of an unknown form") from error


_KERNELS = "air.kernel"
_PREFIX = "air."
_FUNCTION_CONSTANT = "air.function_constant"
_ACCESSES = {"air.read": "read", "air.write": "write", "air.read_write": "read_write"}
_UNUSED = "air.arg_unused"


def _describe_function(module: AirModule, name: str) -> AirFunction:
    for number in module.node_lists.get(_KERNELS, ()):
        operands = module.list_operands(number)
        if len(operands) < 3:  # noqa: PLR2004  function, results, arguments
            continue
        function = module.find_value(operands[0])
        if function is None or module.values[function].name != name:
            continue
        barriers, loop_barriers = _BarrierCounter(module).count(function)
        return AirFunction(
            name,
            _sum_threadgroup_memory(module),
            barriers,
            loop_barriers,
            tuple(_list_arguments(module, operands[2])),
            tuple(_list_constants(module)),
        )
    raise ArchiveError(f"has bitcode without the kernel {name}")


def _sum_threadgroup_memory(module: AirModule) -> int:
    total = 0
    for value in module.values:
        if value.address_space == _THREADGROUP:
            size, _ = measure_type(module.types, value.type)
            total += size
    return total


def _list_arguments(module: AirModule, number: int | None) -> Iterator[AirArgument]:
    if number is None:
        return
    for argument in module.list_operands(number):
        if argument is None:
            continue
        operands = module.list_operands(argument)
        words = [module.resolve(operand) for operand in operands]
        kind = ""
        for word in words:
            if isinstance(word, str):
                kind = word
                break
        facts = _pair_words(words)
        yield AirArgument(
            kind=kind.removeprefix(_PREFIX),
            name=_as_text(facts.get("air.arg_name")),
            index=_as_integer(facts.get("air.location_index")),
            access=_find_access(words),
            address_space=_as_integer(facts.get("air.address_space")),
            size=_as_integer(facts.get("air.arg_type_size")),
            alignment=_as_integer(facts.get("air.arg_type_align_size")),
            type_name=_as_text(facts.get("air.arg_type_name")),
            is_used=_UNUSED not in words,
        )


def _pair_words(words: Sequence[str | int | None]) -> dict[str, str | int | None]:
    """Return each key of AIR with the word after it; a key without a value has another key."""
    facts: dict[str, str | int | None] = {}
    for place, word in enumerate(words[:-1]):
        if isinstance(word, str) and word.startswith(_PREFIX):
            facts.setdefault(word, words[place + 1])
    return facts


def _find_access(words: Sequence[str | int | None]) -> str:
    for word in words:
        if isinstance(word, str) and word in _ACCESSES:
            return _ACCESSES[word]
    return ""


def _list_constants(module: AirModule) -> Iterator[str]:
    """Yield the names of function constants: nodes with the word for them, and a name."""
    for number in range(len(module.metadata)):
        operands = module.list_operands(number)
        words = [module.resolve(operand) for operand in operands]
        if _FUNCTION_CONSTANT in words:
            facts: Mapping[str, str | int | None] = _pair_words(words)
            yield _as_text(facts.get("air.arg_name")) or "(without a name)"


def _as_text(word: str | int | None) -> str:
    return word if isinstance(word, str) else ""


def _as_integer(word: str | int | None) -> int | None:
    return word if isinstance(word, int) else None


def _find_loop_blocks(successors: Sequence[Sequence[int]]) -> set[int]:
    """Return the basic blocks that can be reached from themselves.

    These are the members of strongly connected components with an edge inside.
    """
    order = _list_finish_order(successors)
    predecessors: list[list[int]] = [[] for _ in successors]
    for block, targets in enumerate(successors):
        for target in targets:
            if target < len(successors):
                predecessors[target].append(block)
    visited: set[int] = set()
    loop_blocks: set[int] = set()
    for root in reversed(order):
        if root in visited:
            continue
        component = _collect(root, predecessors, visited)
        is_loop = len(component) > 1 or root in successors[root]
        if is_loop:
            loop_blocks.update(component)
    return loop_blocks


def _list_finish_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return the blocks in the order in which a depth-first search finishes them."""
    order: list[int] = []
    visited: set[int] = set()
    for root in range(len(successors)):
        if root in visited:
            continue
        visited.add(root)
        stack = [(root, iter(successors[root]))]
        while stack:
            block, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                order.append(block)
                stack.pop()
            elif target < len(successors) and target not in visited:
                visited.add(target)
                stack.append((target, iter(successors[target])))
    return order


def _collect(root: int, edges: Sequence[Sequence[int]], visited: set[int]) -> list[int]:
    component: list[int] = []
    pending = [root]
    visited.add(root)
    while pending:
        block = pending.pop()
        component.append(block)
        for target in edges[block]:
            if target not in visited:
                visited.add(target)
                pending.append(target)
    return component


@dataclass(slots=True)
class _BarrierCounter:
    """Counts the barriers of functions and of those that they call, each function once."""

    module: AirModule
    counts: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    def count(self, function: int, depth: int = 0) -> tuple[int, int]:
        """Return the number of barriers of a function, and of those in loops."""
        if function in self.counts:
            return self.counts[function]
        if depth > _DEEPEST or function not in self.module.bodies:
            return 0, 0
        self.counts[function] = (0, 0)  # of a function that calls itself
        body = read_body(self.module, function)
        loop_blocks = _find_loop_blocks(body.successors)
        barriers = 0
        loop_barriers = 0
        for block, callee in body.calls:
            if self.module.values[callee].name == _BARRIER:
                inner = 1
                inner_loops = 0
            else:
                inner, inner_loops = self.count(callee, depth + 1)
            if block in loop_blocks:
                inner_loops = inner
            barriers += inner
            loop_barriers += inner_loops
        self.counts[function] = (barriers, loop_barriers)
        return barriers, loop_barriers
