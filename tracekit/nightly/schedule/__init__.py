"""Nights at a fixed time of day: LaunchAgent, systemd timer, cron; one at a time."""

from tracekit.nightly.schedule.awake import awake
from tracekit.nightly.schedule.budget import Budget, enforced
from tracekit.nightly.schedule.due import late, next_due, passed, time_of_day
from tracekit.nightly.schedule.log_file import bound_log
from tracekit.nightly.schedule.only_one import only_one, runs_in
from tracekit.nightly.schedule.schedule import (
    Installation,
    Scheduled,
    install,
    missed,
    preview,
    status,
    uninstall,
)
from tracekit.nightly.schedule.scheduler import Installed, Standing

__all__ = [
    "Budget",
    "Installation",
    "Installed",
    "Scheduled",
    "Standing",
    "awake",
    "bound_log",
    "enforced",
    "install",
    "late",
    "missed",
    "next_due",
    "only_one",
    "passed",
    "preview",
    "runs_in",
    "status",
    "time_of_day",
    "uninstall",
]
