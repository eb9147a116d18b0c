"""Nights at a fixed time of day: LaunchAgent, systemd timer, cron; one at a time."""
