"""A module of LLVM, as far as AIR needs it: types, global values, metadata, and calls.

Only the records for these are read. LLVM keeps their form compatible; a module of another form is
an ArchiveError.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.captures.bitcode import (
    BitcodeBlock,
    BitcodeRecord,
    read_blocks,
    read_strings,
)

_MODULE = 8
_CONSTANTS = 11
_FUNCTION = 12
_METADATA = 15
_TYPES = 17
_STRTAB = 23
_DEEPEST = 64  # types within types
_LARGEST = 1 << 32  # bytes that a type may have


def read_module(content: bytes) -> "AirModule":
    """Read the only module of bitcode; raise ArchiveError if it is damaged or of another form."""
    try:
        return AirModule.of_blocks(read_blocks(content, _is_wanted))
    except (LookupError, RecursionError, ZeroDivisionError) as error:
        raise ArchiveError("has bitcode of an unknown form") from error


def _is_wanted(block_id: int, around: int) -> bool:
    if around in {-1, _MODULE}:
        return block_id in {_MODULE, _CONSTANTS, _FUNCTION, _METADATA, _TYPES, _STRTAB}
    return around == _FUNCTION and block_id == _CONSTANTS


@dataclass(frozen=True, slots=True)
class _AirType:
    code: int
    numbers: Sequence[int]


_NUMENTRY = 1
_VOID = 2
_STRUCT_NAME = 19
_FUNCTION_TYPE = 21
_POINTER = 8
_SIZES = {3: 4, 4: 8, 8: 8, 10: 2, 23: 2, 25: 8}  # floats and pointers
_INTEGER = 7
_ARRAY = 11
_VECTOR = 12
_STRUCTS = {18, 20}


def _read_types(block: BitcodeBlock) -> list[_AirType]:
    return [
        _AirType(record.code, record.numbers)
        for record in block.records()
        if record.code not in {_NUMENTRY, _STRUCT_NAME}
    ]


def measure_type(types: Sequence[_AirType], number: int, depth: int = 0) -> tuple[int, int]:
    """Return the size of a type and its alignment, in bytes."""
    if depth > _DEEPEST:
        raise ArchiveError("has bitcode with types within types")
    chosen_type = types[number]
    numbers = chosen_type.numbers
    if chosen_type.code in _SIZES:
        size = _SIZES[chosen_type.code]
        return size, size
    if chosen_type.code == _INTEGER:
        size = _round_to_power(-(-_require_size(numbers[0]) // 8))
        return size, size
    if chosen_type.code == _ARRAY:
        element_size, alignment = measure_type(types, numbers[1], depth + 1)
        return _require_size(numbers[0] * element_size), alignment
    if chosen_type.code == _VECTOR:
        element_size, _ = measure_type(types, numbers[1], depth + 1)
        size = _round_to_power(_require_size(numbers[0] * element_size))
        return size, size
    if chosen_type.code in _STRUCTS:
        return _measure_struct(types, numbers, depth)
    return 0, 1


def _measure_struct(
    types: Sequence[_AirType], numbers: Sequence[int], depth: int
) -> tuple[int, int]:
    is_packed = bool(numbers[0])
    size = 0
    strictest = 1
    for member in numbers[1:]:
        member_size, alignment = measure_type(types, member, depth + 1)
        if not is_packed:
            size = _round_up(size, alignment)
            strictest = max(strictest, alignment)
        size = _require_size(size + member_size)
    return _round_up(size, strictest), strictest


def _round_to_power(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _require_size(size: int) -> int:
    if size > _LARGEST:
        raise ArchiveError("has bitcode with a type of impossible size")
    return size


# The module: values and metadata


_GLOBAL = 7
_DECLARATION = 8
_ALIASES = {9, 14, 15}
_SETTYPE = 1
_INTEGER_VALUE = 4
_NULL = 2


@dataclass(slots=True)
class _Value:
    """A global value or a constant: its name, its integer, and the body of a function."""

    name: str = ""
    integer: int | None = None
    type: int = 0
    is_function: bool = False
    has_body: bool = False
    address_space: int | None = None


_MetadataNode = tuple[int, list[int]]  # a code, and numbers
_TEXTS = 35
_METADATA_NAME = 4
_NAMED_NODE = 10
_VALUE_NODE = 2
_NODES = {3, 5}
_WITHOUT_ID = {6, 11, 36, 38, 39, 46}


@dataclass(slots=True)
class AirModule:
    """The parts of a module that are read."""

    types: list[_AirType] = field(default_factory=list[_AirType])
    values: list[_Value] = field(default_factory=list[_Value])
    metadata: list[str | _MetadataNode] = field(default_factory=list[str | _MetadataNode])
    node_lists: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    bodies: dict[int, BitcodeBlock] = field(default_factory=dict[int, BitcodeBlock])

    @classmethod
    def of_blocks(cls, blocks: Sequence[BitcodeBlock]) -> "AirModule":
        """Read the only module of the blocks, whose names are in a block of their own."""
        names = b""
        modules: list[BitcodeBlock] = []
        for block in blocks:
            if block.id == _STRTAB:
                for record in block.records():
                    names = record.blob or names
            elif block.id == _MODULE:
                modules.append(block)
        if len(modules) != 1:
            raise ArchiveError("has bitcode without a module")
        module = cls()
        module._read(modules[0], names)
        return module

    def _read(self, block: BitcodeBlock, names: bytes) -> None:
        for types in block.blocks(_TYPES):
            self.types = _read_types(types)
        for member in block.members:
            if isinstance(member, BitcodeRecord):
                self._read_global(member, names)
            elif member.id == _CONSTANTS:
                self.values += _read_constants(member)
            elif member.id == _METADATA:
                self._read_metadata(member)
        self._read_bodies(block)

    def _read_global(self, record: BitcodeRecord, names: bytes) -> None:
        numbers = record.numbers
        if record.code not in {_GLOBAL, _DECLARATION, *_ALIASES}:
            return
        name = names[numbers[0] : numbers[0] + numbers[1]].decode("utf-8", "replace")
        value = _Value(name)
        if record.code == _GLOBAL:
            value.type = numbers[2]
            is_explicit = bool(numbers[3] & 2)
            value.address_space = numbers[3] >> 2
            pointer = self.types[value.type]
            if not is_explicit and pointer.code == _POINTER:
                value.type = pointer.numbers[0]
                value.address_space = pointer.numbers[1]
        elif record.code == _DECLARATION:
            value.type = numbers[2]
            value.is_function = True
            value.has_body = not numbers[4]
        self.values.append(value)

    def _read_bodies(self, block: BitcodeBlock) -> None:
        """Give each function with a body the next block of a body, in their order."""
        bodies = block.blocks(_FUNCTION)
        for number, value in enumerate(self.values):
            if value.is_function and value.has_body:
                body = next(bodies, None)
                if body is not None:
                    self.bodies[number] = body

    def _read_metadata(self, block: BitcodeBlock) -> None:
        name = ""
        for record in block.records():
            if record.code == _TEXTS:
                count = record.numbers[0]
                self.metadata += read_strings(count, record.numbers[1], record.blob)
            elif record.code == _METADATA_NAME:
                name = bytes(number & 0xFF for number in record.numbers).decode("utf-8", "replace")
            elif record.code == _NAMED_NODE:
                self.node_lists[name] = record.numbers
            elif record.code not in _WITHOUT_ID:
                self.metadata.append((record.code, record.numbers))

    def list_operands(self, number: int) -> list[int | None]:
        """Return the metadata that a node lists, by their numbers; none of another kind."""
        node = self.metadata[number]
        if isinstance(node, str) or node[0] not in _NODES:
            return []
        return [operand - 1 if operand else None for operand in node[1]]

    def resolve(self, number: int | None) -> str | int | None:
        """Return a text or an integer of the metadata; None for anything else."""
        if number is not None and isinstance(self.metadata[number], str):
            return str(self.metadata[number])
        value = self.find_value(number)
        return None if value is None else self.values[value].integer

    def find_value(self, number: int | None) -> int | None:
        """Return the number of the value that metadata refer to."""
        if number is None:
            return None
        node = self.metadata[number]
        if isinstance(node, str) or node[0] != _VALUE_NODE:
            return None
        return node[1][1]


def _read_constants(block: BitcodeBlock) -> list[_Value]:
    constants: list[_Value] = []
    for record in block.records():
        if record.code == _SETTYPE:
            continue
        value = _Value()
        if record.code == _INTEGER_VALUE:
            folded = record.numbers[0]
            value.integer = -(folded >> 1) if folded & 1 else folded >> 1
        elif record.code == _NULL:
            value.integer = 0
        constants.append(value)
    return constants


# The body of a function: calls, and the loops that they are in


_ARGUMENT_FLAGS = 1 << 15  # of a call: its type is given
_MATH_FLAGS = 1 << 17
_BRANCH = 11
_SWITCH = 12
_CALL = 34
_TERMINATORS = {10, 11, 12, 13, 15, 31, 39, 48, 49, 52, 57}
_WITHOUT_VALUE = {1, 10, 11, 12, 15, 24, 31, 33, 35, 36, 39, 42, 44, 45, 48, 49, 55, 60} | set(
    range(61, 66)
)


@dataclass(slots=True)
class FunctionBody:
    """The calls of a function, each with its basic block, and the successors of each block."""

    calls: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    successors: list[list[int]] = field(default_factory=list[list[int]])


def read_body(module: AirModule, function: int) -> FunctionBody:
    """Return the calls of a function and its basic blocks, by the number of its value."""
    block = module.bodies[function]
    body = FunctionBody()
    signature = _find_function_type(module, module.values[function].type)
    value_count = len(module.values) + len(signature) - 2
    block_number = 0
    for member in block.members:
        if isinstance(member, BitcodeBlock):
            value_count += len(_read_constants(member))
            continue
        numbers = member.numbers
        has_value = member.code not in _WITHOUT_VALUE
        if member.code == _CALL:
            callee, has_value = _read_call(module, numbers, value_count)
            if callee is not None:
                body.calls.append((block_number, callee))
        if member.code in _TERMINATORS:
            body.successors.append(_list_successors(member))
            block_number += 1
        if has_value:
            value_count += 1
    return body


def _find_function_type(module: AirModule, number: int) -> Sequence[int]:
    """Return the numbers of a function's type: variadic or not, its result, its parameters."""
    chosen_type = module.types[number]
    if chosen_type.code == _POINTER:
        chosen_type = module.types[chosen_type.numbers[0]]
    if chosen_type.code != _FUNCTION_TYPE:
        raise ArchiveError("has bitcode with a function of an unknown type")
    return chosen_type.numbers


def _read_call(
    module: AirModule, numbers: Sequence[int], value_count: int
) -> tuple[int | None, bool]:
    """Return the called global value, None for another one, and whether the call has a value."""
    flags = numbers[1]
    place = 2
    if flags & _MATH_FLAGS:
        place += 1
    if not flags & _ARGUMENT_FLAGS:
        raise ArchiveError("has bitcode of an unknown form")
    signature = _find_function_type(module, numbers[place])
    has_value = module.types[signature[1]].code != _VOID
    callee = value_count - (numbers[place + 1] & 0xFFFFFFFF)
    if 0 <= callee < len(module.values):
        return callee, has_value
    return None, has_value


def _list_successors(record: BitcodeRecord) -> list[int]:
    numbers = record.numbers
    if record.code == _BRANCH:
        return list(numbers[:2])
    if record.code == _SWITCH:
        return [*numbers[2:3], *numbers[4::2]]
    return []
