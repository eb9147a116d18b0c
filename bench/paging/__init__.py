"""A run of many intervals with all tables, and a browser that times its page."""
