"""A bundle's tables as XML in the grammar of `xctrace export`, written on any system."""
