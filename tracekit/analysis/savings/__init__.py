"""What a lever would win: the recording's own schedule, replayed with the lever pulled."""
