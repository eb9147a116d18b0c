"""The reader of `.trace` bundles: their tables and TOC without an export, on any system."""
