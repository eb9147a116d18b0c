"""The saving of a lever: the recording's own schedule, replayed with the lever pulled."""
