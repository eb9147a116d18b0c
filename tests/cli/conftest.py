"""What several files of tests of commands share."""

import pytest

from every_command import World, make_world


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world that no test changes: those that would use a copy of it."""
    return make_world(tmp_path_factory.mktemp("world"))
