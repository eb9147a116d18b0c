from .dispatch import DispatchReplay as DispatchReplay
from .dispatch import ReplayChoices as ReplayChoices
from .dispatch import ReplayOutcome as ReplayOutcome
from .dispatch import describe_verdicts as describe_verdicts
from .dispatch import replay_dispatch as replay_dispatch
