"""Modules next to a user's file, which only this file imports, as a program does.

Python keeps each module by its name as long as the process lives. Two files in two folders may each
have a `reference.py` next to them, and one that was edited has to be read again.
"""

import importlib
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType


class NeighbourModules:
    """Folders whose modules can be imported in `importing`, and the modules imported from them."""

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        """Take the folders, the first of them first; none is searched twice."""
        folder_names = [str(folder.resolve()) for folder in folders]
        self._folders = list(dict.fromkeys(folder_names))
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def importing(self) -> Generator[None]:
        """Search the folders first in imports; afterwards their modules are hidden.

        They are back when this context is entered once more.
        """
        loaded_names = set(sys.modules)
        importlib.invalidate_caches()  # a module may have been written a moment ago
        sys.modules.update(self._modules)
        sys.path[:0] = self._folders
        try:
            yield
        finally:
            for folder in self._folders:
                with suppress(ValueError):
                    sys.path.remove(folder)
            added = {
                name: module for name, module in sys.modules.items() if name not in loaded_names
            }
            self._modules = {name: added[name] for name in added if self._is_beside(name, added)}
            for name in self._modules:
                del sys.modules[name]

    def _is_beside(self, name: str, added: dict[str, ModuleType]) -> bool:
        """Tell whether a module, or the package that it is in, is directly in one of the folders.

        A folder further down, as one of installed packages, does not count.
        """
        top_module = added.get(name.partition(".")[0])
        file = getattr(top_module, "__file__", None)
        paths = getattr(top_module, "__path__", None)
        if not file:  # a package without `__init__.py` has folders alone
            are_beside = [str(Path(place).parent) in self._folders for place in paths or ()]
            return any(are_beside)
        folder = Path(file).parent
        if paths is not None:
            folder = folder.parent
        return str(folder) in self._folders
