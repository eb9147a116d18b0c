"""How long the recorder waits for what."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Seconds to wait.

    Attributes:
        ready: For a worker to come to its steady phase, from its launch.
        grace: For a worker to finish its step and its account, past its time limit and past what
            it said that its measurement of what recording costs may take.
        interrupt: For a program to end after SIGINT.
        terminate: After SIGTERM.
        kill: After SIGKILL.
    """

    ready: float = 600.0
    grace: float = 20.0
    interrupt: float = 10.0
    terminate: float = 5.0
    kill: float = 5.0
