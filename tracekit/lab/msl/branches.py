"""Note the ways of lanes at branches, in LLVM's text of a kernel.

clang writes the kernel without optimizing it, so that each `if`, loop, `?:`, `&&`, `||` and
`switch` of its text is a branch. Calls are added that report the way that a lane takes, and the
block at which all ways join: the nearest one that each of them comes to. `shim/branches.hpp` counts
the branches at which lanes of one simdgroup part.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_KERNEL_FILE = "0.metal"  # the name of the text in `compile.unit`
_LABEL = re.compile(r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[\w.$-]+)):')
_TARGET = re.compile(r'\blabel %(?:"([^"]*)"|([\w.$-]+))')
_ENDS = re.compile(r"\s+(?:br|switch|ret|unreachable|resume|indirectbr)\b|.*\binvoke\b")
_PHI = re.compile(r"\s*%\S+ = (?:phi|landingpad)\b|\s*cleanup$")
_BRANCH = re.compile(r"\s+br i1 (?P<condition>[^,]+), .*!dbg (?P<place>!\d+)")
_SWITCH = re.compile(
    r"\s+switch (?P<type>i\d+) (?P<value>[^,]+), .*!dbg (?P<place>!\d+)", re.DOTALL
)
_CASE = re.compile(r'\bi\d+ (-?\d+), label %(?:"([^"]*)"|([\w.$-]+))')
_ARTIFICIAL = re.compile(r"%(?:guard\.uninitialized|cleanup\.dest)")
_SCOPE = re.compile(r"^(!\d+) = .*!DILocation\(.*\bscope: (!\d+)", re.MULTILINE)
_FILE_OF_SCOPE = re.compile(
    r"^(!\d+) = .*!DI(?:LexicalBlock(?:File)?|Subprogram)\(.*\bfile: (!\d+)", re.MULTILINE
)
_FILE = re.compile(r'^(!\d+) = !DIFile\(filename: "([^"]*)"', re.MULTILINE)
_DECLARED = (
    "declare void @tracekit_branch(i32, i32, i32, i64)",
    "declare void @tracekit_join(i32, i32)",
    "declare void @tracekit_leave(i32)",
)
_EXIT = -1


@dataclass
class _CodeBlock:
    """A basic block: its label, the lines before its last instruction, and that."""

    label: str
    lines: list[str] = field(default_factory=list[str])
    end: str = ""

    def targets(self) -> list[str]:
        """Return the labels of the blocks that may follow."""
        return [quoted or plain for quoted, plain in _TARGET.findall(self.end)]


def add_notes(text: str) -> str:
    """Return a module of LLVM's text that reports the ways of lanes at branches of the kernel."""
    places = _find_kernel_places(text)
    lines: list[str] = []
    body: list[str] = []
    function = 0
    is_body = False
    for line in text.split("\n"):
        if not is_body:
            lines.append(line)
            is_body = line.startswith("define ")
            continue
        if line != "}":
            body.append(line)
            continue
        function += 1
        lines += _note_function(body, function, places)
        lines.append(line)
        body = []
        is_body = False
    return "\n".join((*lines, *_DECLARED, ""))


def _find_kernel_places(text: str) -> frozenset[str]:
    """Return the names of the debug locations that lie in the text of the kernel."""
    files = dict(_FILE.findall(text))
    scopes: dict[str, str] = {}
    for scope, file in _FILE_OF_SCOPE.findall(text):
        scopes[scope] = files.get(file, "")
    places: set[str] = set()
    for place, scope in _SCOPE.findall(text):
        if scopes.get(scope, "").endswith(_KERNEL_FILE):
            places.add(place)
    return frozenset(places)


def _note_function(body: Sequence[str], function: int, places: frozenset[str]) -> Iterator[str]:
    blocks = _read_blocks(body)
    numbers = {block.label: number for number, block in enumerate(blocks)}
    ways = {number: _find_ways(block, places) for number, block in enumerate(blocks)}
    if not any(ways.values()):
        yield from body
        return
    successors = [[numbers[label] for label in block.targets()] for block in blocks]
    joins = find_joins(successors)
    for number, block in enumerate(blocks):
        head = 0
        while head < len(block.lines) and (not head or _PHI.match(block.lines[head])):
            head += 1
        yield from block.lines[:head]
        yield f"  call void @tracekit_join(i32 {function}, i32 {number})"
        yield from block.lines[head:]
        name = f"%tracekit.way.{function}.{number}"
        lines, way = ways[number] or ([], "")
        for line in lines:
            yield line.replace(_NAME, name)
        if way:
            arguments = f"i32 {function}, i32 {number}, i32 {joins[number]}"
            yield f"  call void @tracekit_branch({arguments}, i64 {way.replace(_NAME, name)})"
        if block.end.lstrip().startswith("ret "):
            yield f"  call void @tracekit_leave(i32 {function})"
        yield block.end


def _read_blocks(body: Sequence[str]) -> list[_CodeBlock]:
    blocks: list[_CodeBlock] = []
    is_ended = False
    for line in body:
        match = _LABEL.match(line)
        if match is not None:
            blocks.append(_CodeBlock(match["quoted"] or match["plain"], [line]))
            is_ended = False
        elif not blocks or not line.strip():
            continue
        elif is_ended:
            blocks[-1].end += f"\n{line}"
        elif _ENDS.match(line):
            blocks[-1].end = line
            is_ended = True
        else:
            blocks[-1].lines.append(line)
    return blocks


_NAME = "%NAME"
_Ways = tuple[list[str], str]


def _find_ways(block: _CodeBlock, places: frozenset[str]) -> _Ways | None:
    """Return the lines that compute the number of the way out of a block, and their result.

    None if there is one way, or if the branch is not of the kernel's text.
    """
    match = _BRANCH.match(block.end)
    if match is not None and match["place"] in places:
        if _ARTIFICIAL.match(match["condition"]):
            return None
        return [f"  {_NAME} = zext i1 {match['condition']} to i64"], _NAME
    match = _SWITCH.match(block.end)
    if match is None or match["place"] not in places or _ARTIFICIAL.match(match["value"]):
        return None
    targets = block.targets()
    lines: list[str] = []
    way = "0"  # the default is the first target
    for number, (value, quoted, plain) in enumerate(_CASE.findall(block.end)):
        test = f"{_NAME}.{number}.is"
        lines.append(f"  {test} = icmp eq {match['type']} {match['value']}, {value}")
        target = targets.index(quoted or plain)
        lines.append(f"  {_NAME}.{number} = select i1 {test}, i64 {target}, i64 {way}")
        way = f"{_NAME}.{number}"
    return lines, way


def find_joins(successors: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """Return the block at which all ways out of each block join: its immediate postdominator.

    Blocks are numbered, `successors` has those that may follow each; -1 is the end of the function,
    and the join of blocks from which no way leads there.
    """
    predecessors: dict[int, list[int]] = {_EXIT: []}
    for number, followers in enumerate(successors):
        for follower in followers or (_EXIT,):
            predecessors.setdefault(follower, []).append(number)
    order = _sort_by_exit(predecessors)
    ranks = {number: rank for rank, number in enumerate(order)}
    joins: dict[int, int] = {_EXIT: _EXIT}
    is_changed = True
    while is_changed:
        is_changed = False
        for number in order[1:]:
            join: int | None = None
            for follower in successors[number] or (_EXIT,):
                if follower in joins:
                    join = follower if join is None else _meet(join, follower, joins, ranks)
            if join is not None and joins.get(number) != join:
                joins[number] = join
                is_changed = True
    return {number: joins.get(number, _EXIT) for number in range(len(successors))}


def _sort_by_exit(predecessors: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the blocks that lead to the exit, each before those that it must be known for."""
    order: list[int] = []
    seen = {_EXIT}
    stack = [(_EXIT, iter(predecessors[_EXIT]))]
    while stack:
        number, rest = stack[-1]
        following = next((entry for entry in rest if entry not in seen), None)
        if following is None:
            order.append(number)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(predecessors.get(following, ()))))
    order.reverse()
    return order


def _meet(first: int, second: int, joins: Mapping[int, int], ranks: Mapping[int, int]) -> int:
    """Return the nearest block that both blocks lead to on every way."""
    while first != second:
        while ranks[first] > ranks[second]:
            first = joins[first]
        while ranks[second] > ranks[first]:
            second = joins[second]
    return first
