"""Finds loops of tests whose failures do not say which row failed, by what pytest shows of them.

pytest shows the values of names, attributes, calls' arguments and operands of an assertion, and of
anything else (a subscript, a comprehension, a comparison in a tuple) its value alone.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_PLAIN = {"bool", "int", "len", "list", "set", "sorted", "str", "tuple"}
_READABLE = {"str", "repr", "Path", "list", "tuple", "dict", "set", "sorted"}
Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(frozen=True)
class Unnamed:
    """An assertion in a loop, by its line, that shows too little of the loop's row."""

    test: str
    line: int
    loop: str

    def __str__(self) -> str:
        return f"{self.line} {self.test}: for {self.loop}"


def unnamed_rows(module: ast.Module) -> Iterator[Unnamed]:
    """Yield the assertions of a module's tests in which a failing row is not named."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from _in_body(node.name, node.body, _Place())


@dataclass(frozen=True)
class _Place:
    """Where a statement is: its loops, what comes from their rows, the names that are told."""

    loops: tuple[ast.For, ...] = ()
    derived: tuple[tuple[str, Names], ...] = ()
    told_names: Names = _NONE

    def sources(self, names: Names) -> Names:
        """Return these names, each as those of which it was made."""
        derived = dict(self.derived)
        return _NONE.union(*(derived.get(name, {name}) for name in names))


def _in_body(test: str, body: list[ast.stmt], place: _Place) -> Iterator[Unnamed]:
    for statement in body:
        match statement:
            case ast.Assert():
                yield from _find_unnamed(test, statement, place)
            case ast.For():
                inner = _Place((*place.loops, statement), place.derived, place.told_names)
                yield from _in_body(test, statement.body, inner)
            case ast.With():
                yield from _in_body(test, statement.body, _add_told_names(statement, place))
            case ast.If() | ast.While() | ast.Try():
                for part in _bodies(statement):
                    yield from _in_body(test, part, place)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if place.loops:
                made_of = place.sources(_readable(value))
                kept_sources = tuple(entry for entry in place.derived if entry[0] != name)
                place = _Place(place.loops, (*kept_sources, (name, made_of)), place.told_names)
            case _:
                pass


def _bodies(statement: ast.If | ast.While | ast.Try) -> Iterator[list[ast.stmt]]:
    yield statement.body
    yield statement.orelse
    if isinstance(statement, ast.Try):
        yield statement.finalbody
        yield from (handler.body for handler in statement.handlers)


def _add_told_names(statement: ast.With, place: _Place) -> _Place:
    """Add what `subtests.test(...)` is given to what is told of a row."""
    names = _NONE
    for item in statement.items:
        match item.context_expr:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="subtests"))) as call:
                names |= _all_names(call)
            case _:
                pass
    return _Place(place.loops, place.derived, place.told_names | place.sources(names))


def _find_unnamed(test: str, statement: ast.Assert, place: _Place) -> Iterator[Unnamed]:
    message = _NONE if statement.msg is None else _all_names(statement.msg)
    told_names = place.told_names | place.sources(message)
    shown_names = told_names | place.sources(_find_shown_names(statement.test))
    for loop in place.loops:
        if not _is_row_named(loop, told_names, shown_names):
            yield Unnamed(test, statement.lineno, ast.unparse(loop.target))


def _is_row_named(loop: ast.For, told_names: Names, shown_names: Names) -> bool:
    """Tell whether the names that are shown tell the rows of a loop apart.

    Literal rows are compared; of others that which is told on purpose is believed, else the first
    name is that of the row.
    """
    targets = _leaves(loop.target)
    if set(targets) == {"_"}:
        return True  # what is done again has no row
    shown_indexes = [index for index, name in enumerate(targets) if name in shown_names]
    if not shown_indexes:
        return False
    if isinstance(loop.target, ast.Name):
        return True
    rows = _literal_rows(loop)
    if rows is not None:
        cells = [tuple(row[index] for index in shown_indexes) for row in rows]
        return len(set(cells)) == len(cells)
    first_index = next(index for index, name in enumerate(targets) if name != "_")
    return (
        shown_indexes[0] == first_index
        or len(shown_indexes) > 1
        or not told_names.isdisjoint(targets)
    )


def _leaves(target: ast.expr) -> list[str]:
    """Return the names of a target, in the order of what they take."""
    if isinstance(target, ast.Tuple | ast.List):
        return [name for part in target.elts for name in _leaves(part)]
    return sorted(_all_names(target))


def _literal_rows(loop: ast.For) -> list[list[str]] | None:
    """Return the source of the cells of literal rows; None where the target does not fit them."""
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    if not isinstance(loop.iter, ast.Tuple | ast.List) or not targets:
        return None
    if not all(isinstance(target, ast.Name) for target in targets):
        return None
    rows: list[list[str]] = []
    for row in _elements(loop.iter.elts):
        cells = [*_elements(row.elts)] if isinstance(row, ast.Tuple | ast.List) else []
        if len(cells) != len(targets):
            return None
        rows.append([ast.dump(cell) for cell in cells])
    return rows


def _elements(parts: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the elements of a literal, and those of literals that are unpacked within it."""
    for part in parts:
        match part:
            case ast.Starred(value=ast.Tuple(elts=inner) | ast.List(elts=inner)):
                yield from _elements(inner)
            case _:
                yield part


def _all_names(node: ast.AST) -> Names:
    return frozenset(child.id for child in ast.walk(node) if isinstance(child, ast.Name))


def _find_shown_names(node: ast.expr) -> Names:
    """Return the names of an assertion whose values pytest shows when it fails.

    The arguments of a call within a call are shown too, yet far below and as its long values.
    """
    parts: Iterable[ast.AST]
    match node:
        case ast.BoolOp() | ast.UnaryOp() | ast.BinOp() | ast.Compare():
            parts = ast.iter_child_nodes(node)
        case ast.Attribute(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
            parts = (value,)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _PLAIN:
            parts = arguments
        case ast.Call(func=function, args=arguments, keywords=keywords):
            callee = function.value if isinstance(function, ast.Attribute) else function
            nodes = (callee, *arguments, *(keyword.value for keyword in keywords))
            return _NONE.union(*map(_readable, nodes))
        case _:
            return _readable(node)
    return _NONE.union(*(_find_shown_names(part) for part in parts if isinstance(part, ast.expr)))


def _readable(node: ast.AST) -> Names:
    """Return the names that can be read off the value of an expression."""
    parts: Iterable[ast.AST]
    match node:
        case ast.Name(id=name):
            return frozenset({name})
        case ast.Call(func=ast.Name(id=function), args=arguments) if function in _READABLE:
            parts = arguments
        case ast.Call(func=ast.Attribute(value=value)):
            parts = (value,)
        case ast.Subscript(value=value):
            parts = (value,)
        case (
            ast.Attribute() | ast.Starred() | ast.FormattedValue() | ast.NamedExpr() | ast.BinOp()
            | ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.JoinedStr()
        ):  # fmt: skip
            parts = ast.iter_child_nodes(node)
        case _:
            parts = ()
    return _NONE.union(*(_readable(part) for part in parts))
