"""The implementations that there are: of attention, and of layers."""
