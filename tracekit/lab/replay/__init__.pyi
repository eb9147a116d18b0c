from .dispatch import ReplayChoices as ReplayChoices
from .dispatch import describe_verdicts as describe_verdicts
from .dispatch import replay_dispatch as replay_dispatch
from .documents import DispatchReplay as DispatchReplay
from .documents import ReplayOutcome as ReplayOutcome
from .limits import keep_limits as keep_limits
