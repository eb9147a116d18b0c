"""Clock, power, heat and memory, read beside a recording by what the machine has for it."""
