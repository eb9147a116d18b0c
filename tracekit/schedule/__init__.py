"""Nights at a fixed time of day: LaunchAgent, systemd timer, cron."""
