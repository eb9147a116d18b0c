"""Which numbers of counter profiles people have tried, and what came of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """One machine's experience with one counter profile: one report each, none official."""

    chip: str
    profile: int
    outcome: str


TRIALS = (
    Trial("M1 Pro", 3, "Performance Limiters, 31 counters"),
    Trial("M1 Pro", 4, "utilisation and bandwidth, 16 counters"),
    Trial("M3, Xcode 26.5 (17F42)", 13, "Performance Limiters, 86 counters, with bandwidth"),
    Trial("M3, Xcode 26.5 (17F42)", 1, "rejected"),
    Trial("M3, Xcode 26.5 (17F42)", 3, "rejected"),
    Trial("M5 Max", 0, "RT Unit Active alone"),
    Trial("M5 Max", 1, "rejected"),
    Trial("M5 Max", 4, "rejected"),
    Trial("M5 Max", 13, "not tried"),
)
